"""Loop distribution in batches: compute first, update afterwards, so that the computation can be vectorised.

```
for k in batch:  t[k] = f(gathered values)          no store to the program's memory: LLVM vectorises it
for k in batch:  a[idx[k]] = a[idx[k]] op t[k]      in the order of the jobs, one by one
```

Every job does the same operations in the same order on the same values as before, so results keep their bits. This
requires that no iteration reads what another one writes, which the captured run has shown; vectorisers cannot prove
it, so they do not vectorise the original loop.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.llvm import Block, Function, Instruction, TypeTable
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.edit import edit_phis
from tracecut.ir.llvm.lexer import LOCAL
from tracecut.tracer.loops.updates.reductions import Uses, memory_reduction

from .induction_values import affine

BATCH = 128
FORBIDDEN = ("atomicrmw", "cmpxchg", "fence", "alloca")
_PLAIN = re.compile(r"(double|float|i8|i16|i32|i64)$")


def batched(outlined: Outlined, name: str) -> Outlined | None:
    """The range function in batches; None if the body is not a single block or nothing can be computed ahead.

    Precondition: no job reads memory that another job writes.
    """
    function = outlined.code.copy()
    if len(function.blocks) != 3:
        return None
    body = function.blocks[1]
    _drop_dead(function)
    view = FunctionView(function, TypeTable({}))
    uses = Uses(view)
    late = _late(uses, body, {item.phi for item in outlined.reductions})
    if late is None:
        return None
    again = _addresses(view, body, late)
    carried = _payload(view, body, late, again)
    if carried is None or not carried:
        return None
    header = function.header.replace(f"@{outlined.name}(", f"@{name}(")
    return replace(
        outlined, name=name, function=Function(f"@{name}", header, _blocks(function.blocks, late, again, carried))
    )


def _drop_dead(function: Function) -> None:
    """Dead-code elimination: the second version of an index that only one side needs."""
    while True:
        used = {name for _, instruction in function.instructions() for name in instruction.uses}
        before = sum(len(block.instructions) for block in function.blocks)
        for block in function.blocks:
            block.instructions = [
                item for item in block.instructions if item.result is None or item.result in used or item.op == "call"
            ]
        if sum(len(block.instructions) for block in function.blocks) == before:
            return


def _late(uses: Uses, body: Block, sums: set[str]) -> set[str | int] | None:
    """Instructions that must stay in the order of the jobs: stores, the reductions that they complete, accumulators.

    Instructions by result name, stores by identity. None when something else has effects.
    """
    late: set[str | int] = set()
    for instruction in body.instructions:
        if instruction.op == "store":
            late.add(id(instruction))
            found = memory_reduction(uses, body, instruction)
            if found is None and _reads_before(body, instruction):
                return None
            if found is not None:
                late |= _between(uses.view, str(found.load.result), instruction.operands[0].text)
        elif instruction.op in FORBIDDEN or (instruction.op == "call" and not effect_of(instruction).movable):
            return None
        elif instruction.op == "phi" and instruction.result in sums:
            latch = next(o for o in instruction.operands if o.text != f"{instruction.result}.tc.start")
            late |= _between(uses.view, str(instruction.result), latch.text)
    return late


def _reads_before(body: Block, store: Instruction) -> bool:
    """Whether the body also loads what a store overwrites: not as a reduction that could be put off as a whole."""
    pointer = store.operands[-1].text
    return any(item.op == "load" and item.operands[0].text == pointer for item in body.instructions)


def _between(view: FunctionView, first: str, last: str) -> set[str | int]:
    """Values on the def-use paths from `first` to `last`."""
    found: set[str | int] = {first}

    def reaches(name: str, seen: set[str]) -> bool:
        if name == first:
            return True
        if name in seen or name not in view.definitions:
            return name in found
        seen.add(name)
        made = view.definitions[name].instruction
        if made.op == "phi":
            return False
        hit = False
        for used in made.uses:
            if used in view.definitions and reaches(used, seen):
                hit = True
        if hit:
            found.add(name)
        return hit

    reaches(last, set())
    return found


def _addresses(view: FunctionView, body: Block, late: set[str | int]) -> set[str]:
    """Values that the addresses of the late accesses are made of; computed again, they are cheap and in the cache."""
    inside = {instruction.result for instruction in body.instructions}
    again: set[str] = set()
    stack = []
    for instruction in body.instructions:
        if instruction.op == "store" or (instruction.op == "load" and instruction.result in late):
            stack.append(instruction.operands[-1].text)
    while stack:
        name = stack.pop()
        if name in again or name not in inside or name in late:
            continue
        again.add(name)
        made = view.definitions[name].instruction
        if made.op != "phi":
            stack.extend(made.uses)
    return again


def _payload(view: FunctionView, body: Block, late: set[str | int], again: set[str]) -> dict[str, str] | None:
    """Values that the first loop stores for the second: name → type; None when one has no scalar type."""
    inside = {instruction.result for instruction in body.instructions}
    found: dict[str, str] = {}
    for instruction in body.instructions:
        if id(instruction) not in late and instruction.result not in late:
            continue
        if instruction.op == "phi":
            continue
        for name in instruction.uses:
            if name in inside and name not in late and name not in again:
                type = view.type_of(name)
                if not _PLAIN.match(type):
                    return None
                found[name] = type
    return found


def _blocks(blocks: list[Block], late: set[str | int], again: set[str], carried: dict[str, str]) -> list[Block]:
    entry, body, leave = blocks
    counters = [phi for phi in body.phis if phi.result != "%tc.k" and phi.result not in late]
    sums = [phi for phi in body.phis if phi.result in late]
    rooms = [f"%tc.room{place} = alloca [{BATCH} x {type}], align 64" for place, type in enumerate(carried.values())]
    start = Block(
        "entry",
        [
            *map(Instruction, rooms),
            *entry.instructions[:-1],
            Instruction("br i1 %tc.any, label %tc.batch, label %tc.exit"),
        ],
    )
    edit_phis(
        leave,
        lambda phi: re.sub(r"\[ (%\S+), %" + re.escape(body.name) + r" \]", r"[ \1, %tc.late.done ]", phi.text),
    )
    return [
        start,
        _batch_head(sums),
        _ahead(body, late, counters, carried),
        *_afterwards(body, late, again, counters, sums, carried),
        leave,
    ]


def _latch(phi: Instruction) -> str:
    """What a sum is after an iteration."""
    return next(o.text for o in phi.operands if o.text != f"{phi.result}.tc.start")


def _batch_head(sums: list[Instruction]) -> Block:
    lines = ["%tc.b0 = phi i64 [ %tc.k0, %entry ], [ %tc.b1, %tc.late.done ]"]
    for phi in sums:
        arms = f"[ {phi.result}.tc.start, %entry ], [ {_latch(phi)}, %tc.late.done ]"
        lines.append(f"{phi.result}.tc.sum = phi {phi.type} {arms}")
    lines += [
        f"%tc.b.end = add nsw i64 %tc.b0, {BATCH}",
        "%tc.b.cut = icmp slt i64 %tc.b.end, %tc.k1",
        "%tc.b1 = select i1 %tc.b.cut, i64 %tc.b.end, i64 %tc.k1",
        "br label %tc.ahead",
    ]
    return Block.of("tc.batch", lines)


def _counters(counters: list[Instruction], number: str, suffix: str) -> list[Instruction]:
    """Counters of iteration `number`, from their values at the first iteration of the range."""
    lines = [f"%tc.gone{suffix} = sub nsw i64 {number}, %tc.k0"]
    for phi in counters:
        name, start = f"{phi.result}{suffix}", f"{phi.result}.tc.start"
        lines += affine(phi.type, name, start, f"{phi.result}.tc.step", f"%tc.gone{suffix}", mark=".tc")
    return [Instruction(line) for line in lines]


def _ahead(body: Block, late: set[str | int], counters: list[Instruction], carried: dict[str, str]) -> Block:
    made = [Instruction("%tc.k = phi i64 [ %tc.b0, %tc.batch ], [ %tc.next, %tc.ahead ]")]
    made += _counters(counters, "%tc.k", "")
    for item in body.instructions:
        if item.op == "phi" or item.is_terminator or _is_control(item):
            continue
        if id(item) not in late and item.result not in late:
            made.append(item)
    lines = ["%tc.at = sub nsw i64 %tc.k, %tc.b0"]
    for place, (value, type) in enumerate(carried.items()):
        lines.append(f"%tc.put{place} = getelementptr {type}, ptr %tc.room{place}, i64 %tc.at")
        lines.append(f"store {type} {value}, ptr %tc.put{place}")
    lines += [
        "%tc.next = add nsw i64 %tc.k, 1",
        "%tc.more = icmp slt i64 %tc.next, %tc.b1",
        "br i1 %tc.more, label %tc.ahead, label %tc.late.entry",
    ]
    return Block("tc.ahead", [*made, *map(Instruction, lines)])


def _afterwards(
    body: Block,
    late: set[str | int],
    again: set[str],
    counters: list[Instruction],
    sums: list[Instruction],
    carried: dict[str, str],
) -> list[Block]:
    lines = ["%tc.k.b = phi i64 [ %tc.b0, %tc.late.entry ], [ %tc.next.b, %tc.late ]"]
    for phi in sums:
        arms = f"[ {phi.result}.tc.sum, %tc.late.entry ], [ {_latch(phi)}, %tc.late ]"
        lines.append(f"{phi.result} = phi {phi.type} {arms}")
    made = [Instruction(line) for line in lines]
    made += _counters([phi for phi in counters if phi.result in again], "%tc.k.b", ".b")
    renamed = {name: f"{name}.b" for name in again} | {value: f"{value}.b" for value in carried} | {"%tc.k": "%tc.k.b"}
    lines = ["%tc.at.b = sub nsw i64 %tc.k.b, %tc.b0"]
    for place, (value, type) in enumerate(carried.items()):
        lines.append(f"%tc.get{place} = getelementptr {type}, ptr %tc.room{place}, i64 %tc.at.b")
        lines.append(f"{value}.b = load {type}, ptr %tc.get{place}")
    made += map(Instruction, lines)
    for item in body.instructions:
        if item.op == "phi" or item.is_terminator:
            continue
        if id(item) in late or item.result in late or item.result in again:
            text = LOCAL.sub(lambda found: renamed.get(found.group(), found.group()), item.text)
            made.append(Instruction(text, item.meta))
    lines = [
        "%tc.next.b = add nsw i64 %tc.k.b, 1",
        "%tc.more.b = icmp slt i64 %tc.next.b, %tc.b1",
        "br i1 %tc.more.b, label %tc.late, label %tc.late.done",
    ]
    return [
        Block.of("tc.late.entry", ["br label %tc.late"]),
        Block("tc.late", [*made, *map(Instruction, lines)]),
        Block.of(
            "tc.late.done",
            ["%tc.left = icmp slt i64 %tc.b1, %tc.k1", "br i1 %tc.left, label %tc.batch, label %tc.exit"],
        ),
    ]


def _is_control(instruction: Instruction) -> bool:
    return instruction.result in ("%tc.next", "%tc.more")
