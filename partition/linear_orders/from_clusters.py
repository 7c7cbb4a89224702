"""From a partition to an order: blocks in a good sequence, data and jobs in a good order inside each."""

from __future__ import annotations

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.partition.datastructures.radix_sort import Keys, radix_order, stable_order
from tracecut.partition.datastructures.typed_views import Words, longs, ranks, words
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .cuthill_mckee import walk
from .simple import keep_spaces

DATA_PER_BLOCK = 8192  # 256 to 512 KiB of data at 32 to 64 bytes each: half of a common second-level cache
MAX_BLOCKS = 1024


def default_blocks(graph: LocalityGraph) -> int:
    """Number of blocks when the caller has no reason for another: one per 8192 data, from 1 to 1024."""
    return max(1, min(MAX_BLOCKS, graph.n_data // DATA_PER_BLOCK))


def order_clusters(graph: LocalityGraph, clustering: Clustering) -> Ordering:
    """An order that runs the clusters of a job partition one after the other.

    1. The clusters are put in reverse Cuthill-McKee order of their quotient graph (joined where a datum is touched
       by both), so that neighbouring clusters follow each other and share what is still cached.
    2. A datum lies with the first cluster, in that sequence, that touches it.
    3. Inside a cluster, data are in reverse Cuthill-McKee order of the graph restricted to the cluster.
    4. Jobs of a cluster are sorted by the lowest place of their data inside the cluster's own range, then by the
       highest place of any; a job all of whose data lie with earlier clusters comes first, by its highest place.

    Args:
        graph: the locality graph.
        clustering: a partition of its jobs (`kind="jobs"`).

    Returns:
        An Ordering whose blocks are the clusters in their new sequence, empty ones last; index spaces keep their
        ranges. O(pins + data).

    Raises:
        ArgumentError: the clustering is of data, or not of this graph.

    Source: job swapping and data reordering of SPAC §4; the order inside and of the blocks is ours.
    """
    if clustering.kind != "jobs" or clustering.labels.size != graph.n_jobs:
        raise ArgumentError(
            f"a clustering of {clustering.labels.size} {clustering.kind} was given for {graph.n_jobs} jobs",
            hint="tracecut.partition(graph, k) makes one of the jobs.",
        )
    k = clustering.k
    starts, near = graph.transpose
    blocks = clustering.labels
    sequence = order_blocks(starts, words(blocks)[words(near)], k)
    block = ranks(sequence)[blocks]
    home = _first_blocks(longs(starts), words(near), words(block), k)
    walked = walk(graph, words(home))
    bits = graph.n_data.bit_length()
    keys = _block_keys(longs(graph.offsets), words(graph.data), words(ranks(walked)), words(home), words(block), bits)
    jobs = radix_order(keys, 2 * bits)
    jobs = jobs[stable_order(block[jobs])]
    sizes = np.bincount(block, minlength=k)
    return Ordering(
        jobs.view(np.int32),
        keep_spaces(walked, graph.space_offsets),
        clustering.method,
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
    )


def order_blocks(offsets: Longs, labels: Words, k: int) -> Words:
    """The clusters in reverse Cuthill-McKee order of their quotient graph; empty clusters last.

    Args:
        offsets: int64 (rows + 1); a row joins all clusters it holds.
        labels: uint32 (offsets[-1]), the cluster of each entry.
        k: number of clusters.

    Returns:
        uint32 (k), `result[new] = old`. O(entries + k).
    """
    lengths, pins = _distinct(longs(offsets), words(labels), k)
    rows = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    quotient = LocalityGraph(rows, pins.view(np.int32), k)
    return walk(quotient, limit=quotient.n_pins)  # a few clusters share all rows: none of them is a hub


@kept
def _distinct(offsets: Longs, labels: Words, k: int) -> tuple[Longs, Words]:
    """Each row without repeated labels: lengths of the rows, and the labels one row after the other.

    Of rows with one label only the first per label is kept, which is enough to know that its cluster is used.
    """
    lengths = np.empty(offsets.size - 1, np.int64)
    kept = np.empty(labels.size, np.uint32)
    seen = np.full(k, -1, np.int64)
    used = np.zeros(k, np.bool_)
    rows = count = 0
    for row in range(offsets.size - 1):
        first = count
        for i in range(offsets[row], offsets[row + 1]):
            if seen[labels[i]] != row:
                seen[labels[i]] = row
                kept[count] = labels[i]
                count += 1
        if count == first or (count == first + 1 and used[kept[first]]):
            count = first
            continue
        for i in range(first, count):
            used[kept[i]] = True
        lengths[rows] = count - first
        rows += 1
    return lengths[:rows].copy(), kept[:count].copy()


@kept
def _first_blocks(starts: Longs, near: Words, block: Words, k: int) -> Words:
    """Lowest block that touches each datum; k for untouched data."""
    home = np.empty(starts.size - 1, np.uint32)
    for datum in range(home.size):
        lowest = np.uint32(k)
        for i in range(starts[datum], starts[datum + 1]):
            lowest = min(lowest, block[near[i]])
        home[datum] = lowest
    return home


@kept
def _block_keys(offsets: Longs, data: Words, rank: Words, home: Words, block: Words, bits: int) -> Keys:
    """(lowest rank among the data of the job's own block, highest rank of all) of each job."""
    jobs = offsets.size - 1
    keys = np.empty(jobs, np.uint64)
    shift = np.uint64(bits)
    for job in range(jobs):
        low, high = np.uint32(rank.size), np.uint32(0)
        for pin in range(offsets[job], offsets[job + 1]):
            place = rank[data[pin]]
            if home[data[pin]] == block[job]:
                low = min(low, place)
            high = max(high, place)
        if low == rank.size and offsets[job] < offsets[job + 1]:
            low = np.uint32(0)
        keys[job] = (np.uint64(low) << shift) | np.uint64(high)
    return keys
