"""Exits: parts of a layout scope that run seldom, in front of which the data go back to their places.

An exit is all that one block dominates: nothing in it runs before that block has. The block undoes the layout; the
next region that is reached brings it into force again, if everything that the schedule assumes still holds. So the
analysis of the scope leaves out what an exit does: it finds the program's own order, and what it changes is checked
again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.passes.allocated.allocation_uses import Users
from tracecut.ir.llvm.passes.allocated.changed_ways import CHANGED
from tracecut.ir.llvm.passes.aside.look_ahead import AHEAD
from tracecut.ir.llvm.passes.promote_calls import OTHER
from tracecut.ir.loops.nest import Exit

from .grown_here import grown_here

ACCESSES = ("load", "store", "atomicrmw", "cmpxchg", "fence")
TELLS = ("io", "clock")  # calls that keep their order, and reach what they are given alone
SELDOM = 2  # an exit that runs more often than once in so many runs of the region is none


def counted_blocks(views: Mapping[str, FunctionView]) -> list[tuple[str, str]]:
    """(function, block) of what is counted beside the loops: around inner loops, what not every iteration runs."""
    found = []
    for name, view in views.items():
        for block in view.flow.order:
            loop = view.flow.innermost(block)
            if loop is not None and loop.children and not _in_every_iteration(view.flow, loop, block):
                found.append((name, block))
    return found


def _in_every_iteration(flow: ControlFlow, loop: Loop, block: str) -> bool:
    return all(flow.dominates(block, latch) for latch in loop.latches)


def block_counts(
    view: FunctionView, root: Loop, counted: Mapping[str, int], iterations: Sequence[int]
) -> dict[str, int]:
    """How often each block around inner loops ran. `counted`: of `counted_blocks`; `iterations`: by loop id."""
    counts = {}
    for name in root.blocks:
        loop = view.flow.innermost(name)
        if loop is not None and loop.children:
            counts[name] = counted.get(name, iterations[view.loop_ids[loop]])
    return counts


def dominated(flow: ControlFlow, root: Loop, head: str) -> frozenset[str]:
    """The blocks of a loop that `head` dominates: the exit that begins there. O(blocks of the loop)."""
    return frozenset(name for name in root.blocks if flow.dominates(head, name))


def find_exits(
    view: FunctionView, root: Loop, region: Loop, counts: Mapping[str, int], runs: int, own: Collection[str]
) -> list[tuple[tuple[str, ...], int]]:
    """Sets of exits that the scope `root` of a region may have, and how often they run: none, as little as possible of
    those that call, these, those that never ran, all.

    Args:
        counts: block → how often it ran. runs: how often the region ran. own: functions of the program.
    """
    flow = view.flow
    around = {region.parent, *(region.parent.ancestors() if region.parent is not None else ())}
    may = [
        name
        for name in sorted(root.blocks, key=flow.rank)  # what dominates comes first
        if name in counts
        and SELDOM * counts[name] <= runs
        and flow.innermost(name) in around
        and name != root.header
        and not name.startswith(AHEAD)  # it has not run in the order that was traced
        and not flow.dominates(name, region.header)
    ]
    seldom, never = _outermost(flow, may), _outermost(flow, [name for name in may if not counts[name]])
    does = {name: _does(flow, root, name, own) for name in {*seldom, *never}}
    heads, unused = ([name for name in found if does[name]] for found in (seldom, never))
    calling = [name for name in heads if does[name] == "calls"]
    parts = [part for head in calling for part in _calling_parts(flow, root, head, unused, own)]
    sets = [(), tuple(parts), tuple(calling), tuple(unused), tuple(heads)]
    return [(found, sum(counts[name] for name in found)) for found in dict.fromkeys(sets)]


def _calling_parts(
    flow: ControlFlow, root: Loop, head: str, unused: Iterable[str], own: Collection[str]
) -> Sequence[str]:
    """What of an exit never ran, if that alone calls: `std::endl` asks a virtual function where it is first used."""
    inside = dominated(flow, root, head)
    within = [name for name in unused if name in inside]
    left = inside.difference(*(dominated(flow, root, name) for name in within))
    return [head] if _what_is_done(flow, left, own) == "calls" else within


def _outermost(flow: ControlFlow, names: Iterable[str]) -> list[str]:
    """Those blocks that no other one dominates. `names`: what dominates comes first."""
    heads: list[str] = []
    for name in names:
        if not any(flow.dominates(head, name) for head in heads):
            heads.append(name)
    return heads


def _does(flow: ControlFlow, root: Loop, head: str, own: Collection[str]) -> str:
    return _what_is_done(flow, dominated(flow, root, head), own)


def _what_is_done(flow: ControlFlow, inside: Collection[str], own: Collection[str]) -> str:
    """What blocks do that the analysis would have to look at: they call, or reach memory; empty for none.

    What prints a number reaches memory like a load does: the layout may stay in force. What passes have put apart since
    something changes there (`changed_ways.py`) is taken for a call.
    """
    if any(name.startswith(CHANGED) for name in inside):
        return "calls"
    made = [item for name in inside for item in flow.blocks[name].instructions]
    calls = [item for item in made if item.op in ("call", "invoke")]
    if any(item.word in own or not (effect_of(item).movable or effect_of(item).kind in TELLS) for item in calls):
        return "calls"
    touches = any(item.op in ACCESSES for item in made) or any(not effect_of(item).movable for item in calls)
    return "reaches" if touches else ""


def exits_at(view: FunctionView, users: Users, root: Loop, heads: Iterable[str]) -> tuple[Exit, ...]:
    """The exits of a scope that begin at these blocks. One that makes a pointer for what follows it is final, but for
    one into memory that nothing else reaches. So is one that makes a number for it where something is called through a
    pointer that nobody knows: `size()`, and one that a pass has made for what changes (`changed_ways.py`).
    """
    flow = view.flow
    found = []
    parts = {head: dominated(flow, root, head) for head in heads}
    left_out = frozenset[str]().union(*parts.values())
    for head, inside in parts.items():
        unknown = any(OTHER in name or name.startswith(CHANGED) for name in inside)
        final = any(
            (unknown or phi.type == "ptr")
            and label in inside
            and _made_in(view, operand.text, inside)
            and (unknown or not grown_here(view, users, root, Operand("ptr", str(phi.result)), left_out))
            for name in root.blocks - inside
            for phi in flow.blocks[name].phis
            for operand, label in zip(phi.operands, phi.labels, strict=True)
        )
        found.append(Exit(head, final))
    return tuple(found)


def _made_in(view: FunctionView, text: str, blocks: Collection[str]) -> bool:
    found = view.definitions.get(text)
    return found is not None and found.block in blocks


class Skipped:
    """What the analysis of a scope leaves out: the blocks of its exits, and values that a final exit alone makes."""

    def __init__(self, view: FunctionView, root: Loop, exits: Iterable[Exit]) -> None:
        self.view, self.header = view, root.header
        self.blocks: frozenset[str] = frozenset()
        self.final: frozenset[str] = frozenset()
        for item in exits:
            inside = dominated(view.flow, root, item.block)
            self.blocks |= inside
            if item.final:
                self.final |= inside

    def is_dropped(self, text: str, label: str) -> bool:
        """Whether a phi has this value only after the layout has been given up."""
        return label in self.final and _made_in(self.view, text, self.final)

    def ways(self, phi: Instruction) -> list[tuple[Operand, str]]:
        """The values that a phi may have while the layout is in force, and the blocks that they come from."""
        ways = zip(phi.operands, phi.labels, strict=True)
        return [(operand, label) for operand, label in ways if not self.is_dropped(operand.text, label)]

    def arms(self, phi: Instruction) -> list[Operand]:
        """The values that a phi may have while the layout is in force."""
        return [operand for operand, _ in self.ways(phi)]

    def taken(self, name: str) -> str:
        """What a value is while the layout is in force: of phis behind an exit what does not come from there."""
        while (found := self.view.definitions.get(name)) is not None and found.instruction.op == "phi":
            texts = {operand.text for operand in self.arms(found.instruction)}
            if len(texts) != 1 or found.block == self.header:
                break
            name = texts.pop()
        return name
