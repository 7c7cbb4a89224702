"""Wheels: lists of what is due in each of the next WHEEL cycles, of numbers that stand for nodes, messages or requests.

A list is made of pieces of a cache line each, so that what its numbers stand for is loaded side by side, not one after
the other as in a chain. What is due later than that stays in its list for as many more **turns** of the wheel, which
stand in its row, in column TURNS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.support.arrays import Ints

WHEEL = 1 << 12  # cycles
NONE = -1
ABOVE, FILLED, FIRST = range(3)  # columns of a piece: the piece before it in its list, how many numbers it has; those
PIECE = 16
TURNS = 1
IDLE = 256  # cycles without anything, after which it is worth looking for the next one
FREE, USED = WHEEL, WHEEL + 1  # behind the heads: a list of free pieces, and how many were ever used


@njit(nogil=True)
def empty_wheel(most: int) -> tuple[Ints, Ints]:
    """Heads of empty lists, and pieces for up to `most` numbers at a time, whose memory is taken as they are used."""
    heads = np.full(WHEEL + 2, NONE, np.int32)
    heads[USED] = 0
    return heads, np.empty((most // (PIECE - FIRST) + WHEEL + 1, PIECE), np.int32)


@njit(nogil=True)
def put(heads: Ints, pieces: Ints, due: Any, number: Any) -> None:
    """Append a number to the list of cycle `due`.

    Both arrays are used last where all ways meet: Numba takes no reference then, which would cost more than the rest.
    """
    spot = np.uint64(due) & np.uint64(WHEEL - 1)
    piece: Any = np.int64(heads[spot])
    if piece == NONE or pieces[piece, FILLED] == PIECE - FIRST:
        new: Any = np.int64(heads[FREE])
        if new == NONE:
            new = np.int64(heads[USED])
            heads[USED] += 1
        else:
            heads[FREE] = pieces[new, ABOVE]
        pieces[new, ABOVE], pieces[new, FILLED] = piece, 0
        piece = new
    filled = pieces[piece, FILLED]
    pieces[piece, FIRST + filled] = number
    pieces[piece, FILLED] = filled + 1
    heads[spot] = piece


@njit(nogil=True)
def take(heads: Ints, pieces: Ints, now: Any, found: Ints) -> Any:
    """Move the list of cycle `now` to `found`, int32; its length. The caller puts back what has turns to wait."""
    spot = now & (WHEEL - 1)
    piece, count = heads[spot], 0
    heads[spot] = NONE
    while piece != NONE:
        for place in range(FIRST, FIRST + pieces[piece, FILLED]):
            found[count] = pieces[piece, place]
            count += 1
        above = pieces[piece, ABOVE]
        pieces[piece, ABOVE], heads[FREE] = heads[FREE], piece
        piece = above
    return count


@njit(nogil=True)
def turns(delay: Any) -> Any:
    """Of what is put into the list of a cycle that many cycles after the present one, at least one."""
    return (delay - 1) // WHEEL


@njit(nogil=True)
def soonest(heads: Ints, pieces: Ints, rows: Ints, now: Any, least: Any) -> Any:
    """The first cycle from `now` on in which something is due, or `least`. `rows`: int32 (numbers, columns)."""
    for spot in range(WHEEL):
        piece = heads[spot]
        while piece != NONE:
            for place in range(FIRST, FIRST + pieces[piece, FILLED]):
                turns_left = np.int64(rows[pieces[piece, place], TURNS])
                least = min(least, now + ((spot - now) & (WHEEL - 1)) + turns_left * WHEEL)
            piece = pieces[piece, ABOVE]
    return least


@njit(nogil=True)
def leave_out(heads: Ints, pieces: Ints, rows: Ints, now: Any, until: Any) -> None:
    """Take the turns of the cycles from `now` to `until`, which is left in, from all that wait in a wheel."""
    for spot in range(WHEEL):
        piece = heads[spot]
        ahead = (spot - now) & (WHEEL - 1)
        while piece != NONE:
            for place in range(FIRST, FIRST + pieces[piece, FILLED]):
                rows[pieces[piece, place], TURNS] -= (until - now - ahead + WHEEL - 1) // WHEEL
            piece = pieces[piece, ABOVE]
