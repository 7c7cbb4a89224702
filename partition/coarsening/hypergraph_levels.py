"""The hypergraphs of a multilevel hierarchy: nodes are groups of jobs, nets are data that several groups share."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.bit_operations import prefetch_row
from tracecut.partition.datastructures.integer_weights import copy_costs
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.gather import gathered
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

NONE = np.uint32(0xFFFFFFFF)
LONELY = np.uint32(0xFFFFFFFE)  # instead of a number: a datum of one job
NUMBER, LAST = range(2)
SOON = 16  # jobs between asking for a row of offsets or data and reading it
AHEAD = 4  # data of a job that are asked for
FLIPPED = 4  # pieces of rows that are transposed side by side, at most
LINE = np.uint64(0)


class Level(NamedTuple):
    """A hypergraph whose nodes are groups of jobs and whose nets are data, or data with equal pins.

    Kernels take it as one argument.

    Attributes:
        node_offsets, node_nets: int64 (nodes + 1), uint32: the nets of each node, each once.
        net_offsets, net_nodes: int64 (nets + 1), uint32: the nodes of each net, each once, two at least.
        node_weights: float64 (nodes), the load.
        net_weights: int32 (nets), what it costs to copy the data that a net stands for: 1 each without weights.
    """

    node_offsets: Longs
    node_nets: Words
    net_offsets: Longs
    net_nodes: Words
    node_weights: Floats
    net_weights: Ints

    @property
    def n_nodes(self) -> int:
        return self.node_weights.size

    @property
    def n_nets(self) -> int:
        return self.net_weights.size


def make_level(
    net_offsets: Longs, net_nodes: Words, node_weights: Floats, net_weights: Ints, pool: ThreadPool | None = None
) -> Level:
    """A level out of its nets; O(pins + nodes + nets)."""
    node_offsets, node_nets = _flipped(longs(net_offsets), words(net_nodes), node_weights.size, pool)
    return Level(
        longs(node_offsets), words(node_nets), longs(net_offsets), words(net_nodes), floats(node_weights),
        _whole(net_weights),
    )  # fmt: skip


def finest_level(
    graph: LocalityGraph, weights: Floats, order: Ints | None = None, pool: ThreadPool | None = None
) -> Level:
    """The jobs of a graph as nodes, its data as nets; data of one job, which can never be copied, are left out, as are
    those of which copies cost nothing.

    `weights` is float64 (jobs). Node i is job `order[i]`, int32 (jobs), or job i; nets are numbered as the nodes meet
    them, so that an order of good locality makes a level of good locality. O(pins).
    """
    starts, near = graph.transpose
    jobs = np.arange(graph.n_jobs, dtype=np.uint32) if order is None else order
    node_offsets, node_nets, net_weights = _renumber(
        longs(graph.offsets), words(graph.data), longs(starts), words(near), words(jobs), longs(copy_costs(graph))
    )
    net_offsets, net_nodes = _flipped(longs(node_offsets), words(node_nets), net_weights.size, pool)
    loads = weights[jobs] if pool is None else gathered(weights, words(jobs), pool)
    return Level(
        longs(node_offsets), words(node_nets), longs(net_offsets), words(net_nodes), floats(loads),
        _whole(net_weights),
    )  # fmt: skip


def part_level(level: Level, labels: Words, label: int) -> tuple[Level, Words]:
    """The nodes with one label and what their nets keep of two pins and more; and these nodes, uint32. O(pins)."""
    nodes = np.flatnonzero(labels == label).astype(np.uint32)
    places = np.full(level.n_nodes, NONE, np.uint32)
    places[nodes] = np.arange(nodes.size, dtype=np.uint32)
    net_offsets, net_nodes, net_weights = _part_nets(
        level.net_offsets, level.net_nodes, level.net_weights, words(places)
    )
    return make_level(net_offsets, net_nodes, level.node_weights[nodes], net_weights), nodes


def _whole(values: Ints) -> Ints:
    view = np.ascontiguousarray(values, np.int32).view()
    view.flags.writeable = False
    return view


def _flipped(offsets: Longs, members: Words, size: int, pool: ThreadPool | None) -> tuple[Longs, Words]:
    """The transposed rows, ascending."""
    pieces = 1 if pool is None else min(pool.threads, FLIPPED, len(blocks(offsets.size - 1)))
    if pool is None or pieces == 1:
        return flip(offsets, members, size)
    # However they are cut, rows end up ascending; each piece counts all members, so there are few.
    cuts = np.searchsorted(offsets, offsets[-1] * np.arange(pieces + 1) // pieces)
    parts = list(pairwise(cuts.tolist()))
    counts = np.zeros((pieces, size), np.uint32)
    pool.each(_count, [(offsets, members, counts[i], *part) for i, part in enumerate(parts)])
    starts, places = _places(counts)
    rows = np.empty(members.size, np.uint32)
    pool.each(_scatter, [(offsets, members, places[i], rows, *part) for i, part in enumerate(parts)])
    return starts, rows


@kept
def flip(offsets: Longs, members: Words, size: int) -> tuple[Longs, Words]:
    counts = np.zeros((1, size), np.uint32)
    _count(offsets, members, counts[0], 0, offsets.size - 1)
    starts, places = _places(counts)
    rows = np.empty(members.size, np.uint32)
    _scatter(offsets, members, places[0], rows, 0, offsets.size - 1)
    return starts, rows


@kept
def _count(offsets: Longs, members: Words, counts: Words, first: int, last: int) -> None:
    """How often each member occurs in the rows [first, last)."""
    for i in range(offsets[first], offsets[last]):
        counts[members[i]] += np.uint32(1)


@kept
def _places(counts: Words) -> tuple[Longs, Longs]:
    """Where each transposed row starts, int64 (size + 1), and where each block of rows begins in it, (blocks, size)."""
    starts = np.zeros(counts.shape[1] + 1, np.int64)
    places = np.empty(counts.shape, np.int64)
    place = 0
    for member in range(counts.shape[1]):
        for block in range(counts.shape[0]):
            places[block, member] = place
            place += counts[block, member]
        starts[member + 1] = place
    return starts, places


@kept
def _scatter(offsets: Longs, members: Words, places: Longs, rows: Words, first: int, last: int) -> None:
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + 1]):
            rows[places[members[i]]] = row
            places[members[i]] += 1


@kept
def _renumber(
    offsets: Longs, data: Words, starts: Longs, near: Words, order: Words, costs: Longs
) -> tuple[Longs, Words, Ints]:
    """The nets of each job, each once, jobs in `order`, and their weights; nets are the data of several jobs, numbered
    as met."""
    table = np.empty((starts.size - 1, 2), np.uint32)  # number and last job of a datum, in one cache line
    for datum in range(starts.size - 1):
        # Jobs ascend in a row: one that begins and ends with the same job has no other.
        begin, end = starts[datum], starts[datum + 1]
        free = costs.size > 0 and costs[datum] == 0
        table[datum, NUMBER] = NONE if begin < end and near[begin] != near[end - 1] and not free else LONELY
        table[datum, LAST] = NONE
    rows = np.zeros(order.size + 1, np.int64)
    nets = np.empty(data.size, np.uint32)
    weights = np.ones(starts.size - 1, np.int32)
    count, out = 0, 0
    for place in range(order.size):
        if place + 2 * SOON < order.size:
            prefetch_row(offsets, np.uint64(order[place + 2 * SOON]), LINE)
            prefetch_row(data, np.uint64(offsets[order[place + SOON]]), LINE)
        if place + SOON // 2 < order.size:
            later = order[place + SOON // 2]
            for pin in range(offsets[later], min(offsets[later] + AHEAD, offsets[later + np.uint32(1)])):
                prefetch_row(table, np.uint64(data[pin]), LINE)
        job = order[place]
        for pin in range(offsets[job], offsets[job + np.uint32(1)]):
            datum = data[pin]
            number = table[datum, NUMBER]
            if number == LONELY or table[datum, LAST] == job:
                continue
            table[datum, LAST] = job
            if number == NONE:
                number = np.uint32(count)
                table[datum, NUMBER] = number
                if costs.size:
                    weights[count] = costs[datum]
                count += 1
            nets[out] = number
            out += 1
        rows[place + 1] = out
    return rows, nets[:out].copy(), weights[:count].copy()


@kept
def _part_nets(offsets: Longs, nodes: Words, weights: Ints, places: Words) -> tuple[Longs, Words, Ints]:
    rows = np.zeros(offsets.size, np.int64)
    pins = np.empty(nodes.size, np.uint32)
    sums = np.empty(weights.size, np.int32)
    nets, out = 0, 0
    for net in range(weights.size):
        first = out
        for i in range(offsets[net], offsets[net + 1]):
            place = places[nodes[i]]
            if place != NONE:
                pins[out] = place
                out += 1
        if out - first < 2:
            out = first
        else:
            sums[nets] = weights[net]
            nets += 1
            rows[nets] = out
    return rows[: nets + 1].copy(), pins[:out].copy(), sums[:nets].copy()
