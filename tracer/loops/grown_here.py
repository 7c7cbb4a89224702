"""Pointers into memory that a scope allocates anew while it runs, and that nothing else of the scope reaches.

`history.push_back(norm)` in each step: the vector begins empty, and its memory is made anew where it has become too
small; or `history = realloc(history, …)`, which leaves it where it is or not. It may begin with memory from before the
scope of which nobody else knows: `history.reserve(16)`. The place that is written next is handed from step to step;
wherever it lies, it is none of the arrays of the sweeps, and none that the scope moves. So the write is in no layout's
way, and a path that makes such a pointer is no reason to give up the layout for good (`exits.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.passes.allocated.allocation_uses import FREE, NEW, TOUCHING, Users, only_compared
from tracecut.ir.llvm.passes.allocated.hold_carried import NOTHING
from tracecut.ir.llvm.passes.allocated.hold_carried import PLACE as CARRIED
from tracecut.ir.llvm.passes.allocated.reload_pointers import PLACE as RELOADED
from tracecut.ir.loops.expressions import Expr

from .phi_sources import pointer_sources

AGAIN = ("@realloc", "@reallocarray")  # they return what they are given, or other memory in its place
_MADE = ("getelementptr", "phi", "select", "freeze")


def grown_here(
    view: FunctionView, users: Users, root: Loop, pointer: Operand, left_out: Collection[str] = frozenset()
) -> bool:
    """Whether a pointer leads nowhere, or into memory that a loop has allocated and reaches in no other way. What it
    leads to at first may have been allocated in front of the loop.

    Memory that loops inside of it walk is an array like others, which may have to move; but for loops in the blocks
    `left_out`, those of its exits: no layout is in force there. O(values that are made of the pointer and of what it is
    made of).
    """
    calls, left, seen = list[tuple[str, Instruction]](), [pointer], set[str]()
    while left:
        for source in pointer_sources(view, [left.pop()], seen.__contains__):
            if source.text in NOTHING or source.text in seen:
                continue
            seen.add(source.text)
            found = view.definitions.get(source.text)
            if found is None:
                return False
            item = found.instruction
            allocates = item.op in ("call", "invoke") and item.word in (*NEW, *AGAIN)
            if found.block not in root.blocks and not allocates:
                return False
            if item.op == "load":  # of a pointer that is handed on by the stack: what was stored there
                place = item.operands[0].text
                if _loaded_again(users, place) is None:
                    return False
                left += [other.operands[0] for _, other in users(place) if other.op == "store"]
            elif allocates:
                calls.append((found.block, item))
                left += item.operands[:1] if item.word in AGAIN else ()
            else:
                return False
    if not any(block in root.blocks for block, _ in calls):
        return False
    beside = {name for name in root.blocks if view.flow.innermost(name) is root or name in left_out}
    blocks, ahead = root.blocks, frozenset[str]()
    if any(block not in root.blocks for block, _ in calls):  # who gets to know of it before that, may use it in there
        ahead = _leading_to(view.flow, root)
    return _stays(users, blocks | ahead, beside | ahead - blocks, [item for _, item in calls])


def _leading_to(flow: ControlFlow, root: Loop) -> frozenset[str]:
    """Blocks from which a loop is reached. O(blocks)."""
    seen, stack = {root.header}, [root.header]
    while stack:
        fresh = {*flow.predecessors[stack.pop()]} - seen
        seen |= fresh
        stack += fresh
    return frozenset(seen)


def is_held(address: Expr) -> bool:
    """Whether an address leads through a pointer that a place on the stack holds, as the begin of a list that grows."""
    loads = (node.args[0] for node in address.walk() if node.kind == "load")
    return any(place.kind == "live" and str(place.data[0]).startswith((CARRIED, RELOADED)) for place in loads)


def _stays(users: Users, blocks: Collection[str], beside: Collection[str], calls: Sequence[Instruction]) -> bool:
    """Whether within these blocks no pointer leads to what was allocated but such as lead nowhere else, and all use of
    it is `beside` the loops in there."""
    seen = {str(call.result) for call in calls}
    stack = [*seen]
    merged = [call.operands[0] for call in calls if call.word in AGAIN]  # what becomes one pointer with those
    while stack:
        pointer = stack.pop()
        for block, item in users(pointer):
            if block not in blocks:
                continue
            if block not in beside:
                return False
            made: list[str] = []
            if item.op in _MADE:
                made = [str(item.result)]
                merged += item.operands if item.op == "phi" else item.operands[1:] if item.op == "select" else ()
            elif item.op == "store" and item.operands[0].text == pointer:
                found = _loaded_again(users, item.operands[1].text)
                if found is None:
                    return False
                made = found
                merged += [other.operands[0] for _, other in users(item.operands[1].text) if other.op == "store"]
            elif item.op in ("call", "invoke") and item.word in AGAIN and item.operands[0].text == pointer:
                made = [] if item.result is None else [str(item.result)]
                merged.append(item.operands[0])
            elif item.op in ("call", "invoke"):
                if item.word not in FREE and not item.word.startswith(TOUCHING):
                    return False
            elif item.op == "ptrtoint":
                if not only_compared(str(item.result), users):
                    return False
            elif item.op not in ("load", "store", "icmp"):
                return False
            stack += [other for other in made if other not in seen]
            seen.update(made)
    return all(value.text in seen or value.text in NOTHING for value in merged)


def _loaded_again(users: Users, place: str) -> list[str] | None:
    """What is loaded from a place on the stack that holds a pointer between iterations; None for any other place."""
    if not place.startswith((CARRIED, RELOADED)) or any(item.op not in ("load", "store") for _, item in users(place)):
        return None
    return [str(item.result) for _, item in users(place) if item.op == "load"]
