"""How often the loops of a nest run, by the numbers that they count by."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Nest, NestLoop
from tracecut.ir.loops.path_conditions import Condition
from tracecut.tracer.loops.pointer_rotation import in_each_state
from tracecut.tracer.loops.trip_counts import count

from .iteration_domains import Domain
from .masked_arithmetic import Bools, Values


class Counting(Protocol):
    """What knows the numbers (`evaluate.Evaluation`)."""

    nest: Nest

    def domain(self, loop: int) -> Domain | None: ...
    def evaluated(self, expr: Expr) -> tuple[int | None, Values]: ...
    def spread(self, values: Values, level: int | None, loop: int) -> Values: ...
    def truth(self, condition: Condition, loop: int) -> Bools | np.bool_: ...
    def rely_on(self, expr: Expr) -> None: ...


def counts_of(asked: Counting, loop: int) -> npt.NDArray[np.int64] | None:
    """How often a loop would run, if nothing left it early, in each iteration of the one around it."""
    parent = asked.nest.loops[loop].parent
    outer = None if parent is None else asked.domain(parent)
    found = None if outer is None else trips(asked, loop, outer)
    if outer is None or parent is None or found is None:
        return None
    may = np.broadcast_to(asked.truth(asked.nest.loops[loop].reach, parent), outer.size)
    return np.where(may, np.broadcast_to(found.data, outer.size), 0).astype(np.int64, copy=False)


def trips(asked: Counting, loop: int, outer: Domain | None) -> Values | None:
    """Iterations of a loop in each of those of the loop around it (`outer`); None where one is not known.

    Where pointers change places (`for (double v : x)` after `std::swap(x, y)`), they have to be as many in all states.
    """
    info = asked.nest.loops[loop]
    if info.trip is None:
        return None
    found = [_trips(asked, info, trip, outer) for trip in in_each_state(info.trip, asked.nest.pool)]
    first = found[0]
    alike = all(one is not None and first is not None and np.all(one.data == first.data) for one in found)
    return first if alike else None


def _trips(asked: Counting, info: NestLoop, trip: Expr, outer: Domain | None) -> Values | None:
    """The same for one way to count them. `trip`: that of the loop, in one state."""
    where = info.parent
    parts = []
    for argument in trip.args:
        asked.rely_on(argument)
        level, values = asked.evaluated(argument)
        if where is None and level is not None:
            return None
        parts.append(values if where is None else asked.spread(values, level, where))
    data, known = count(trip.data, *(part.data for part in parts))
    for part in parts:
        known = known & part.known
    if outer is not None:
        may = asked.truth(info.reach, outer.loop)
        known = known | ~may
        data = np.where(may, data, 0)
    if not np.all(known):
        return None
    return Values(data, np.bool_(True))
