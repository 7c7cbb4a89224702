"""Values in a few iterations of a loop: nothing is made for all the others that is not there already."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr

from .evaluate import Evaluation
from .masked_arithmetic import UNKNOWN, Values

Places = npt.NDArray[np.int64]


def few_values(evaluation: Evaluation, expr: Expr, loop: int, places: Places) -> Values:
    """Values of `expr` in some iterations of `loop`. O(places + entries of the loops around)."""
    if expr.kind == "counter" and expr.data[0] == loop and not evaluation.is_step(loop):
        domain = evaluation.domain(loop)
        return UNKNOWN if domain is None else Values(domain.numbers_of(places), np.bool_(True))
    level, values = evaluation.evaluated(expr)
    if level is None or values is UNKNOWN:
        return values
    if level not in evaluation.levels.above(loop):
        return UNKNOWN
    return values.taken(_entries(evaluation, loop, level, places))


def _entries(evaluation: Evaluation, loop: int, level: int, places: Places) -> Places:
    """The iterations of a loop around, or of the loop itself, that some iterations belong to."""
    while loop != level:
        domain, parent = evaluation.domain(loop), evaluation.nest.loops[loop].parent
        assert domain is not None and parent is not None
        places, loop = domain.parents_of(places), parent
    return places
