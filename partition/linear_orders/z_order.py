"""Jobs along the Z-curve of the places of their data.

Sorted by (lowest, highest) datum, consecutive jobs update the same datum, and each update waits for the previous one
(store forwarding). If a datum has many jobs, that costs more time than the caches save. Along the curve both data
change from job to job, while runs of any length still touch few distinct data.
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.partition.datastructures.radix_sort import Keys, radix_order, stable_order
from tracecut.partition.datastructures.typed_views import Words, longs, ranks, words
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import compiled

from .simple import space_of


def z_order(graph: LocalityGraph, data: Ints) -> Ints:
    """Jobs along the Z-curve, given an order of the data that keeps the index spaces apart.

    A job of two data in two spaces takes their places in id order as its coordinates (a non-zero: row and column,
    say); any other job takes the lowest and the highest place of its data, each counted inside its own space.
    Ties keep the old order; jobs without data run last.

    Args:
        graph: the locality graph. data: int32 permutation, `data[new] = old`.

    Returns:
        int32 permutation of the jobs, `result[new] = old`. O(pins + data + jobs · log data).

    Source: Morton 1966.
    """
    spaces = space_of(graph.space_offsets)
    place = ranks(data) - graph.space_offsets[spaces].astype(np.uint32)
    bits = graph.n_data.bit_length()
    keys = _z_keys(longs(graph.offsets), words(graph.data), words(place), words(spaces), bits)
    return radix_order(keys, 2 * bits).view(np.int32)


def along_z(graph: LocalityGraph, ordering: Ordering) -> Ordering:
    """The same order of data and of blocks, with the jobs of each block along the Z-curve. Cost as of `z_order`."""
    jobs = z_order(graph, ordering.data)
    if ordering.blocks.size > 2:
        block = np.empty(graph.n_jobs, np.int32)
        sizes = np.diff(ordering.blocks)
        block[ordering.jobs] = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
        jobs = jobs[stable_order(block[jobs])]
    return Ordering(jobs, ordering.data, f"{ordering.method}+z", ordering.blocks)


@compiled(cache=True, nogil=True)
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


@compiled(cache=True, nogil=True)
def _spread(value: np.uint32) -> np.uint64:
    """Bit i of a 32-bit value moved to bit 2i."""
    x = np.uint64(value)
    x = (x | (x << np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    x = (x | (x << np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    x = (x | (x << np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x << np.uint64(2))) & np.uint64(0x3333333333333333)
    return (x | (x << np.uint64(1))) & np.uint64(0x5555555555555555)
