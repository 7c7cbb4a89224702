"""Reductions without atomics: each job leaves its contributions at places of its own, which a second kernel adds up.

```
contributions:  reduction 0 of all jobs | reduction 1 of all jobs | … | of inner loops, as it comes:
                                                                        job k's are starts[k] … starts[k + 1]
```

Where a contribution belongs was found by running the kernel once (`record`), on the data that the program had. Other
values may send a job along another path: `run` compares every contribution's address with the one that was found, and
raises a flag where they differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tracecut.codegen.schedule.plan.range_function import Outlined, Reduction
from tracecut.ir.llvm import Block, Instruction, int_bits
from tracecut.ir.llvm.associative import BY_SIZE, SIGNED
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Repeat, Site
from tracecut.support.errors import UnsupportedError

from .combinations import BITS, SCOPE, identity
from .job_body import DONE, JOB, START, Job
from .memory_reductions import EXTENSIONS, conditional_extreme, loosen, store_number
from .module import KernelModule, Parameter
from .register_reductions import EXIT, check_register

COUNT, RECORD, RUN = "count", "record", "run"
NOWHERE = -(1 << 63)  # where no contribution was found
COUNTER, SEQUENCE = "%tc.counter", "%tc.sequence"


@dataclass(frozen=True)
class Contribution:
    """A reduction of the job. `number`: its own; `phi`: of a reduction in a register, empty in memory."""

    number: int
    operator: str
    type: str
    phi: str = ""


@dataclass
class OrderedReductions:
    """What takes the place of the atomic operations of one kernel.

    Attributes:
        mode: COUNT leaves the number of each job's contributions in inner loops, RECORD the addresses and turns of all,
            RUN their values. jobs: of the kernel.
        targets: of RUN: number of a contribution → the array that it goes to.
        found: all of them, once the job was lowered. fixed: how many are outside of inner loops; dynamic: whether there
            are others. places: number of a fixed one → which of these it is.
        width: beside each address, RECORD leaves turn · width + number.
    """

    mode: str
    jobs: int
    targets: Mapping[int, int] = field(default_factory=dict)
    found: list[Contribution] = field(default_factory=list)
    fixed: int = 0
    dynamic: bool = False
    places: dict[int, int] = field(default_factory=dict)
    width: int = 1

    @property
    def private(self) -> dict[str, str]:
        """Variables of a thread."""
        names = [COUNTER] * self.dynamic + [SEQUENCE] * (self.mode == RECORD)
        return dict.fromkeys(names, "alloca i64, align 8")

    def lower(self, job: Job, view: FunctionView, sites: Collection[Site], region: int, outlined: Outlined) -> None:
        """Take all reductions of a job apart, in place.

        Args:
            sites: that several jobs may touch. region: the loop. outlined: its range function.

        Raises UnsupportedError with the reason where what a job contributes cannot be told from the old value.
        """
        same = [site.place.told for site in sites if isinstance(site.effect, Repeat)]
        if same:
            raise UnsupportedError(f"iterations may meet in the update at {same[0]}, which is no reduction")
        placed = sorted(
            ((site, *store_number(view, site)) for site in sites if site.operator), key=lambda item: (item[1], item[2])
        )
        self.dynamic = any(site.loop != region for site, *_ in placed)
        places: dict[str, int] = {}
        for site, *_ in placed:
            if site.loop == region:
                places[site.key] = len(places)
        self.fixed = len(places) + len(outlined.reductions)
        self.width = len(placed) + len(outlined.reductions)
        numbers = {site.key: number for number, (site, *_) in enumerate(placed)}
        for site, block, number in reversed(placed):  # splitting a block leaves what is in front of the split
            self._lower_site(job, site, job.block(block), number, numbers[site.key], places.get(site.key))
        self.found = [Contribution(numbers[site.key], site.operator, site.type) for site, *_ in placed]
        self.places = {numbers[key]: place for key, place in places.items()}
        self._lower_registers(job, outlined, len(placed), len(places))
        start = job.block(START)
        start.instructions[0:0] = [Instruction(f"store i64 0, ptr {name}, align 8") for name in self.private]

    def bind(self, module: KernelModule) -> None:
        """Parameters for what is written instead."""
        if not self.found:
            return
        listed = {
            COUNT: ["counts"],
            RECORD: ["planned", "turns"],
            RUN: ["contributions", "planned", "flag"],
        }[self.mode]
        if self.mode != COUNT and self.dynamic:
            listed.append("starts")
        for name in listed:
            only_read = name == "starts" or (name == "planned" and self.mode == RUN)
            module.add(Parameter(name, "", "ptr", read_only=only_read), f"%tc.{name}")
        for array in dict.fromkeys(self.targets.values()):
            module.add(Parameter("target", "", "ptr", array), f"%tc.target{array}")

    def _lower_site(self, job: Job, site: Site, block: Block, number: int, which: int, place: int | None) -> None:
        store = [made for made in block.instructions if made.op == "store"][number]
        load = next((made for made in block.instructions if made.result == site.load), None)
        chain = job.dependents(site.load)
        inside = [made for made in block.instructions if made.result in chain]
        where = block
        if load is None and (test := conditional_extreme(job, site, store)) is not None:
            where, load = test
        elif load is None or len(inside) != len(chain):
            raise UnsupportedError(f"the reduction at {site.place.told} is spread over several blocks")
        widened = any(made.op in EXTENSIONS for made in inside)
        _check(site.operator, site.type, f"at {site.place.told}", widened)
        loosen(job, chain)
        where.instructions.remove(load)
        value, pointer = store.operands
        job.substitute({site.load: identity(site.operator, site.type)})
        made = [made for made in block.instructions if made.op == "store"][number]
        value = made.operands[0]
        position = block.instructions.index(made)
        rest = job.split(block, position, f"tc.put{which}.done")
        rest.instructions.pop(0)
        self._put(job, block, which, place, site.type, value.text, pointer.text)

    def _put(self, job: Job, block: Block, which: int, place: int | None, type: str, value: str, pointer: str) -> None:
        """Leave a contribution, from the end of `block`, which has none, to the block behind it."""
        name = f"tc.put{which}"
        lines, slot = self._slot(name, place)
        if self.mode == COUNT:
            lines.append(f"br label %{name}.done")
        elif self.mode == RECORD:
            lines += [
                f"%{name}.address = ptrtoint ptr {pointer} to i64",
                *_store(name, "planned", slot, "i64", f"%{name}.address"),
                *self._turn(name, slot, which),
                f"br label %{name}.done",
            ]
        else:
            target = f"%tc.target{self.targets[which]}" if which in self.targets else "%tc.flag"
            lines += [
                f"%{name}.address = ptrtoint ptr {pointer} to i64",
                f"%{name}.begin = ptrtoint ptr {target} to i64",
                f"%{name}.offset = sub i64 %{name}.address, %{name}.begin",
                f"%{name}.scaled = mul i64 %{name}.offset, {len(self.targets) + 1}",
                f"%{name}.code = add i64 %{name}.scaled, {_code(which, self.targets)}",
                *(self._last(name) if place is None else []),
                *([f"br i1 %{name}.there, label %{name}.look, label %{name}.bad"] if place is None else []),
            ]
            look = [
                f"%{name}.at = getelementptr i64, ptr %tc.planned, i64 {slot}",
                f"%{name}.planned = load i64, ptr %{name}.at, align 8",
                f"%{name}.same = icmp eq i64 %{name}.planned, %{name}.code",
                f"br i1 %{name}.same, label %{name}, label %{name}.bad",
            ]
            good = [*_store(name, "contributions", slot, type, value), f"br label %{name}.done"]
            bad = [f"atomicrmw or ptr %tc.flag, i32 1 {SCOPE}, align 4", f"br label %{name}.done"]
            blocks = [Block(name, _made(good)), Block(f"{name}.bad", _made(bad))]
            if place is None:
                blocks.insert(0, Block(f"{name}.look", _made(look)))
            else:
                lines += look
            at = job.blocks.index(block) + 1
            job.blocks[at:at] = blocks
        block.instructions += _made(lines)

    def _slot(self, name: str, place: int | None) -> tuple[list[str], str]:
        """Lines that find the place of a contribution, and its name."""
        lines = []
        if place is None:
            lines = [
                f"%{name}.count = load i64, ptr {COUNTER}, align 8",
                f"%{name}.more = add i64 %{name}.count, 1",
                f"store i64 %{name}.more, ptr {COUNTER}, align 8",
            ]
        if self.mode == COUNT:
            return lines, ""
        if place is not None:
            return [f"%{name}.slot = add i64 {JOB}, {place * self.jobs}"], f"%{name}.slot"
        lines += [
            f"%{name}.start.at = getelementptr i64, ptr %tc.starts, i64 {JOB}",
            f"%{name}.start = load i64, ptr %{name}.start.at, align 8",
            f"%{name}.slot = add i64 %{name}.start, %{name}.count",
        ]
        return lines, f"%{name}.slot"

    @staticmethod
    def _last(name: str) -> list[str]:
        """Whether the job has as many places."""
        return [
            f"%{name}.past.at = getelementptr i8, ptr %{name}.start.at, i64 8",
            f"%{name}.past = load i64, ptr %{name}.past.at, align 8",
            f"%{name}.there = icmp slt i64 %{name}.slot, %{name}.past",
        ]

    def _turn(self, name: str, slot: str, which: int) -> list[str]:
        return [
            f"%{name}.turn = load i64, ptr {SEQUENCE}, align 8",
            f"%{name}.turn.next = add i64 %{name}.turn, 1",
            f"store i64 %{name}.turn.next, ptr {SEQUENCE}, align 8",
            f"%{name}.turn.wide = mul i64 %{name}.turn, {self.width}",
            f"%{name}.turn.code = add i64 %{name}.turn.wide, {which}",
            *_store(name, "turns", slot, "i64", f"%{name}.turn.code"),
        ]

    def _lower_registers(self, job: Job, outlined: Outlined, number: int, place: int) -> None:
        """What a job leaves in each register reduction has a place of its own, too."""
        for reduction in outlined.reductions:
            start = f"{reduction.phi}.tc.start"
            chain = job.dependents(start)
            check_register(job, reduction, chain)
            widened = any(made.result in chain and made.op in EXTENSIONS for _, made in job.instructions())
            _check(reduction.operator, reduction.type, f"in {reduction.phi}", widened)
            loosen(job, chain)
            job.substitute({start: identity(reduction.operator, reduction.type)})
        done = Block(DONE, [])
        for turn, reduction in enumerate(outlined.reductions):
            cell = cell_type(reduction)
            self.found.append(Contribution(number + turn, reduction.operator, cell, reduction.phi))
            self.places[number + turn] = place + turn
            name, value = f"tc.left{turn}", job.ends[reduction.phi]
            if self.mode == COUNT:
                continue
            lines, slot = self._slot(name, place + turn)
            if cell != reduction.type:
                wider = "sext" if reduction.operator in SIGNED else "zext"
                lines.append(f"%{name}.wide = {wider} {reduction.type} {value} to {cell}")
                value = f"%{name}.wide"
            if self.mode == RUN:
                lines += _store(name, "contributions", slot, cell, value)
            else:
                lines += [*_store(name, "planned", slot, "i64", "0"), *self._turn(name, slot, number + turn)]
            done.instructions += _made(lines)
        if self.mode == COUNT and self.dynamic:
            lines = [f"%tc.all = load i64, ptr {COUNTER}, align 8"]
            done.instructions += _made([*lines, *_store("tc.counted", "counts", JOB, "i64", "%tc.all")])
        done.instructions.append(Instruction(f"br label %{EXIT}"))
        job.blocks.append(done)
        job.ends = {}


def cell_type(reduction: Reduction) -> str:
    """Type of the cell of a register reduction."""
    return "i32" if (int_bits(reduction.type) or 32) < 32 else reduction.type


def code_of(offset: int, which: int, targets: Mapping[int, int]) -> int:
    """The number that stands for a contribution to a byte of its array."""
    return offset * (len(targets) + 1) + _code(which, targets)


def _code(which: int, targets: Mapping[int, int]) -> int:
    return sorted(targets).index(which) if which in targets else len(targets)


def _check(operator: str, type: str, where: str, widened: bool) -> None:
    if type not in BITS and int_bits(type) != 1:
        raise UnsupportedError(f"the reduction {where} is on {type}, for which there is no ordered combination")
    whole = int_bits(type) is not None
    if widened and (not whole or operator in BY_SIZE):
        raise UnsupportedError(
            f"the {operator} {where} is computed in another width than it is stored in, so what a job adds is unknown"
        )


def _store(name: str, array: str, slot: str, type: str, value: str) -> list[str]:
    place = f"%{name}.{array}"
    return [
        f"{place} = getelementptr i64, ptr %tc.{array}, i64 {slot}",
        f"store {type} {value}, ptr {place}, align {max(1, BITS[type] // 8)}",
    ]


def _made(lines: list[str]) -> list[Instruction]:
    return [Instruction(line) for line in lines]
