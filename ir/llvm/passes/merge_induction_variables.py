"""Redundant induction variables: a wider copy of a narrow one becomes a cast of it.

For `for (short i = 0; i < n; i++)` LLVM keeps two phis, i and i extended:

```
%wide = phi i32 [ 0, %entry ], [ %next.wide, %latch ]         %narrow = phi i16 …
%narrow = phi i16 [ 0, %entry ], [ %next, %latch ]       →    %wide = sext i16 %narrow to i32
%next.wide = sext i16 %next to i32
```

And a copy that is one iteration late becomes a difference, as for `for (i = 0; i + 1 < n; i++)`:

```
%ahead = phi i64 [ 1, %entry ], [ %next, %latch ]             %ahead = phi …
%i = phi i64 [ 0, %entry ], [ %ahead, %latch ]           →    %i = add i64 %ahead, -1
```

So does one that counts beside it in the same steps, from elsewhere:

```
%i = phi i64 [ %b, %entry ], [ %next, %latch ]                %i = phi …
%k = phi i64 [ %c, %entry ], [ %more, %latch ]           →    %k = add i64 %i, 1
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracecut.ir.llvm import Block, Instruction, Module, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow


def merge_counters(module: Module) -> Module:
    """Replace the wider copies, in place. O(instructions, and the phis of each loop header squared)."""
    for function in module.functions.values():
        if not any(_has_two_phis(block) for block in function.blocks):
            continue  # most functions: their loops need not be found
        flow = ControlFlow(function)
        loops = [loop for loop in flow.loops if len(loop.latches) == 1]
        asked = (item for _, item in function.instructions() if item.op in ("sext", "zext", "add"))
        made = {str(item.result): item for item in asked} if loops else {}
        for loop in loops if made else ():  # those around others first
            _merge(made, flow.blocks[loop.header], loop.latches[0])
            _take_back(made, flow.blocks[loop.header], loop.latches[0])
            _join_twins(made, flow.blocks[loop.header], loop.latches[0])
    return module


def _has_two_phis(block: Block) -> bool:
    return len(block.instructions) > 2 and block.instructions[1].op == "phi"


def _merge(made: Mapping[str, Instruction], header: Block, latch: str) -> None:
    """`made`: the casts and sums of the function by their results."""
    phis = [phi for phi in header.phis if int_bits(phi.type) is not None and len(phi.operands) == 2]
    for wide in phis:
        (start, _), (end, _) = _sides(wide, latch)
        cast = made.get(end)
        for narrow in phis if cast is not None else ():
            (first, _), (next_, _) = _sides(narrow, latch)
            source = cast.operands[0] if cast is not None and cast.op != "add" else None
            if cast is None or source is None or narrow is wide:
                continue
            if source.text != next_ or source.type != narrow.type:
                continue
            if _extended(first, narrow.type, cast.op) != start:
                continue
            header.instructions.remove(wide)
            text = f"{wide.result} = {cast.op} {narrow.type} {narrow.result} to {wide.type}"
            header.instructions.insert(len(header.phis), Instruction(text, {}))
            break


def _take_back(made: Mapping[str, Instruction], header: Block, latch: str) -> None:
    """Replace copies that hold what a counter was in the iteration before. `made`: see `_merge`."""
    phis = {str(phi.result): phi for phi in header.phis if int_bits(phi.type) is not None and len(phi.operands) == 2}
    for late in list(phis.values()):
        (start, _), (end, _) = _sides(late, latch)
        counter = phis.get(end)
        if counter is None or counter is late or counter.type != late.type:
            continue
        (first, _), (next_, _) = _sides(counter, latch)
        step = made.get(next_)
        if step is None or step.op != "add" or step.operands[0].text != counter.result:
            continue
        numbers = [start, first, step.operands[1].text]
        if not all(re.fullmatch(r"-?\d+", number) for number in numbers):
            continue
        before, now, pace = map(int, numbers)
        if (before + pace - now) % (1 << (int_bits(late.type) or 64)) == 0:
            header.instructions.remove(late)
            text = f"{late.result} = add {late.type} {counter.result}, {-pace}"
            header.instructions.insert(len(header.phis), Instruction(text, {}))


def _join_twins(made: dict[str, Instruction], header: Block, latch: str) -> None:
    """Replace counters that are another one and a number. `made`: see `_merge`; what is made here comes in."""
    counters = [(phi, pace) for phi in header.phis if (pace := _pace(made, phi, latch)) is not None]
    counters.sort(key=lambda found: _sides(found[0], latch)[0][0] != "0")  # one that begins at 0 stays
    for place, (twin, pace) in enumerate(counters):
        for first, other in counters[:place]:
            apart = _apart(made, _sides(first, latch)[0][0], _sides(twin, latch)[0][0])
            if first.type != twin.type or pace != other or apart is None or first not in header.instructions:
                continue
            header.instructions.remove(twin)
            item = Instruction(f"{twin.result} = add {twin.type} {first.result}, {apart}", {})
            header.instructions.insert(len(header.phis), item)
            made[str(twin.result)] = item
            break


def _pace(made: Mapping[str, Instruction], phi: Instruction, latch: str) -> str | None:
    """What a counter grows by."""
    if int_bits(phi.type) is None or len(phi.operands) != 2:
        return None
    step = made.get(_sides(phi, latch)[1][0])
    if step is None or step.op != "add" or step.operands[0].text != phi.result:
        return None
    pace = step.operands[1].text
    return pace if re.fullmatch(r"-?\d+", pace) else None


def _apart(made: Mapping[str, Instruction], first: str, other: str) -> int | None:
    """How much larger another start is, where that is known."""
    numbers = [text for text in (first, other) if re.fullmatch(r"-?\d+", text)]
    if len(numbers) == 2:
        return int(other) - int(first)
    (base, low), (same, high) = _offset(made, first), _offset(made, other)
    return high - low if not numbers and base == same else None


def _offset(made: Mapping[str, Instruction], text: str) -> tuple[str, int]:
    """(value, number) that a value is the sum of."""
    item = made.get(text)
    if item is None or item.op != "add" or not re.fullmatch(r"-?\d+", item.operands[1].text):
        return text, 0
    return item.operands[0].text, int(item.operands[1].text)


def _sides(phi: Instruction, latch: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """((value on entry, label), (value from the latch, label))."""
    arms = [(operand.text, label) for operand, label in zip(phi.operands, phi.labels, strict=True)]
    return (arms[0], arms[1]) if arms[1][1] == latch else (arms[1], arms[0])


def _extended(text: str, type: str, opcode: str) -> str:
    """The literal that a cast makes of a literal; empty for everything else."""
    bits = int_bits(type)
    if bits is None or bits == 1 or not re.fullmatch(r"-?\d+", text):
        return ""
    number = int(text)
    return str(number % (1 << bits)) if opcode == "zext" else str(number)
