"""Messages on the network: a row each while they are there, so that what moves in a cycle lies close together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.ir.machine.routes import MESH, Routes, route
from tracecut.support.arrays import Ints, Longs

# Columns of a row: what it carries (group of a value; −1 − i of request i), next row in the same list, node where it is
# (THERE: behind its last link), links left along x and y, with sign. Off meshes: node that it left, goal, links taken.
CARRIES, NEXT, AT, ACROSS, ALONG = range(5)
THERE = -1
NONE = -1
FIRST_ROWS = 1024
REQUEST = np.int64(1) << 62  # in front of the order of requests and lines, which follow the values
ROW = 31  # bits of a row's number in an order
MASK = (1 << ROW) - 1


@njit(cache=True, nogil=True)
def rows_of(count: int, old: Ints) -> Ints:
    """So many rows, the first of them the old ones; the others are free, in one list."""
    rows = np.empty((count, 5), np.int32)
    rows[: old.shape[0]] = old
    for row in range(old.shape[0], count):
        rows[row, NEXT] = row + 1 if row + 1 < count else NONE
    return rows


@njit(cache=True, nogil=True)
def longer(array: Longs) -> Longs:
    """Twice as long, the first half the same."""
    found = np.empty(2 * array.size, np.int64)
    found[: array.size] = array
    return found


@njit(nogil=True, inline="always")
def set_out(rows: Ints, row: Any, routes: Routes, a: Any, b: Any) -> None:
    """A message leaves node a for node b, which is another one."""
    rows[row, AT], rows[row, ACROSS], rows[row, ALONG] = a, b, 0
    if routes.shape[0] == MESH:
        width = routes.shape[2]
        rows[row, ACROSS], rows[row, ALONG] = b % width - a % width, b // width - a // width


@njit(nogil=True, inline="always")
def take_link(rows: Ints, row: Any, routes: Routes, path: Longs) -> Any:
    """The next link of a message, as `network.route` numbers it, and whether it is the last; it is behind it then."""
    at, across, along = rows[row, AT], rows[row, ACROSS], rows[row, ALONG]
    if routes.shape[0] == MESH:
        link = 4 * np.int64(at)
        if across > 0:
            across, at = across - 1, at + 1
        elif across < 0:
            link, across, at = link + 1, across + 1, at - 1
        elif along > 0:
            link, along, at = link + 2, along - 1, at + np.int32(routes.shape[2])
        else:
            link, along, at = link + 3, along + 1, at - np.int32(routes.shape[2])
        rows[row, ACROSS] = across
        last = across == 0 and along == 0
    else:
        length = route(routes, at, across, path)
        link = path[along]
        along += 1
        last = along == length
    rows[row, ALONG], rows[row, AT] = along, THERE if last else at
    return link, last
