"""Path conditions on the numbers of a run: whether they may hold, and whether they hold for sure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tracecut.ir.loops.expressions import Expr, walk_all
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.path_conditions import Condition

from .masked_arithmetic import Bools, Values


def may_hold(condition: Condition, at: Callable[[Expr], Values]) -> Bools | np.bool_:
    """Whether a condition may hold, in each iteration that `at` gives the values of. O(literals · iterations)."""
    if condition is None:
        return np.bool_(True)
    may: Bools | np.bool_ = np.bool_(False)
    for term in condition:
        term_may: Bools | np.bool_ = np.bool_(True)
        for expr, wanted in term:
            values = at(expr)
            term_may = term_may & (((values.data != 0) == wanted) | ~values.known)
        may = may | term_may
    return may


def must_hold(condition: Condition, at: Callable[[Expr], Values]) -> Bools | np.bool_:
    """Whether it is known to hold: in some term, all is known. O(literals · iterations)."""
    must: Bools | np.bool_ = np.bool_(False)
    for term in condition or ():
        term_must: Bools | np.bool_ = np.bool_(True)
        for expr, wanted in term:
            values = at(expr)
            term_must = term_must & ((values.data != 0) == wanted) & values.known
        must = must | term_must
    return must


def condition_loads(nest: Nest) -> frozenset[str]:
    """Loads of floating-point data that only branch conditions depend on."""
    nodes = walk_all(nest.expressions())
    return frozenset(str(node.data[0]) for node in nodes if node.kind == "load" and node.data[1] in ("double", "float"))
