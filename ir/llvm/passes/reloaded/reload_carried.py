"""What a loop loads at its end for its next iteration is loaded in that iteration instead.

`for (p = row[i]; p->column != -1; p++) sum += x[p->column];` tests what the next iteration uses. Compilers test at the
end of an iteration, and once in front of the loop, and hand the number on:

```
%c = phi i32 [ %first, %before ], [ %next, %loop ]
%p = phi ptr [ %start, %before ], [ %q, %loop ]         %p = phi ptr [ %start, %before ], [ %q, %loop ]
…                                                  →    %c = load i32, ptr %p
%q = getelementptr i8, ptr %p, i64 16                   …
%next = load i32, ptr %q                                %q = getelementptr i8, ptr %p, i64 16
                                                        %next = load i32, ptr %q
```

`%start` is where `%first` was loaded. Nothing writes memory between either load and the loop's first instruction, so
the number is the same. What is seen of it is a load at an address that is known, not a number that is handed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracecut.ir.llvm import Instruction, Module
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.substitute import alignment

FAR = 16  # blocks between a load and the loop
PLACE = ".tc.place"  # behind the name of a number: the pointer that it is loaded from
WRITES = ("store", "atomicrmw", "cmpxchg", "fence")

Made = Mapping[str, tuple[str, Instruction]]


def reload_carried(module: Module) -> Module:
    """Load such numbers where they are used, in place. O(instructions + loops · phis²)."""
    for flow, made in with_phis(module):
        _reload(flow, made)
    return module


def with_phis(module: Module) -> Iterator[tuple[ControlFlow, Made]]:
    """The functions that have phis, and what they make: name → (block, instruction)."""
    for function in module.functions.values():
        items = list(function.instructions())
        if any(item.op == "phi" for _, item in items):
            made = {str(item.result): (block.name, item) for block, item in items if item.result is not None}
            yield ControlFlow(function), made


def _reload(flow: ControlFlow, made: Made) -> None:
    for loop in flow.loops:
        if loop.preheader is None or len(loop.latches) != 1:
            continue
        header = flow.blocks[loop.header]
        fresh = {phi: lines for phi in header.phis if (lines := _loaded(flow, loop, made, phi))}
        if fresh:
            kept = [item for item in header.phis if item not in fresh]
            rest = header.instructions[len(header.phis) :]
            header.instructions[:] = [*kept, *(line for lines in fresh.values() for line in lines), *rest]


def _loaded(flow: ControlFlow, loop: Loop, made: Made, phi: Instruction) -> list[Instruction]:
    """What takes the place of a phi; nothing where it is no such number."""
    first, again = (made.get(text) for text in _ends(loop, phi))
    if first is None or again is None or again[0] not in loop.blocks:
        return []
    loads = first[1], again[1]
    if any(not (item.op == "load" and item.is_simple_access and item.type == phi.type) for item in loads):
        return []
    if alignment(first[1]) != alignment(again[1]):
        return []
    if not (lasts(flow, *first, str(loop.preheader)) and lasts(flow, *again, loop.latches[0])):
        return []
    dbg = {kind: node for kind, node in again[1].meta.items() if kind == "dbg"}
    ends = first[1].operands[0].text, again[1].operands[0].text
    name, lines = str(phi.result), []
    pointer = _between(flow, loop, ends)
    if pointer is None:
        place = _member(flow, loop, made, ends) or _element(flow, loop, made, ends)
        if place is None:
            return []
        pointer = name + PLACE
        lines.append(Instruction(f"{pointer} = {place}", dbg))
    return [*lines, Instruction(f"{name} = load {phi.type}, ptr {pointer}{alignment(again[1])}", dict(dbg))]


def _ends(loop: Loop, phi: Instruction) -> tuple[str, str]:
    """What a phi of the header takes over from in front of the loop, and from its last iteration."""
    values = dict(zip(phi.labels, (operand.text for operand in phi.operands), strict=True))
    return values.get(str(loop.preheader), ""), values.get(loop.latches[0], "")


def _between(flow: ControlFlow, loop: Loop, ends: tuple[str, str]) -> str | None:
    """The phi of the header that takes these two values."""
    found = (phi for phi in flow.blocks[loop.header].phis if _ends(loop, phi) == ends)
    return next((str(phi.result) for phi in found), None)


def _member(flow: ControlFlow, loop: Loop, made: Made, ends: tuple[str, str]) -> str | None:
    """The member of a record behind the phi of the header that walks over the records; None if there is none.

    Both members lie equally far behind what that phi takes over: from its last iteration too, which goes on by bytes.
    """
    first, again = _behind(made, ends[0]), _behind(made, ends[1])
    for phi in flow.blocks[loop.header].phis:
        before, after = (_behind(made, text) for text in _ends(loop, phi))
        apart = first[1] - before[1]
        if phi.type == "ptr" and before[0] == first[0] and after[0] == again[0] and again[1] - after[1] == apart:
            return f"getelementptr i8, ptr {phi.result}, i64 {apart}"
    return None


def _behind(made: Made, text: str) -> tuple[str, int]:
    """The pointer that one is a fixed number of bytes behind, and how many."""
    distance = 0
    while text in made:
        step = made[text][1]
        if step.op != "getelementptr" or step.word != "i8" or len(step.operands) != 2:
            break
        bytes_ahead = step.operands[1].text
        if not bytes_ahead.lstrip("-").isdigit():
            break
        text, distance = step.operands[0].text, distance + int(bytes_ahead)
    return text, distance


def _element(flow: ControlFlow, loop: Loop, made: Made, ends: tuple[str, str]) -> str | None:
    """The element of an array by the index that lies between those of two elements of it; None if they are not."""
    start, step = (made.get(text) for text in ends)
    if step is None or step[1].op != "getelementptr" or len(step[1].operands) != 2:
        return None
    base, index = step[1].operands
    if made.get(base.text, ("", step[1]))[0] in loop.blocks:
        return None
    if start is not None and start[1].op == "getelementptr" and start[1].word == step[1].word:
        if [operand.text for operand in start[1].operands[:1]] != [base.text] or len(start[1].operands) != 2:
            return None
        if start[1].operands[1].type != index.type:
            return None
        between = _between(flow, loop, (start[1].operands[1].text, index.text))
    else:
        between = _between(flow, loop, ("0", index.text)) if ends[0] == base.text else None
    return None if between is None else f"getelementptr {step[1].word}, ptr {base.text}, {index.type} {between}"


def lasts(flow: ControlFlow, block: str, load: Instruction, end: str) -> bool:
    """Whether nothing writes memory behind a load up to the end of a block that it dominates, on whatever way."""
    ahead, seen = [end], {end}
    while ahead:
        name = ahead.pop()
        items = flow.blocks[name].instructions
        if name == block:
            items = items[next(place for place, item in enumerate(items) if item is load) + 1 :]
        if any(_may_write(item) for item in items):
            return False
        fresh = set() if name == block else set(flow.predecessors[name]) - seen
        if (name != block and not flow.predecessors[name]) or len(seen) + len(fresh) > FAR:
            return False
        seen |= fresh
        ahead += fresh
    return True


def _may_write(item: Instruction) -> bool:
    if item.op in ("call", "invoke"):
        return item.word.startswith("@llvm.lifetime") or not effect_of(item).movable
    return item.op in WRITES
