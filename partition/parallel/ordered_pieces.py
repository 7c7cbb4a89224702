"""Pieces of work for threads inside one kernel, with a sequential part that follows in the order of the pieces.

`ThreadPool.each` hands work over in some 50 microseconds a call, a barrier in about one. The sequential part is
done by the first thread while the others work on later pieces; it takes no extra time as long as it is less than the
thread's share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

from .barrier import BROKEN, add, look, passed
from .thread_pool import ThreadPool

NEXT, READY = 32, 40  # places behind those of the barrier itself; what lies between is free
MOST = 32  # pieces


def side_by_side(pool: ThreadPool, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """`function(*arguments, barrier, rank, n_threads)` on each thread of the pool; returns what rank 0 did.

    Every rank must come to the same calls of `wait_all`, at least one: until all ranks are there, none goes on.
    """
    barrier = np.zeros(READY + MOST, np.int64)
    if pool.threads == 1:
        return function(*arguments, barrier, 0, 1)

    def enter(rank: int) -> Any:
        try:
            return function(*arguments, barrier, rank, pool.threads)
        except BaseException:
            barrier[BROKEN] = 1
            raise

    try:
        return pool.each(enter, [(rank,) for rank in range(pool.threads)])[0]
    except BaseException:
        barrier[BROKEN] = 1  # also where a thread could not be started, and others wait for it
        raise


@kept
def restart(barrier: Longs) -> None:
    """No piece is taken and none is ready; for one thread, while the others wait in `wait_all`."""
    barrier[NEXT] = 0
    barrier[READY:] = 0


@kept
def piece(barrier: Longs) -> int:
    """The next piece, from 0, that no thread has taken."""
    return int(add(barrier, NEXT, 1))


@kept
def finish(barrier: Longs, i: int, value: int) -> None:
    """Piece i is ready, with a value of at least 0 for the thread that waits for it."""
    add(barrier, READY + i, value + 1)


@kept
def ready(barrier: Longs, i: int) -> int:
    """The value of piece i, -1 while it is not ready."""
    return int(look(barrier, READY + i) - 1)


@kept
def wait(barrier: Longs, i: int) -> int:
    """The value of piece i as soon as it is ready; -1 when a thread failed."""
    return ready(barrier, i) if passed(barrier, READY + i, 0) else -1


@kept
def parts(items: int, least: int, most: int) -> int:
    """The number of pieces, 1 to `most`, of `items` with `least` each."""
    return max(1, min(most, items // least))


@kept
def span(items: int, i: int, pieces: int) -> tuple[int, int]:
    """Piece i of `items`, divided into pieces of nearly equal length."""
    return items * i // pieces, items * (i + 1) // pieces


@kept
def row_range(begins: Longs, entries: int, i: int, pieces: int) -> tuple[int, int]:
    """Piece i of rows with these begins, divided into pieces of nearly equal numbers of entries."""
    first, last = 0, begins.size
    if i > 0:
        first = int(np.searchsorted(begins, begins[0] + entries * i // pieces))
    if i + 1 < pieces:
        last = int(np.searchsorted(begins, begins[0] + entries * (i + 1) // pieces))
    return first, last
