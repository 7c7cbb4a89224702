"""Conditions on a path through a loop body: a disjunction of conjunctions of (expression, wanted truth value).

`ALWAYS` is one empty conjunction; None means "may run, not known when".
"""

from __future__ import annotations

from .expressions import Expr

Literal = tuple[Expr, bool]
Condition = frozenset[frozenset[Literal]] | None

ALWAYS: Condition = frozenset([frozenset()])
NEVER: Condition = frozenset()
MAX_TERMS = 32


def literals(condition: Condition) -> list[list[Literal]]:
    """The terms of a condition in a fixed order; none for one that is not known."""
    terms = [sorted(term, key=lambda literal: (literal[0].serial, literal[1])) for term in condition or ()]
    return sorted(terms, key=lambda term: [(expr.serial, wanted) for expr, wanted in term])


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
