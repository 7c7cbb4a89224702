"""Which form in which order: by the model of `estimate`, within a budget and the number of calls to come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.support.errors import ArgumentError

from .csr import Csr
from .estimate import Estimate, estimates, least_seconds, making_seconds, x_misses
from .forms import FORMATS, NARROW
from .orders import NATURAL, MatrixOrder, column_counts, make_order
from .sliced import SlicedShape, sliced_shape

MOST = 2**31  # rows and columns of what has 32-bit places
GAIN = 0.97  # of the time of plain compressed rows: what is not below that is within the model's error
FOUND = 0.85  # of the time in its own order: the least that makes another order worth moving vectors


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and from what.

    Attributes:
        chosen, plain: the candidate that was chosen, and compressed rows as they are.
        order, shape: the chosen order, and how slices are in it, if they can be.
    """

    chosen: Estimate
    plain: Estimate
    candidates: tuple[Estimate, ...]
    order: MatrixOrder
    shape: SlicedShape | None
    reason: str


@dataclass(frozen=True)
class Wish:
    """What the caller asks for: see `spmv`. `"auto"` leaves the form or the order to the model."""

    method: str = "auto"
    order: str = "auto"
    expected_calls: int | None = None
    budget: float = 2.0
    seed: int = 0

    def fits(self, seconds: float) -> bool:
        return seconds <= self.budget

    def cost(self, one: Estimate) -> float:
        """Seconds to compare candidates by: of one call, or of all of them with what making it takes."""
        calls = self.expected_calls
        return one.us * 1e-6 if calls is None else one.making + calls * one.us * 1e-6


def choose(matrix: Csr, wish: Wish) -> Choice:
    """The best candidate of the wish. O(rows + entries), at most a few products' time without a new order.

    Raises ArgumentError for an order that the matrix cannot have.
    """
    formats = [name for name in FORMATS if wish.method in ("auto", name)]
    if max(matrix.shape) >= MOST and (wish.method in NARROW or wish.order not in ("auto", "natural")):
        raise ArgumentError(f"slices, tiles and orders take fewer than 2**31 rows and columns, A has {matrix.shape}")
    shapes = {"natural": _shape(matrix, NATURAL)}
    own = estimates(matrix, NATURAL, x_misses(matrix), shapes["natural"])
    plain = own[0]
    orders, found, skipped = {"natural": NATURAL}, list(own), ""
    if wish.order == "auto":
        names, skipped = _worth_trying(matrix, wish, min(one.us for one in own if one.format in formats))
    else:
        names = [wish.order] if wish.order != "natural" else []
    for name in names:
        orders[name] = make_order(matrix, name, wish.seed)
        shapes[name] = _shape(matrix, orders[name])
        found += estimates(matrix, orders[name], x_misses(matrix, orders[name]), shapes[name])
    allowed = [one for one in found if one.format in formats and wish.order in ("auto", one.order)]
    free = wish.method == "auto" and wish.order == "auto"
    within = [one for one in allowed if wish.fits(one.making) or one is plain or not free]
    best = min(within, key=wish.cost)
    near = [one for one in within if one.order == "natural"]
    if free and wish.cost(best) > FOUND * min(map(wish.cost, near)):
        best = min(near, key=wish.cost)
    if free and wish.cost(best) > GAIN * wish.cost(plain):
        best = plain
    reason = _reason(best, plain, wish, skipped, free)
    return Choice(best, plain, tuple(found), orders[best.order], shapes[best.order], reason)


def _shape(matrix: Csr, order: MatrixOrder) -> SlicedShape | None:
    return sliced_shape(matrix, order.rows) if max(matrix.shape) < MOST else None


def _worth_trying(matrix: Csr, wish: Wish, us: float) -> tuple[list[str], str]:
    """The orders that could be so much better that making one is worth it, and why there are not more."""
    rows, cols = matrix.shape
    entries = matrix.entries
    if max(rows, cols) >= MOST:
        return [], "orders have 32-bit places"
    least = 1e6 * least_seconds(matrix)
    if least > FOUND * us:
        return [], "x is found in caches in the order that the matrix has"
    counts = column_counts(matrix)
    hubs = counts[counts > 8 * entries / max(1, cols)]
    skewed = int(hubs.sum(dtype=np.int64)) > entries // 4
    name = "degree" if skewed or rows != cols else "rcm"
    making = making_seconds(matrix, "tiled" if skewed else "sliced", name)
    if not wish.fits(making):
        return [], f"another order would take {making:.2g} s of the budget of {wish.budget:.2g} s"
    calls = wish.expected_calls
    if calls is not None and calls * (us - least) * 1e-6 < making:
        return [], f"another order would not be paid back in {calls} calls"
    return [name], ""


def _reason(best: Estimate, plain: Estimate, wish: Wish, skipped: str, free: bool) -> str:
    after = f"; {skipped}" if skipped else ""
    if best is plain:
        if not free:
            return "asked for"
        if wish.expected_calls is not None:
            return f"no other form is paid back in {wish.expected_calls} calls{after}"
        return f"no other form is predicted to take less than {GAIN:.0%} of its time{after}"
    less = f"{best.us:.4g} µs a product predicted, {plain.us:.4g} µs for plain compressed rows{after}"
    return less if free else f"asked for: {less}"
