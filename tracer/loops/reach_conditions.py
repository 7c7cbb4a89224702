"""Under which branch conditions a block of a loop body runs.

Inner loops count as one step: what follows one is reached when its preheader is, and the loop is left to there.
"""

from __future__ import annotations

from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.passes.aside.look_ahead import is_look, never_left
from tracecut.ir.loops.nest import Edge
from tracecut.ir.loops.path_conditions import ALWAYS, NEVER, Condition, both, either

from .scalar_evolution import ScalarView


def reach_conditions(scalars: ScalarView, loop: Loop) -> dict[str, Condition]:
    """Condition of each block whose innermost loop is `loop`, given that its header runs."""
    view, flow = scalars.view, scalars.view.flow
    found: dict[str, Condition] = {loop.header: ALWAYS}
    inner = {name: child for child in loop.children for name in child.blocks}
    for name in sorted(loop.blocks, key=flow.rank):
        if name == loop.header:
            continue
        if name in inner and name != inner[name].header:
            continue
        condition: Condition = NEVER
        for pred in flow.predecessors[name]:
            if pred not in loop.blocks or (name in inner and pred in inner[name].blocks):
                continue
            condition = either(condition, _edge(scalars, found, inner, pred, name))
        found[name] = condition
    return {name: condition for name, condition in found.items() if view.innermost(name) is loop}


def _edge(
    scalars: ScalarView, found: dict[str, Condition], inner: dict[str, Loop], pred: str, target: str
) -> Condition:
    if pred in inner:
        return _left(scalars, found.get(inner[pred].header), inner[pred], (pred, target))
    end = scalars.view.flow.blocks[pred].terminator
    before = found.get(pred)
    if before is None:
        return None
    if end.op == "br" and len(end.labels) == 1:
        return before
    if end.op == "br":
        if end.labels[0] == end.labels[1] or any(never_left(label) or is_look(label) for label in end.labels):
            return before
        expr = scalars.operand(end.operands[0])
        return both(before, (expr, end.labels[0] == target))
    return None


def _left(scalars: ScalarView, entered: Condition, loop: Loop, edge: Edge) -> Condition:
    """Condition of what an exit of an inner loop leads to: it is the one that is taken; of the last, none of the others
    is."""
    exits = [each for each in loop.exits if not never_left(each[1])]
    taken = [by for each in exits if (by := scalars.left.by(loop, each)) is not None]
    if edge not in exits or len(taken) < len(exits):
        return entered
    if edge != exits[-1]:
        return both(entered, (taken[exits.index(edge)], True))
    for other in taken[:-1]:
        entered = both(entered, (other, False))
    return entered
