"""Messages on the network: a row each while they are there, so that what moves in a cycle lies close together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.ir.machine.routes import Routes, route
from tracecut.support.arrays import Ints, Longs

# Columns of a row: what it carries (group of a value; −1 − i of request i), next row in the same list, node where it is
# (THERE: behind its last link), links left along x and y, with sign. Off meshes: node that it left, goal, links taken.
# Then its next link, its place in the order of its kind, and whether it is a line.
CARRIES, NEXT, AT, ACROSS, ALONG, LINK, ORDER, IS_LINE = range(8)
COLUMNS = 8
# Columns of a link: when it is free; 2 · the cycle in which it was wanted last, and 1 if by several; words, lines.
FREE, WANTED, WORDS, LINES = range(4)
THERE = -1
NONE = -1
REQUEST = np.int64(1) << 62  # in front of the order of requests and lines, which follow the values
ROW = 31  # bits of a row's number in an order
MASK = (1 << ROW) - 1


@njit(nogil=True, inline="always")
def set_out(rows: Ints, row: Any, width: Any, a: Any, b: Any, order: Any, is_line: Any) -> None:
    """A message leaves node a for node b, which is another one. `width`: of a mesh, 0 for other networks."""
    rows[row, ORDER], rows[row, IS_LINE] = order, is_line
    if width:
        rows[row, AT], rows[row, ACROSS], rows[row, ALONG] = a, b % width - a % width, b // width - a // width
    else:
        rows[row, AT], rows[row, ACROSS], rows[row, ALONG] = a, b, 0


@njit(nogil=True, inline="always")
def along_mesh(rows: Ints, row: Any, width: Any) -> Any:
    """The next link of a message, as `network.route` numbers it; it is THERE behind the last one."""
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
    rows[row, AT] = at if across | along else THERE
    return link


@njit(nogil=True)
def along_route(rows: Ints, row: Any, routes: Routes, path: Longs) -> Any:
    """The same on another network."""
    length = route(routes, rows[row, AT], rows[row, ACROSS], path)
    link = path[rows[row, ALONG]]
    rows[row, ALONG] += 1
    if rows[row, ALONG] == length:
        rows[row, AT] = THERE
    return link


@njit(nogil=True)
def in_turn(
    moving: Longs, count: Any, links: Longs, rows: Ints, now: Any, width: Any, routes: Routes, path: Longs
) -> None:
    """Each message steps to its next link; those that want the same one come last, in their order.

    `moving`: int64, orders and rows of `count` messages. Only those that meet at a link need an order.
    """
    several = False
    for turn in range(count):
        row = np.int32(moving[turn] & MASK)
        link = along_mesh(rows, row, width) if width else along_route(rows, row, routes, path)
        rows[row, LINK] = link
        if links[link, WANTED] >> 1 == now:
            links[link, WANTED] |= 1
            several = True
        else:
            links[link, WANTED] = now << 1
    if not several:
        return
    alone = 0
    for turn in range(count):
        one = moving[turn]
        if links[rows[one & MASK, LINK], WANTED] & 1 == 0:
            moving[turn], moving[alone] = moving[alone], one
            alone += 1
    moving[alone:count].sort()
