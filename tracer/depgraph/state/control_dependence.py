"""Control dependence of blocks (Ferrante et al. 1987)."""

from __future__ import annotations

from tracecut.ir.llvm import Function
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.dominators import immediate_dominators

EXIT = ""  # stands behind every block without a successor


def controllers_of(function: Function) -> dict[str, set[str]]:
    """Block → blocks whose branch decides whether it runs.

    B depends on A when B lies on every way from one successor of A to the end, but not on every way from A. Blocks from
    which no way leads to an end (endless loops) are taken to lead there. O(blocks + dependences).
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
    names = [EXIT, *flow.order]
    number = {name: place for place, name in enumerate(names)}
    sources: list[list[int]] = [[] for _ in names]  # of each block, those that lead to it
    for name in flow.order:
        for target in flow.successors[name] or (EXIT,):
            sources[number[target]].append(number[name])
    reached = [False] * len(names)
    for start in range(len(names)):  # the end first; then what does not lead there: endless loops get a way out
        if reached[start]:
            continue
        if start:
            sources[0].append(start)
        stack = [start]
        while stack:
            node = stack.pop()
            if not reached[node]:
                reached[node] = True
                stack.extend(sources[node])
    return {names[node]: names[above] for node, above in enumerate(immediate_dominators(sources))}
