"""A heap of vertices by gain whose entries can be changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept


class Heap(NamedTuple):
    """Attributes:
    vertices: uint32 (n), a binary heap by gain, the largest first.
    places: uint32 (n), where each vertex stands, NONE where it does not.
    gains: int64 (n), of each vertex.
    size: int64 (1).
    """

    vertices: Words
    places: Words
    gains: Longs
    size: Longs


@kept
def heap_of(n: int) -> Heap:
    """An empty heap for n vertices."""
    return Heap(np.empty(n, np.uint32), np.full(n, NONE, np.uint32), np.zeros(n, np.int64), np.zeros(1, np.int64))


@kept
def put(found: Heap, v: np.uint32, gain: np.int64) -> None:
    """Puts a vertex in, or changes its gain. O(log n)."""
    place = np.int64(found.places[v])
    if found.places[v] == NONE:
        place = found.size[0]
        found.size[0] += 1
        found.gains[v] = gain
        _up(found, place, v)
    elif gain >= found.gains[v]:
        found.gains[v] = gain
        _up(found, place, v)
    else:
        found.gains[v] = gain
        _down(found, place, v)


@kept
def take(found: Heap, v: np.uint32) -> None:
    """Takes a vertex out, if it stands in it. O(log n)."""
    if found.places[v] == NONE:
        return
    place = np.int64(found.places[v])
    found.places[v] = NONE
    found.size[0] -= 1
    last = found.vertices[found.size[0]]
    if last != v:
        if place > 0 and found.gains[last] > found.gains[found.vertices[(place - 1) >> 1]]:
            _up(found, place, last)
        else:
            _down(found, place, last)


@kept
def _up(found: Heap, place: Any, v: np.uint32) -> None:
    vertices, places, gains, _ = found
    while place > 0:
        above = (place - 1) >> 1
        if gains[vertices[above]] >= gains[v]:
            break
        vertices[place] = vertices[above]
        places[vertices[place]] = place
        place = above
    vertices[place] = v
    places[v] = place


@kept
def _down(found: Heap, place: Any, v: np.uint32) -> None:
    vertices, places, gains, size = found
    while True:
        below = 2 * place + 1
        if below >= size[0]:
            break
        if below + 1 < size[0] and gains[vertices[below + 1]] > gains[vertices[below]]:
            below += 1
        if gains[vertices[below]] <= gains[v]:
            break
        vertices[place] = vertices[below]
        places[vertices[place]] = place
        place = below
    vertices[place] = v
    places[v] = place
