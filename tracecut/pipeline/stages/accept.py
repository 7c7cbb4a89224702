"""Stage `accept`: whether a rescheduled program is faster than the original, as a whole and as it will run.

A single run on a shared machine may be off by several per cent, in either direction. So the original runs again
beside the result; if their times are close, both run several more times, interleaved, and in doubt the program is not
changed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

CLEAR, HOPELESS = 0.9, 1.15  # ratios of times beyond which no further run is needed
ROUNDS, PATIENCE = 3, 60.0  # further runs, and seconds after which none is started
RIVAL = 1.1  # numbers of threads within this factor of the best are run again with it


@dataclass(frozen=True)
class Weighed:
    """Result of the comparison.

    Attributes:
        threads: the best number of threads. original, optimized: the compared seconds on that many threads.
        pays: whether the change pays. slower: numbers of threads on which it does not pay.
    """

    threads: int
    original: float
    optimized: float
    pays: bool
    slower: tuple[int, ...] = ()


def weigh(
    original: float,
    optimized: Mapping[int, float],
    run_original: Callable[[], float],
    run_optimized: Callable[[int], float],
    *,
    min_gain: float,
    patience: float = PATIENCE,
) -> Weighed:
    """Compare whole runs.

    Args:
        original: seconds of an earlier run of the original. optimized: threads → seconds of a run of the result.
        run_original, run_optimized: run once more; seconds.
        min_gain: share of the time that has to be saved. patience: seconds after which no further run is started.

    Returns:
        The numbers of the fastest runs. `pays` takes the fastest runs, and where several were needed the medians, to
        save `min_gain`; between numbers of threads that are equally fast it is the smallest.
    """
    began = time.monotonic()
    before = [original, run_original()]
    after = {threads: [seconds] for threads, seconds in sorted(optimized.items())}
    for _ in range(ROUNDS):
        best = min(min(runs) for runs in after.values())
        if not CLEAR * min(before) < best < HOPELESS * min(before) or time.monotonic() - began > patience:
            break
        for threads, runs in after.items():
            if min(runs) <= RIVAL * best:
                runs.append(run_optimized(threads))
        before.append(run_original())
    threads = min(after, key=lambda count: (min(after[count]), count))
    saved = [(min(after[threads]), min(before)), (statistics.median(after[threads]), statistics.median(before))]
    pays = all(new <= (1 - min_gain) * old for new, old in saved)
    slower = tuple(count for count, runs in after.items() if min(runs) > (1 - min_gain) * min(before))
    return Weighed(threads, min(before), min(after[threads]), pays, slower)
