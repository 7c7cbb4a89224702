"""Degree sort and Z-order: a linear-time order for graphs with hubs."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Longs
from ..ir.graph import LocalityGraph
from ..ir.ordering import Ordering
from .linear import keep_spaces, space_of
from .sorting import Keys, radix_order, stable_order
from .views import Words, longs, ranks, words


def degree_z_order(graph: LocalityGraph) -> Ordering:
    """Data by falling degree, jobs along the Z-curve of their two data's places.

    Hot data share cache lines at the front of their space, and a run of jobs of any length touches few distinct
    data on both sides, so no block size has to be known (power-law graphs; on meshes nearly as bad as random).

    A job of two data in two spaces takes their places in id order as its coordinates (a non-zero: row and column,
    say); any other job takes the lowest and the highest place of its data, each counted inside its own space.
    Ties keep the old order; jobs without data run last, untouched data stand last.

    Returns:
        An Ordering with one block. O(pins + data + jobs · log data).

    Source: columns sorted by length as in TileSpMV §3; curve of Morton 1966.
    """
    degree = graph.degrees()
    falling = stable_order(degree.max(initial=0) - degree).view(np.uint32)
    data = keep_spaces(falling, graph.space_offsets)
    spaces = space_of(graph.space_offsets)
    place = ranks(data) - graph.space_offsets[spaces].astype(np.uint32)
    bits = graph.n_data.bit_length()
    keys = _z_keys(longs(graph.offsets), words(graph.data), words(place), words(spaces), bits)
    return Ordering(radix_order(keys, 2 * bits).view(np.int32), data, "degree-z")


@njit(cache=True, nogil=True)
def _z_keys(offsets: Longs, data: Words, place: Words, spaces: Words, bits: int) -> Keys:
    jobs = offsets.size - 1
    keys = np.empty(jobs, np.uint64)
    last = np.uint32((1 << bits) - 1)
    for job in range(jobs):
        begin, end = offsets[job], offsets[job + 1]
        if begin == end:
            low, high = last, last
        else:
            low = high = place[data[begin]]
            for pin in range(begin + 1, end):
                low = min(low, place[data[pin]])
                high = max(high, place[data[pin]])
            if end - begin == 2 and spaces[data[begin]] != spaces[data[begin + 1]]:
                low = place[min(data[begin], data[begin + 1])]
                high = place[max(data[begin], data[begin + 1])]
        keys[job] = (_spread(high) << np.uint64(1)) | _spread(low)
    return keys


@njit(cache=True, nogil=True)
def _spread(value: np.uint32) -> np.uint64:
    """Bit i of a 32-bit value moved to bit 2i."""
    x = np.uint64(value)
    x = (x | (x << np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    x = (x | (x << np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    x = (x | (x << np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x << np.uint64(2))) & np.uint64(0x3333333333333333)
    return (x | (x << np.uint64(1))) & np.uint64(0x5555555555555555)
