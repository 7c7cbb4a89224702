"""Chooses among the measured orders, after measuring close ones again, interleaved.

A single measurement of each order also reflects other load on the machine at that time; two orders with similar times
can only be compared by interleaved measurements.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from .trial import Candidate, Subject, time_again

ALIKE = 1.02  # times within this factor are the same
CLOSE = 1.3  # cost over the least up to which an order may turn out to be the fastest
BUSY = 2.0  # the same for the original, which is measured first and alone
# of repeated measurements of close orders: least and most rounds, and seconds after which no further round is started
FEWEST, ROUNDS, SECONDS = 2, 8, 3.0
APART_ROUNDS, APART_SECONDS = (3, 25), 5.0  # of the measurement for comparison: least and most rounds


def best_of(candidates: Sequence[Candidate], sweeps: float, *, alone: bool = False) -> Candidate:
    """The cheapest order for this number of sweeps per scope entry; the first one among equals.

    `alone`: on one thread. Orders that are only there for comparison are passed over.
    """
    mine = [item for item in candidates if not item.compared]
    least = min(item.cost(sweeps, alone=alone) for item in mine)
    close = [item for item in mine if item.cost(sweeps, alone=alone) <= ALIKE * least]
    return min(close, key=lambda item: (item.inspect_ms or 0.0, item.method))


def look_again(subject: Subject, candidates: Sequence[Candidate], sweeps: float, own: float = math.inf) -> None:
    """Measure the orders close to the best again, interleaved; each keeps its shortest time.

    This corrects orders that were first measured while the machine was busy. The original, the first of the candidates,
    is measured as often, since the gain over it is reported; it may look twice as slow as it is. A round that
    shortens none of the times is the last one, and so is one that ends when this took as long as the loop takes in a
    run of the program: `own` seconds.
    """
    close: set[int] = set()
    for alone in (True, False):
        costs = [item.cost(sweeps, alone=alone) for item in candidates]
        close |= {place for place, cost in enumerate(costs) if cost <= CLOSE * min(costs)}
        close |= {0} if costs[0] <= BUSY * min(costs) else set()
    if len(close) < 2:
        return
    started = time.perf_counter()
    for turn in range(ROUNDS):
        places = sorted({0, *close})
        shorter = [_keep_least(candidates[place], time_again(subject, candidates[place])) for place in places]
        if (turn + 1 >= FEWEST and not any(shorter)) or time.perf_counter() - started > min(SECONDS, own):
            break


def drop_slow(candidates: Sequence[Candidate], sweeps: float) -> None:
    """Forget the orders themselves of which none will be asked for: each of their times is far from the best of the
    other orders, which only become shorter."""
    tried = [item for item in candidates[1:] if item.measured and not item.compared]
    for item in candidates[1:]:
        far = [
            any(CLOSE * other.cost(sweeps, alone=alone) < item.cost(sweeps, alone=alone) for other in tried)
            for alone in (True, False)
        ]
        if all(far) or not item.measured:
            item.drop()


def second_look(subject: Subject, original: Candidate, first: Candidate) -> None:
    """Measure the original and the order that was tried first once more, in turns; each keeps its shortest times.

    For an order that seems to gain nothing: other load may be why, and what is tried next depends on it.
    """
    for item in (original, first):
        _keep_least(item, time_again(subject, item))


def _keep_least(candidate: Candidate, found: dict[int, float]) -> bool:
    """Keep the shorter times. Returns whether one became shorter, by more than `ALIKE` times are."""
    before = candidate.region_ms, candidate.region_all_ms
    for count, ms in found.items():
        if count == 1 and candidate.region_ms is not None:
            candidate.region_ms = min(candidate.region_ms, ms)
        elif candidate.region_all_ms is not None:
            candidate.region_all_ms = min(candidate.region_all_ms, ms)
    after = candidate.region_ms, candidate.region_all_ms
    return any(
        old is not None and new is not None and ALIKE * new < old for old, new in zip(before, after, strict=True)
    )


def measure_apart(subject: Subject, candidates: Sequence[Candidate]) -> None:
    """Measure every order that ran once more, in turns, for comparison alone: nothing is chosen by these times."""
    ran = [item for item in candidates if item.measured]
    found: list[dict[int, list[float]]] = [{} for _ in ran]
    started = time.perf_counter()
    fewest, most = APART_ROUNDS
    for turn in range(most):
        if turn >= fewest and time.perf_counter() - started > APART_SECONDS:
            break
        for item, times in zip(ran, found, strict=True):
            for count, ms in time_again(subject, item).items():
                times.setdefault(count, []).append(ms)
    for item, times in zip(ran, found, strict=True):
        item.apart_ms = {count: float(np.median(values)) for count, values in times.items()}
