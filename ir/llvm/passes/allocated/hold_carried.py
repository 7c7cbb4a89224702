"""Pointers that a loop around loops hands on, and has made anew where it seldom goes, lie on the stack.

```
loop: %p = phi ptr [ null, %before ], [ %q, %latch ]           %p = load ptr, ptr %place
      …  seldom: %a = call … (several ways, to %made)     →    seldom: %a = call …; store ptr %m, ptr %place
join: %q = phi ptr [ %m, %made ], [ %p, %goes_on ]             %q = load ptr, ptr %place
```

So it is with a vector that the first step copies, and others overwrite: its beginning and its end are two such
pointers. What makes them is then apart from what follows: a layout can be in force again behind it
(`tracer/loops/exits.py`). `reload_pointers.py` does the same for what is allocated in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import at_start, before_end, rename_sources, renamed, sources

from .allocation_uses import returns_twice

NOTHING = ("null", "undef", "poison")  # what a pointer is that leads nowhere yet
PLACE = "%tracecut.carried."  # how the names of places begin
CALLS = ("call", "invoke")
_PADS = ("landingpad", "catchswitch", "catchpad", "cleanuppad")
Made = dict[str, tuple[str, Instruction]]  # value → (block, what makes it)


@dataclass(frozen=True)
class Carried:
    """A pointer that a loop hands on.

    Attributes:
        before: the block in front of the loop, and what comes from there.
        phis: block → the phi that is this pointer where the block begins, that of the header among them.
        ways: (value, from, to): where it becomes another one.
    """

    before: tuple[str, str]
    phis: Mapping[str, Instruction]
    ways: tuple[tuple[str, str, str], ...]


def hold_carried(module: Module) -> Module:
    """Hold such pointers on the stack, in place. O(such pointers · instructions of a function)."""
    for function in () if returns_twice(module) else module.functions.values():
        if any(item.op in CALLS for _, item in function.instructions()):
            _hold_all(function)
    return module


def _hold_all(function: Function) -> None:
    for count in range(sum(phi.type == "ptr" for block in function.blocks for phi in block.phis)):
        flow = ControlFlow(function)
        made = {str(item.result): (block.name, item) for block, item in function.instructions() if item.result}
        heads = ((loop, phi) for loop in flow.loops if loop.children for phi in flow.blocks[loop.header].phis)
        found = next((one for loop, phi in heads if (one := carried_pointer(flow, made, loop, phi)) is not None), None)
        if found is None:
            return
        _hold(flow, found, f"{PLACE}{count}")


def carried_pointer(flow: ControlFlow, made: Made, loop: Loop, head: Instruction) -> Carried | None:
    """A pointer that iterations hand on, and that is on some of their ways what something is called for there."""
    if head.type != "ptr" or loop.preheader is None or len(loop.latches) != 1 or len(head.operands) != 2:
        return None
    values = {label: value for value, label in sources(head)}
    phis, ways, held = {loop.header: head}, list[tuple[str, str, str]](), list[tuple[str, str, str]]()
    seen, stack = {str(head.result)}, [(values[loop.latches[0]], loop.latches[0], loop.header)]
    while stack:
        value, label, to = stack.pop()
        block, item = made.get(value, ("", head))
        if item.op != "phi" or flow.innermost(block) is not loop or phis.setdefault(block, item) is not item:
            ways.append((value, label, to))
            continue
        held.append((block, label, to))
        if value not in seen:
            seen.add(value)
            stack += [(one, at, block) for one, at in sources(item)]
    kept = any(block == loop.header and to != loop.header for block, _, to in held)
    apart = all(_may_go_between(flow, label, to) for _, label, to in ways) and not any(
        _lies_between(flow, way, one) for way in ways for one in held
    )
    always = any(flow.dominates(label, loop.latches[0]) for _, label, _ in ways)  # pointers that change places
    called = any(_is_called_for(loop, made, value) or _follows_call(flow, loop, label) for value, label, _ in ways)
    if not kept or not apart or not called or always:
        return None
    return Carried((loop.preheader, values[loop.preheader]), phis, tuple(ways))


def _may_go_between(flow: ControlFlow, label: str, to: str) -> bool:
    """Whether something can be done on the way from one block to another."""
    end = flow.blocks[label].terminator
    once = end.op in ("br", "invoke", "switch") and end.labels.count(to) == 1
    return once and (len(set(end.labels)) == 1 or not any(item.op in _PADS for item in flow.blocks[to].instructions))


def _lies_between(flow: ControlFlow, way: tuple[str, str, str], held: tuple[str, str, str]) -> bool:
    """Whether a way may be gone after a block in which a pointer is read, before it is handed on at the end of another.

    `held`: that block, the other one, and where it is handed on to.
    """
    (_, label, to), (start, end, _) = way, held
    between, stack = {end}, [end]
    while stack:
        name = stack.pop()
        for before in flow.predecessors[name] if name != start else ():
            if before not in between:
                between.add(before)
                stack.append(before)
    return label in between and to in between and to != start


def _is_called_for(loop: Loop, made: Made, value: str) -> bool:
    """Whether a pointer may be what a call in a loop returned, or lie behind it."""
    seen, stack = set[str](), [value]
    while stack:
        one = stack.pop()
        block, item = made.get(one, ("", None))
        if item is None or one in seen or block not in loop or block == loop.header:
            continue
        seen.add(one)
        if item.op in CALLS or (item.op == "load" and item.operands[0].text.startswith(PLACE)):
            return True
        if item.op == "phi":
            stack += [text for text, _ in sources(item)]
        elif item.op == "getelementptr":
            stack.append(item.operands[0].text)
    return False


def _follows_call(flow: ControlFlow, loop: Loop, label: str) -> bool:
    """Whether something is called on all ways to a block of a loop, where not every iteration comes to."""
    seldom = (name for name in loop.blocks if flow.dominates(name, label) and not flow.dominates(name, loop.latches[0]))
    lines = (item for name in seldom for item in flow.blocks[name].instructions)
    return any(item.op in CALLS and not effect_of(item).movable for item in lines)


def _hold(flow: ControlFlow, found: Carried, place: str) -> None:
    blocks, function = flow.blocks, flow.function
    before, first = found.before
    before_end(blocks[before], [_store("null" if first in NOTHING else first, place)])
    for number, (value, label, to) in enumerate(found.ways):
        if flow.successors[label] == (to,):
            before_end(blocks[label], [_store(value, place)])
            continue
        way = Block(f"{place[1:]}.{number}", [_store(value, place), Instruction(f"br label %{to}")])
        blocks[label].instructions[-1] = renamed(blocks[label].terminator, {f"%{to}": f"%{way.name}"})
        rename_sources(function, [to], label, [way.name])
        function.blocks.insert(function.blocks.index(blocks[to]), way)
    for block, phi in found.phis.items():
        _load(blocks[block], phi, place)
    function.entry.instructions.insert(0, Instruction(f"{place} = alloca ptr, align 8"))


def _store(value: str, place: str) -> Instruction:
    return Instruction(f"store ptr {value}, ptr {place}, align 8")


def _load(block: Block, phi: Instruction, place: str) -> None:
    at = next(at for at, item in enumerate(block.instructions) if item.result == phi.result)
    del block.instructions[at]
    meta = next(({"dbg": item.meta["dbg"]} for item in (phi, *block.instructions) if "dbg" in item.meta), {})
    at_start(block, [Instruction(f"{phi.result} = load ptr, ptr {place}, align 8", meta)])
