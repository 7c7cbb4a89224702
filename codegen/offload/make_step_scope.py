"""Regular loops of a step as kernels: the loop around them is the scope, so that the data stay on the card.

Gaussian elimination has such loops: no index is loaded, and how far they run and what they touch changes with the
number of the step. The numbers that are live into the scope decide all of it, and its guard compares them. So each
step is looked at beforehand, by the same rules as one run of an indexed loop (`judge.py`): a kernel is made where
iterations may run at the same time in every step. Nothing is reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.guards.address_dependence import check_address_dependence
from tracecut.codegen.schedule.guards.make_guard import make_guard
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.codegen.schedule.plan.range_function import Slot
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.codegen.schedule.schedule import Guard, Schedule
from tracecut.ir.loops.expressions import Pool, walk_all
from tracecut.ir.loops.nest import Nest, ValueKind
from tracecut.ir.loops.refusals import scope_refusal
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import Memory, Object
from tracecut.tracer.legality.judge import judge
from tracecut.tracer.loops.phi_sources import entry_and_latch
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.loops.scalar_evolution import ScalarView
from tracecut.tracer.runtime.binding import support

from .card_scope import CardScope, Hooks
from .device_loop import DeviceLoop, DeviceScope
from .make_loop import LoopMaker

STEPS = 1 << 12  # about ten milliseconds each
ITERATIONS = 1 << 27  # of all loops in all steps: a few seconds
PEEK = 4096  # bytes of an object that the host may read in a step without bringing all of it back


@dataclass(frozen=True, eq=False)
class Steps:
    """What all steps have in common.

    Attributes:
        first: the accesses of the first step. counts: loop → its iterations in each step, of loops whose iterations may
            run at the same time in all of them. parallel: those that do not meet at all. refused: why not, of others.
        extents: key of each site that is in no loop of the step → the bytes of its object that it touches in each step.
    """

    first: Accesses
    counts: Mapping[int, tuple[int, ...]]
    parallel: frozenset[int]
    refused: Mapping[int, str]
    extents: Mapping[str, Sequence[tuple[int, int]]]


def make_step_scope(
    analysis: Analysis,
    nest: Nest,
    memory: Memory,
    lives: Mapping[str, int | float],
    region: int,
    hooks: Hooks,
    arch: str,
    compiled: Callable[..., str] = compile_ptx,
) -> CardScope:
    """Kernels of the loops of a step, in the program's order. O(iterations in all steps).

    Args:
        nest, memory, lives: of the loop around, as it was entered. region: the loop in it that matters.
        hooks: as of `make_card_scope`. arch: to emit for. compiled: makes PTX, as `compile_ptx`.

    Raises UnsupportedError with the reason, the line in it, when the region cannot run on the card in each step.
    """
    counter = _counter(analysis, nest)
    steps = look_at_steps(nest, memory, {name: number for name, number in lives.items() if isinstance(number, int)})
    if region not in steps.counts:
        raise UnsupportedError(steps.refused.get(region, "it is no loop of a step of its own"))
    guard, objects = _guard(nest, steps.first, hooks)
    maker = _StepMaker(analysis, steps, objects, arch, cache(compiled), counter)
    kernels = maker.make()
    if region not in maker.outlined:
        raise UnsupportedError("; ".join(kernels.remarks))
    numbers = {loop.loop: hooks.first + place for place, loop in enumerate(kernels.loops)}
    file = ScopeFile(
        number=hooks.number,
        numbers=numbers,
        nest=nest,
        values=hooks.values,
        regions=list(numbers),
        movable=frozenset(),
        outlined=maker.outlined,
        schedule=Schedule(nest.root, (), (), (), guard, "original"),
        key=hooks.key,
        costs={"original": 0.0, "optimized": 0.0, "inspect": 0.0, "copy": 0.0, "sweeps": 1.0},
        options={
            "method": "original",
            "threads": 1,
            "single": True,
            "renumber": False,
            "reduce": FAST,
            "region": region,
            "seed": hooks.seed,
        },
    )
    return CardScope(file, kernels, maker.outlined)


def look_at_steps(nest: Nest, memory: Memory, lives: Mapping[str, int]) -> Steps:
    """Look at each step by itself. Raises UnsupportedError where the scope cannot be understood."""
    refused = scope_refusal(nest)
    if refused is not None:
        raise UnsupportedError(f"the loop {refused.says} ({refused.places[0].told})")
    place = nest.loops[nest.root].place
    if any(node.kind == "load" for node in walk_all(nest.expressions())):
        raise UnsupportedError(f"the steps of {place.told} load what decides, which may change")
    total = Evaluation(nest, memory, lives).root_size()
    if total is None or nest.loops[nest.root].ends_early:
        raise UnsupportedError(f"it is not known how many steps {place.told} takes")
    if not 0 < total <= STEPS:
        raise UnsupportedError(f"{place.told} takes {total:,} steps, at most {STEPS:,} are looked at")
    loops = [number for number, info in nest.loops.items() if info.parent == nest.root]
    why: dict[int, str] = {}
    counts: dict[int, list[int]] = {loop: [] for loop in loops}
    parallel, looked_at = set(loops), 0
    first: Accesses | None = None
    touched: dict[str, Object | None] = {}
    extents: dict[str, list[tuple[int, int]]] = {}
    for step in range(total):
        accesses = Accesses(nest, memory, lives, single=True, at_step=step)
        mine = {access.site.key: access.object for access in accesses.all() if access.runs}
        if first is None:
            check_address_dependence(accesses)  # of the expressions, which are the same in each step
            first, touched = accesses, mine
        if None in mine.values() or any(touched.get(key) is not item for key, item in mine.items()):
            raise UnsupportedError(f"what {place.told} touches is not the same in each step")
        for access in accesses.all():
            if access.site.loop == nest.root:
                found = (access.low, access.high) if access.runs else (0, 0)
                extents.setdefault(access.site.key, []).append(found)
        for loop in loops:
            if loop not in why:
                domain = accesses.evaluation.whole(loop)
                verdict = judge(accesses, loop)
                if domain is None or not verdict.movable:
                    why[loop] = f"in step {step} {verdict.reason}"
                    continue
                counts[loop].append(domain.size)
                looked_at += domain.size
                parallel -= {loop} if verdict.kind != "parallel" else set()
        if looked_at > ITERATIONS:
            raise UnsupportedError(f"the steps of {place.told} have more than {ITERATIONS:,} iterations to look at")
    assert first is not None
    known = {loop: tuple(each) for loop, each in counts.items() if loop not in why}
    return Steps(first, known, frozenset(parallel), why, extents)


def _guard(nest: Nest, accesses: Accesses, hooks: Hooks) -> tuple[Guard, list[Object]]:
    """Compares every number that an expression of the scope names: all steps rely on them."""
    guard, objects = make_guard(accesses, support(), hooks.key)
    lives = {
        str(node.data[0]) for node in walk_all(nest.expressions()) if node.kind == "live" and node.data[1] != "ptr"
    }
    unknown = sorted(name for name in lives if not isinstance(accesses.lives.get(name), int))
    if unknown:
        raise UnsupportedError(f"{unknown[0]} decides, and is no whole number that is known on entering")
    return replace(guard, numbers={name: accesses.lives[name] for name in sorted(lives)}), objects


def _counter(analysis: Analysis, nest: Nest) -> tuple[str, str]:
    """A value of the program that is the number of the step, and its type. Raises UnsupportedError."""
    view, loop = analysis.view_of(nest.root), analysis.loop(nest.root)
    for carried in nest.loops[nest.root].carried:
        if carried.kind is ValueKind.COUNTER:
            made = view.definitions[carried.name].instruction
            step = ScalarView(view, loop, Pool()).increment(made, loop)
            one = step is not None and step.kind == "const" and step.data[0] == 1
            if one and entry_and_latch(made, loop)[0] == "0" and made.type in ("i32", "i64"):
                return carried.name, str(made.type)
    raise UnsupportedError(f"the steps of {nest.loops[nest.root].place.told} are not counted from 0 on")


class _StepMaker(LoopMaker):
    def __init__(
        self,
        analysis: Analysis,
        steps: Steps,
        objects: Sequence[Object],
        arch: str,
        compiled: Callable[..., str],
        counter: tuple[str, str],
    ) -> None:
        super().__init__(analysis, steps.first, objects, arch, compiled)
        self.steps, self.counter = steps, counter

    def make(self) -> DeviceScope:
        """Kernels of all loops that can have one; the rest runs on the host."""
        loops, remarks = [], [self._on_host(loop, why) for loop, why in self.steps.refused.items()]
        for loop in self.steps.counts:
            try:
                loops.append(self._made(loop))
            except UnsupportedError as error:
                remarks.append(self._on_host(loop, error.message))
        inside = {number for item in loops for number in self.nest.inside(item.loop)}
        rest = [access for access in self.accesses.all() if access.runs and access.site.loop not in inside]
        writes = {self.places[a.object] for a in rest if a.object is not None and a.site.writes}
        reads = {self.places[a.object] for a in rest if a.object is not None and (not a.site.writes or a.site.operator)}
        peeks = {number: found for number in reads - writes if (found := self._peeks(number, rest))}
        outside = sorted(reads - peeks.keys())
        scope = DeviceScope(self.arch, tuple(loops), tuple(outside), tuple(sorted(writes)), (), tuple(remarks), peeks)
        scope.verify()
        return scope

    def _peeks(self, number: int, rest: Sequence[Access]) -> tuple[tuple[int, int], ...]:
        """Bytes [low, high) of an object that the host reads in each step; empty where they are many or not known."""
        sites = [a.site.key for a in rest if a.object is not None and self.places[a.object] == number]
        steps = len(next(iter(self.steps.counts.values())))
        spans = [self.steps.extents.get(key, ()) for key in sites]
        if any(len(span) != steps for span in spans):  # in a loop, or at one of several places
            return ()
        found = []
        for step in range(steps):
            ends = [span[step] for span in spans if span[step][0] < span[step][1]] or [(0, 0)]
            found.append((min(low for low, _ in ends), max(high for _, high in ends)))
        return tuple(found) if all(high - low <= PEEK for low, high in found) else ()

    def _on_host(self, loop: int, why: str) -> str:
        return f"{self.nest.loops[loop].place.told} runs on the host: {why}"

    def _made(self, loop: int) -> DeviceLoop:
        view = self.analysis.view_of(loop)
        groups = group_sites(view, self.nest, view.loops[loop])
        alone = frozenset(group.id for group in groups) if loop in self.steps.parallel else frozenset[int]()
        made = self.plain(loop, groups, self.unwritten(loop, groups), alone)
        name, type = self.counter
        outlined = self.outlined[loop]
        known = [place for place, slot in enumerate(outlined.slots) if (slot.kind, slot.name) == ("live", name)]
        if not known:
            known = [len(outlined.slots)]
            self.outlined[loop] = replace(outlined, slots=(*outlined.slots, Slot("live", name, type)))
        return replace(made, counts=self.steps.counts[loop], step=known[0])
