"""Messages on the network: a row each while they are there, so that what moves in a cycle lies close together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.ir.machine.routes import Routes, route
from tracecut.support.arrays import Ints, Longs

# Columns of a row: what it carries (group of a value; −1 − i of request i), next row in the same list, node where it is
# (THERE: behind its last link), links left along x and y, with sign. Off meshes: node that it left, goal, links taken.
CARRIES, NEXT, AT, ACROSS, ALONG = range(5)
COLUMNS = 5
THERE = -1
NONE = -1
REQUEST = np.int64(1) << 62  # in front of the order of requests and lines, which follow the values
ROW = 31  # bits of a row's number in an order
MASK = (1 << ROW) - 1


@njit(nogil=True, inline="always")
def set_out(rows: Ints, row: Any, width: Any, a: Any, b: Any) -> None:
    """A message leaves node a for node b, which is another one. `width`: of a mesh, 0 for other networks."""
    if width:
        rows[row, AT], rows[row, ACROSS], rows[row, ALONG] = a, b % width - a % width, b // width - a // width
    else:
        rows[row, AT], rows[row, ACROSS], rows[row, ALONG] = a, b, 0


@njit(nogil=True, inline="always")
def along_mesh(rows: Ints, row: Any, width: Any) -> Any:
    """The next link of a message, as `network.route` numbers it, and whether it is the last; it is behind it then."""
    at, across, along = np.int64(rows[row, AT]), np.int64(rows[row, ACROSS]), np.int64(rows[row, ALONG])
    if across != 0:
        back = np.int64(across < 0)
        link, move = 4 * at + back, 1 - 2 * back
        across, at = across - move, at + move
        rows[row, ACROSS] = across
    else:
        back = np.int64(along < 0)
        link, move = 4 * at + 2 + back, 1 - 2 * back
        along, at = along - move, at + move * width
        rows[row, ALONG] = along
    last = across | along == 0
    rows[row, AT] = THERE if last else at
    return link, last


@njit(nogil=True)
def along_route(rows: Ints, row: Any, routes: Routes, path: Longs) -> Any:
    """The same on another network."""
    length = route(routes, rows[row, AT], rows[row, ACROSS], path)
    link = path[rows[row, ALONG]]
    rows[row, ALONG] += 1
    last = rows[row, ALONG] == length
    if last:
        rows[row, AT] = THERE
    return link, last
