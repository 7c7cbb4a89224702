"""Placement of jobs by hash."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.shuffle import mixed
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept

from .stream_pins import count_pins


def dbh(graph: LocalityGraph, k: int, *, seed: int = 0) -> Ints:
    """Degree-based hashing: each job goes to the cluster given by the hash of its datum of lowest degree. Labels, int32
    (jobs).

    Jobs of one low-degree datum stay together, hubs are cut. Ties take the first datum of the job; a job without data
    is hashed by its own number. Loads are balanced only in expectation. O(pins).

    Source: Xie et al. 2014, the paper that VertexCut cites for Libra.
    """
    degree = count_pins(words(graph.data), graph.n_data)
    labels = _hash_jobs(longs(graph.offsets), words(graph.data), words(degree), np.uint64(k), np.uint64(seed))
    return labels.view(np.int32)


@kept
def _hash_jobs(offsets: Longs, data: Words, degree: Words, k: np.uint64, seed: np.uint64) -> Words:
    labels = np.empty(offsets.size - 1, np.uint32)
    for job in range(labels.size):
        item, low = np.uint64(job), np.uint32(0xFFFFFFFF)
        for pin in range(offsets[job], offsets[job + 1]):
            if degree[data[pin]] < low:
                low = degree[data[pin]]
                item = np.uint64(data[pin])
        labels[job] = mixed(item + (seed << np.uint64(32))) % k
    return labels
