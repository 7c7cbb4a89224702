"""Every form in every order of a matrix, measured beside what the model predicts."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np

from .choose import MOST
from .csr import Csr
from .estimate import Estimate, estimates, x_misses
from .forms import make_form
from .operator import Prepared, SparseOperator
from .orders import make_order
from .plan import SpmvPlan
from .sliced import sliced_shape

ROUNDS = 9
CHEAP = ("natural", "rcm", "degree")  # orders of linear time; "spac" takes as long as thousands of products


@dataclass(frozen=True)
class Measured:
    """A candidate, and the CPU microseconds of its products on one thread, vectors permuted in each call."""

    estimate: Estimate
    us: float
    inspect_seconds: float


def measure_forms(matrix: Csr, plan: SpmvPlan, rounds: int = ROUNDS, *, least: bool = False) -> list[Measured]:
    """All forms in each order of linear time that the matrix can have, those of one order in turn.

    Times are medians of the rounds, or with `least` the least, as the tables of costs have it.

    O(rounds · entries) for each. At most four forms of the matrix are held at a time. `plan`: any of the matrix.
    """
    found = []
    x = np.ones(matrix.shape[1], matrix.values.dtype)
    y = np.empty(matrix.shape[0], matrix.values.dtype)
    for name in CHEAP:
        if name == "rcm" and matrix.shape[0] != matrix.shape[1]:
            continue
        if name != "natural" and max(matrix.shape) >= MOST:
            continue
        begun = perf_counter()
        order = make_order(matrix, name)
        ordering = perf_counter() - begun
        shape = sliced_shape(matrix, order.rows) if max(matrix.shape) < MOST else None
        candidates = estimates(matrix, order, x_misses(matrix, order), shape)
        operators, inspected = [], []
        for one in candidates:
            begun = perf_counter()
            form = make_form(matrix, one.format, order, shape)
            inspected.append(ordering + perf_counter() - begun)
            operators.append(SparseOperator(matrix, Prepared(form, order, plan), 1))
        taken: list[list[float]] = [[] for _ in operators]
        for turn in range(rounds + 1):
            for operator, seconds in zip(operators, taken, strict=True):
                operator.times(x, out=y)  # its arrays are then where they are in a loop of products
                start = process_time()
                operator.times(x, out=y)
                if turn:
                    seconds.append(process_time() - start)
        found += [
            Measured(one, 1e6 * (min(seconds) if least else statistics.median(seconds)), inspect)
            for one, seconds, inspect in zip(candidates, taken, inspected, strict=True)
        ]
    return found
