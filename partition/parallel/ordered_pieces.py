"""Work in pieces for threads inside one kernel, some of it in the order of the pieces, as soon as each is ready.

`Crew.each` hands work over in some 50 microseconds a call, `lockstep` in about one. What must be done piece after piece
is done by the first thread while the others are still at later pieces; so it costs no time as long as it is less than
its share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from tracecut.support.arrays import Longs

from .barrier import BROKEN, add, look, passed
from .thread_pool import Crew

NEXT, READY = 32, 40  # places behind those of the gate itself; what lies between is free
MOST = 32  # pieces


def side_by_side(crew: Crew, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """`function(*arguments, own, rank, parties)` on each thread of the crew, `own` a gate; what rank 0 returned.

    Every rank must come to the same calls of `meet`, at least one: until all ranks are there, none goes on.
    """
    own = np.zeros(READY + MOST, np.int64)
    if crew.threads == 1:
        return function(*arguments, own, 0, 1)

    def enter(rank: int) -> Any:
        try:
            return function(*arguments, own, rank, crew.threads)
        except BaseException:
            own[BROKEN] = 1
            raise

    try:
        return crew.each(enter, [(rank,) for rank in range(crew.threads)])[0]
    except BaseException:
        own[BROKEN] = 1  # also where a thread could not be started, and others wait for it
        raise


@njit(cache=True, nogil=True)
def restart(own: Longs) -> None:
    """No piece is taken and none is ready; for one thread, while the others wait in `meet`."""
    own[NEXT] = 0
    own[READY:] = 0


@njit(cache=True, nogil=True)
def piece(own: Longs) -> int:
    """The next piece, from 0, that nobody took."""
    return int(add(own, NEXT, 1))


@njit(cache=True, nogil=True)
def finish(own: Longs, i: int, value: int) -> None:
    """Piece i is ready, with a value of at least 0 for who waits for it."""
    add(own, READY + i, value + 1)


@njit(cache=True, nogil=True)
def ready(own: Longs, i: int) -> int:
    """The value of piece i, -1 while it is not ready."""
    return int(look(own, READY + i) - 1)


@njit(cache=True, nogil=True)
def wait(own: Longs, i: int) -> int:
    """The value of piece i as soon as it is ready; -1 when a thread failed."""
    return ready(own, i) if passed(own, READY + i, 0) else -1


@njit(cache=True, nogil=True)
def parts(items: int, least: int, most: int) -> int:
    """The number of pieces, 1 to `most`, of `items` with `least` each."""
    return max(1, min(most, items // least))


@njit(cache=True, nogil=True)
def span(items: int, i: int, pieces: int) -> tuple[int, int]:
    """Piece i of `items` in so many of nearly equal length."""
    return items * i // pieces, items * (i + 1) // pieces


@njit(cache=True, nogil=True)
def row_range(begins: Longs, entries: int, i: int, pieces: int) -> tuple[int, int]:
    """Piece i of rows that begin there, in so many pieces of nearly equal numbers of entries."""
    first, last = 0, begins.size
    if i > 0:
        first = int(np.searchsorted(begins, begins[0] + entries * i // pieces))
    if i + 1 < pieces:
        last = int(np.searchsorted(begins, begins[0] + entries * (i + 1) // pieces))
    return first, last
