"""Stage `accept`: whether a rescheduled program is faster than the original, as a whole and as it will run.

A single run on a shared machine may be off by several per cent, in either direction. So the original runs again
beside the result, unless it takes so much more time, and work of its processor, that no other load explains it. If
their times are close, both run several more times, interleaved, until that shows no gain, and in doubt the program is
not changed. Seconds are without those in which a program's first thread waited for a processor that others had.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

CLEAR, HOPELESS = 0.9, 1.15  # ratios of times beyond which no further run is needed
SURE, SURE_WORK = 0.6, 0.8  # ratios of times, and of CPU times, below which the original need not run again
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


def beyond_doubt(original: tuple[float, float], optimized: Iterable[tuple[float, float]]) -> bool:
    """Whether one run of each tells enough: a result is much faster, and none is about as fast as the original.

    All are pairs of seconds and CPU seconds. A run of the original that other load made slow takes as much CPU time as
    another one, or not much more.
    """
    seconds, work = original
    runs = list(optimized)
    faster = any(new < SURE * seconds and own < SURE_WORK * work for new, own in runs)
    return faster and not any(SURE * seconds <= new <= seconds / SURE for new, _ in runs)


def hopeless(original: float, optimized: Iterable[float]) -> bool:
    """Whether no result comes near the original: another run of it could only be faster still. All in seconds."""
    return all(new >= HOPELESS * original for new in optimized)


def weigh(
    original: float,
    optimized: Mapping[int, float],
    run_original: Callable[[], float],
    run_optimized: Callable[[int], float],
    *,
    min_gain: float,
    patience: float = PATIENCE,
    certain: bool = False,
) -> Weighed:
    """Compare whole runs.

    Args:
        original: seconds of an earlier run of the original. optimized: threads → seconds of a run of the result.
        run_original, run_optimized: run once more; seconds.
        min_gain: share of the time that has to be saved. patience: seconds after which no further run is started.
        certain: of `beyond_doubt`: the runs that there are tell enough.

    Returns:
        The numbers of the fastest runs. `pays` takes the fastest runs, and where several were needed the medians, to
        save `min_gain`; between numbers of threads that are equally fast it is the smallest.
    """
    began = time.monotonic()
    before = [original] if certain else [original, run_original()]
    after = {threads: [seconds] for threads, seconds in sorted(optimized.items())}
    for turn in range(0 if certain else ROUNDS):
        best = min(min(runs) for runs in after.values())
        if not CLEAR * min(before) < best < HOPELESS * min(before) or time.monotonic() - began > patience:
            break
        if turn and best >= min(before):  # twice there was no gain
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
