"""Under which branch conditions a block of a loop body runs.

A condition is a disjunction of conjunctions of (expression, wanted truth value). `ALWAYS` is one empty
conjunction; None means "may run, not known when". Inner loops count as one step: what follows one is reached
when its preheader is.
"""

from __future__ import annotations

from .expr import Expr
from .scalar import ScalarView
from .text.cfg import Loop

Literal = tuple[Expr, bool]
Condition = frozenset[frozenset[Literal]] | None

ALWAYS: Condition = frozenset([frozenset()])
NEVER: Condition = frozenset()
MAX_TERMS = 32


def literals(condition: Condition) -> list[list[Literal]]:
    """The terms of a condition in a fixed order; none for one that is not known."""
    terms = [sorted(term, key=lambda literal: (literal[0].serial, literal[1])) for term in condition or ()]
    return sorted(terms, key=lambda term: [(expr.serial, wanted) for expr, wanted in term])


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
        child = inner[pred]
        before = found.get(child.header)
        return before if len(child.exits) == 1 else None
    end = scalars.view.flow.blocks[pred].terminator
    before = found.get(pred)
    if before is None:
        return None
    if end.op == "br" and len(end.labels) == 1:
        return before
    if end.op == "br":
        if end.labels[0] == end.labels[1]:
            return before
        expr = scalars.operand(end.operands[0])
        return both(before, (expr, end.labels[0] == target))
    return None


def both(condition: Condition, literal: Literal) -> Condition:
    """condition and literal."""
    if condition is None:
        return None
    expr, wanted = literal
    return frozenset(term | {literal} for term in condition if (expr, not wanted) not in term)


def either(first: Condition, second: Condition) -> Condition:
    """first or second; terms that differ in the sense of one literal alone are joined."""
    if first is None or second is None:
        return None
    terms = set(first | second)
    joined = True
    while joined:
        joined = False
        for term in sorted(terms, key=len):
            for literal in term:
                other = term - {literal} | {(literal[0], not literal[1])}
                if other in terms:
                    terms -= {term, other}
                    terms.add(term - {literal})
                    joined = True
                    break
            if joined:
                break
    kept = {term for term in terms if not any(other < term for other in terms)}
    return frozenset(kept) if len(kept) <= MAX_TERMS else None
