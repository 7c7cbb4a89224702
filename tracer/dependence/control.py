"""Control dependence of blocks (Ferrante, Ottenstein, Warren 1987)."""

from __future__ import annotations

from ..text import Function
from ..text.cfg import ControlFlow

EXIT = ""  # stands behind every block without a successor


def controllers_of(function: Function) -> dict[str, set[str]]:
    """Block → blocks whose branch decides whether it runs.

    B depends on A when B lies on every way from one successor of A to the end, but not on every way from A. Blocks from
    which no way leads to an end (endless loops) are taken to lead there. O(blocks²) at worst.
    """
    flow = ControlFlow(function)
    after = _post_dominators(flow)
    found: dict[str, set[str]] = {}
    for name in flow.order:
        targets = flow.successors[name]
        if len(targets) < 2:
            continue
        stop = after[name]
        for target in targets:
            here = target
            while here not in (stop, EXIT):
                found.setdefault(here, set()).add(name)
                here = after[here]
    return found


def _post_dominators(flow: ControlFlow) -> dict[str, str]:
    """The nearest block that lies on every way to the end, of each reachable block."""
    successors: dict[str, list[str]] = {name: list(flow.successors[name]) or [EXIT] for name in flow.order}
    predecessors: dict[str, list[str]] = {name: [] for name in (EXIT, *flow.order)}
    for name, targets in successors.items():
        for target in targets:
            predecessors[target].append(name)
    order = _backward(predecessors)
    for name in flow.order:  # endless loops get a way out
        if name not in order:
            successors[name].append(EXIT)
            predecessors[EXIT].append(name)
            order = _backward(predecessors)
    rank = {name: place for place, name in enumerate(order)}
    found = {EXIT: EXIT}
    changed = True
    while changed:
        changed = False
        for name in order[1:]:
            new = ""
            known = [target for target in successors[name] if target in found]
            new = known[0]
            for target in known[1:]:
                while new != target:
                    if rank[new] > rank[target]:
                        new = found[new]
                    else:
                        target = found[target]
            if found.get(name) != new:
                found[name] = new
                changed = True
    return found


def _backward(predecessors: dict[str, list[str]]) -> list[str]:
    """Reverse postorder of the reversed graph, from the end."""
    seen = {EXIT}
    order: list[str] = []
    stack = [(EXIT, iter(predecessors[EXIT]))]
    while stack:
        name, rest = stack[-1]
        for other in rest:
            if other not in seen:
                seen.add(other)
                stack.append((other, iter(predecessors[other])))
                break
        else:
            order.append(name)
            stack.pop()
    return order[::-1]
