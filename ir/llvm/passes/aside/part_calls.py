"""Loops in which something is called under a condition that stays the same while they run, without that call.

```
for (i = 0; i < n; i++)                            if (step == 0)
    for (k = first[i]; k < first[i + 1]; k++) {        the loops as they were
        if (step == 0)                             else
            printf(…);                      →          for (i = 0; i < n; i++)
        y[i] += x[at[k]];                                  for (k = first[i]; k < first[i + 1]; k++)
    }                                                          y[i] += x[at[k]];
```

What is called is then no part of the loops that run else, and need not be understood to reorder them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import drop_unreached, renamed

from ..leave_loops import COPIED
from .copied_loop import CopiedLoop, can_be_copied, enter_by, is_indirect, left_by
from .side_by_side import ASIDE, at_place_of

PARTED = f"{COPIED}.parted"  # how the names of blocks begin that enter a loop without a call
MOST = 4  # loops of a function


@dataclass(frozen=True)
class _Parted:
    """A loop, a branch in it, and where that goes if nothing is called.

    `value`: the loop does not change it; where it is not `calls`, nothing is called.
    """

    loop: Loop
    block: str
    other: str
    value: str
    calls: bool


def part_calls(module: Module) -> set[str]:
    """Put such loops beside their copies without calls, in place; the functions in which that was done.

    Values of a loop are used outside of it in phis of its exits alone (LLVM's `lcssa`). O(instructions × depth of
    loops).
    """
    own = set(module.functions)
    return {name for name, function in module.functions.items() if _part_all(own, function)}


def may_part(module: Module) -> bool:
    """Whether a loop of a module may call something, also when functions are inlined. O(instructions)."""
    own = set(module.functions)
    for name, function in module.functions.items():
        calling = {block.name for block, item in function.instructions() if _is_call(item) and _stops(own, item)}
        if calling and (name != "@main" or any(calling & loop.blocks for loop in ControlFlow(function).loops)):
            return True
    return False


def _is_call(item: Instruction) -> bool:
    return item.op in ("call", "invoke")


def _part_all(own: set[str], function: Function) -> bool:
    if not any(_is_call(item) and _stops(own, item) for _, item in function.instructions()):
        return False
    for number in range(MOST):
        flow = ControlFlow(function)
        found = next((one for name in flow.order if (one := _parted(own, flow, name)) is not None), None)
        if found is None:
            return number > 0
        _part(flow, found, number)
        drop_unreached(function)
    return True


def _stops(own: set[str], call: Instruction) -> bool:
    """Whether a call keeps iterations in their order."""
    return call.word in own or effect_of(call).kind in ("io", "unknown")


def _parted(own: set[str], flow: ControlFlow, name: str) -> _Parted | None:
    """The widest loop that can be parted at the end of a block."""
    end, inner = flow.blocks[name].terminator, flow.innermost(name)
    if end.op != "br" or len(set(end.labels)) != 2 or inner is None or name.startswith(COPIED):
        return None
    calling = [label for label in end.labels if _calls(own, flow, inner, name, label)]
    around_all = inner.parent is None and bool(inner.children)  # what is called there is no part of any loop that moves
    if len(calling) != 1 or around_all or not _is_indirect(flow, inner):
        return None
    (other,) = (label for label in end.labels if label not in calling)
    when = end.labels[0] == calling[0]
    parts = _parts(flow, end.operands[0].text, when)
    for loop in reversed([inner, *inner.ancestors()]):
        stays = [part for part in parts if _stays(flow, loop, part)]
        if stays and other in inner and not loop.header.startswith(COPIED) and can_be_copied(flow, loop):
            return _Parted(loop, name, other, stays[0], when)
    return None


def _parts(flow: ControlFlow, value: str, when: bool) -> list[str]:
    """Values that are all `when`, where one is."""
    made = {str(item.result): item for block in flow.blocks.values() for item in block.instructions if item.result}
    found, stack = [], [value]
    while stack:
        part = stack.pop()
        found.append(part)
        item = made.get(part)
        if item is None or item.type != "i1":
            continue
        texts = [operand.text for operand in item.operands]
        if item.op == ("and" if when else "or"):
            stack += texts
        elif item.op == "select" and texts[2 if when else 1] == ("false" if when else "true"):
            stack += [texts[0], texts[1 if when else 2]]
    return found


def _calls(own: set[str], flow: ControlFlow, loop: Loop, block: str, label: str) -> bool:
    """Whether behind a branch, and nowhere else, something is called that keeps iterations in their order.

    There may be no loops: they would be gone with it.
    """
    if label not in loop or flow.predecessors[label] != [block]:
        return False
    behind = [name for name in loop.blocks if flow.dominates(label, name)]
    lines = (item for name in behind for item in flow.blocks[name].instructions)
    return all(flow.innermost(name) is loop for name in behind) and any(
        _is_call(item) and _stops(own, item) for item in lines
    )


def _stays(flow: ControlFlow, loop: Loop, value: str) -> bool:
    """Whether a value is the same in all iterations of a loop."""
    return value.startswith("%") and not any(
        item.result == value for name in loop.blocks for item in flow.blocks[name].instructions
    )


def _is_indirect(flow: ControlFlow, loop: Loop) -> bool:
    """Whether an address of a loop is computed of what it loads."""
    made = {str(item.result): item for name in loop.blocks for item in flow.blocks[name].instructions if item.result}
    return is_indirect(made, made.values())


def _part(flow: ControlFlow, found: _Parted, number: int) -> None:
    loop, blocks, function = found.loop, flow.blocks, flow.function
    aside, parted = f"{ASIDE}.calls{number}", f"{PARTED}{number}"
    line = at_place_of(blocks[loop.header])
    end = blocks[found.block].terminator
    kept = CopiedLoop(flow, loop, aside).put(lambda place, edge: f"{aside}.{place}.behind")
    behind = left_by(flow, loop, {}, lambda place, edge: f"{parted}.{place}.behind")
    for (name, target), block in behind.items():
        blocks[name].instructions[-1] = renamed(blocks[name].terminator, {f"%{target}": f"%{block.name}"})
    goes = [aside, parted] if found.calls else [parted, aside]
    start = blocks[str(loop.preheader)]
    start.instructions[-1:] = [
        line(f"%{parted}.calls = freeze i1 {found.value}"),
        line(f"br i1 %{parted}.calls, label %{goes[0]}, label %{goes[1]}"),
    ]
    enter_by(blocks[loop.header], start.name, parted)
    blocks[found.block].instructions[-1] = Instruction(f"br label %{found.other}", dict(end.meta))
    place = function.blocks.index(blocks[loop.header])
    function.blocks[place:place] = [Block(parted, [line(f"br label %{loop.header}")]), *behind.values(), *kept]
