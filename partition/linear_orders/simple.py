"""Linear orders that do not use neighbours: original, first touch, random. Also helpers of all orders."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.partition.datastructures.radix_sort import stable_order
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import compiled


def original_order(graph: LocalityGraph) -> Ordering:
    """The original order, with which all others are compared. O(jobs + data)."""
    jobs = np.arange(graph.n_jobs, dtype=np.int32)
    return Ordering(jobs, np.arange(graph.n_data, dtype=np.int32), "original")


def first_touch_order(graph: LocalityGraph) -> Ordering:
    """Jobs as given, data numbered by the first job that touches them; untouched data last. O(pins + data)."""
    jobs = np.arange(graph.n_jobs, dtype=np.int32)
    touched = _first_touched(words(graph.data), graph.n_data)
    return Ordering(jobs, keep_spaces(touched, graph.space_offsets), "first-touch")


def random_order(graph: LocalityGraph, *, seed: int = 0) -> Ordering:
    """Jobs at random, data at random inside each index space: the worst case to measure against. O(jobs + data)."""
    draw = np.random.default_rng(seed)
    jobs = draw.permutation(graph.n_jobs).astype(np.int32)
    data = draw.permutation(graph.n_data).astype(np.uint32)
    return Ordering(jobs, keep_spaces(data, graph.space_offsets), "random")


def keep_spaces(order: Words, space_offsets: Longs) -> Ints:
    """The same relative order inside each index space, the spaces one after the other as before.

    Args:
        order: uint32 (data), a permutation of all data.
        space_offsets: int64 (spaces + 1), as in `LocalityGraph`.

    Returns:
        int32 (data): position p of the result and the datum there lie in the same space. O(data).
    """
    if space_offsets.size > 2:
        order = order[stable_order(space_of(space_offsets)[order])]
    return order.view(np.int32)


def space_of(space_offsets: Longs) -> Words:
    """Index space of each datum, uint32 (data)."""
    sizes = np.diff(space_offsets)
    return np.repeat(np.arange(sizes.size, dtype=np.uint32), sizes)


@compiled(cache=True, nogil=True)
def _first_touched(pins: Words, n_data: int) -> Words:
    """All data by their first place in `pins`; those that never stand there come last, in their old order."""
    order = np.empty(n_data, np.uint32)
    seen = np.zeros(n_data, np.bool_)
    count = 0
    for v in pins:
        if not seen[v]:
            seen[v] = True
            order[count] = v
            count += 1
    for v in range(n_data):
        if not seen[v]:
            order[count] = v
            count += 1
    return order
