"""Levels of a multilevel hierarchy: jobs that share data heavily become one job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from ..ir.graph import LocalityGraph
from .views import Words, floats, longs, words

LARGE = 512  # pins; shared data of more jobs say little about which two belong together, and asking costs their square
WINDOW = 1024  # nodes shuffled among each other
STUCK = 0.8  # share of nodes left alone from which strangers are joined,
MANY = 4  # where there are so many times more nodes than enough; fewer are stuck because they are heavy
NONE = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, eq=False)
class Level:
    """A hypergraph whose nodes are groups of jobs and whose nets are data, or data with equal pins.

    Attributes:
        node_offsets, node_nets: int64 (nodes + 1), uint32: the nets of each node, each once.
        net_offsets, net_nodes: int64 (nets + 1), uint32: the nodes of each net, each once, two at least.
        node_weights: float64 (nodes), the load.
        net_weights: int32 (nets), the number of data that a net stands for.
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

    @property
    def arrays(self) -> tuple[Longs, Words, Longs, Words, Floats, Ints]:
        return (
            self.node_offsets, self.node_nets, self.net_offsets, self.net_nodes, self.node_weights, self.net_weights
        )  # fmt: skip


def make_level(net_offsets: Longs, net_nodes: Words, node_weights: Floats, net_weights: Ints) -> Level:
    """A level out of its nets; O(pins + nodes + nets)."""
    node_offsets, node_nets = _flip(net_offsets, net_nodes, node_weights.size)
    return Level(
        longs(node_offsets), words(node_nets), longs(net_offsets), words(net_nodes), floats(node_weights),
        _whole(net_weights),
    )  # fmt: skip


def finest_level(graph: LocalityGraph, weights: Floats, order: Ints | None = None) -> Level:
    """The jobs of a graph as nodes, its data as nets; data of one job, which can never be copied, are left out.

    `weights` is float64 (jobs). Node i is job `order[i]`, int32 (jobs), or job i; nets are numbered as the nodes meet
    them, so that an order of good locality makes a level of good locality. O(pins).
    """
    starts, near = graph.transpose
    jobs = np.arange(graph.n_jobs, dtype=np.uint32) if order is None else order
    node_offsets, node_nets, n_nets = _renumber(
        longs(graph.offsets), words(graph.data), longs(starts), words(near), words(jobs)
    )
    net_offsets, net_nodes = _flip(node_offsets, node_nets, n_nets)
    return Level(
        longs(node_offsets), words(node_nets), longs(net_offsets), words(net_nodes), floats(weights[jobs]),
        _whole(np.ones(n_nets, np.int32)),
    )  # fmt: skip


def shuffled(values: Words, draw: np.random.Generator) -> Words:
    """A shuffle within windows of `WINDOW`: as good as any for breaking ties, and near in memory what is near."""
    cut = values.size - values.size % WINDOW
    head = draw.permuted(values[:cut].reshape(-1, WINDOW), axis=1).ravel()
    return np.concatenate([head, draw.permutation(values[cut:])]).astype(np.uint32)


def coarsen(
    level: Level, heaviest: float, seed: int, labels: Words | None = None, *, enough: int = 0
) -> tuple[Level, Words]:
    """One step of coarsening.

    Nodes are visited in random order; one that still stands alone joins the group with which it shares most, Σ over
    shared nets of weight / (size - 1), among those that stay within `heaviest` and, where `labels` are given, have
    its label. Where most nodes find nobody and there are many more than `enough`, strangers are joined.

    Returns:
        The coarser level, and the coarse node of each node, uint32. O(Σ over nets of size², sizes up to 512, + pins).
    """
    none = words(np.zeros(0, np.uint32)) if labels is None else words(labels)
    order = words(shuffled(np.arange(level.n_nodes, dtype=np.uint32), np.random.default_rng(seed)))
    groups, n_groups = _group(*level.arrays, order, float(heaviest), none, level.n_nodes > MANY * enough)
    return contract(level, groups, n_groups), groups


def contract(level: Level, groups: Words, n_groups: int) -> Level:
    """Make one node of the nodes of each group; nets inside a group vanish, nets with equal pins add up. O(pins)."""
    net_offsets, net_nodes, net_weights = _contract_nets(
        level.net_offsets, level.net_nodes, level.net_weights, words(groups), n_groups
    )
    node_weights = np.bincount(groups, level.node_weights, n_groups).astype(np.float64)
    return make_level(net_offsets, net_nodes, node_weights, net_weights)


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


@njit(cache=True, nogil=True)
def _renumber(offsets: Longs, data: Words, starts: Longs, near: Words, order: Words) -> tuple[Longs, Words, int]:
    """The nets of each job, each once, jobs in `order`; nets are the data of several jobs, numbered as met."""
    numbers = np.full(starts.size - 1, NONE, np.uint32)
    rows = np.zeros(order.size + 1, np.int64)
    nets = np.empty(data.size, np.uint32)
    last = np.full(starts.size - 1, NONE, np.uint32)  # the last job that met the datum
    count, out = 0, 0
    for place in range(order.size):
        job = order[place]
        for pin in range(offsets[job], offsets[job + np.uint32(1)]):
            datum = data[pin]
            # Jobs ascend in a row: one that begins and ends with the same job has no other.
            if last[datum] == job or near[starts[datum]] == near[starts[datum + np.uint32(1)] - 1]:
                continue
            last[datum] = job
            if numbers[datum] == NONE:
                numbers[datum] = count
                count += 1
            nets[out] = numbers[datum]
            out += 1
        rows[place + 1] = out
    return rows, nets[:out].copy(), count


@njit(cache=True, nogil=True)
def _flip(offsets: Longs, members: Words, size: int) -> tuple[Longs, Words]:
    """The transposed rows, ascending."""
    starts = np.zeros(size + 1, np.int64)
    for i in range(members.size):
        starts[members[i] + np.uint32(1)] += 1
    for i in range(size):
        starts[i + 1] += starts[i]
    place = starts[:-1].copy()
    rows = np.empty(members.size, np.uint32)
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            rows[place[members[i]]] = row
            place[members[i]] += 1
    return starts, rows


@njit(cache=True, nogil=True)
def _group(
    node_offsets: Longs,
    node_nets: Words,
    net_offsets: Longs,
    net_nodes: Words,
    node_weights: Floats,
    net_weights: Ints,
    order: Words,
    heaviest: float,
    labels: Words,
    strangers: bool,
) -> tuple[Words, int]:
    """The group of each node, numbered as met in node order, and how many there are."""
    n = node_weights.size
    leader = np.arange(n).astype(np.uint32)
    load = node_weights.copy()
    alone = np.ones(n, np.bool_)
    score = np.zeros(n, np.float32)
    touched = np.empty(n, np.uint32)
    for place in range(n):
        u = order[place]
        if not alone[u]:
            continue
        count = 0
        for i in range(node_offsets[u], node_offsets[u + 1]):
            net = node_nets[i]
            begin, end = net_offsets[net], net_offsets[net + np.uint32(1)]
            if end - begin > LARGE:
                continue
            value = np.float32(net_weights[net]) / np.float32(end - begin - 1)
            for j in range(begin, end):
                group = leader[net_nodes[j]]
                if score[group] == 0:
                    touched[count] = group
                    count += 1
                score[group] += value
        best, most, lightest = u, np.float32(0), 0.0
        for i in range(count):
            group = touched[i]
            value = score[group] / np.float32(load[group])
            score[group] = 0
            if group == u or value < most or load[group] + node_weights[u] > heaviest:
                continue
            if labels.size and labels[group] != labels[u]:
                continue
            if value > most or load[group] < lightest:
                best, most, lightest = group, value, load[group]
        if best != u:
            leader[u] = best
            load[best] += node_weights[u]
            alone[u] = False
            alone[best] = False
    if strangers and np.count_nonzero(alone) > STUCK * n:
        _join_strangers(node_weights, order, heaviest, labels, alone, leader, load)
    number = np.full(n, NONE, np.uint32)
    groups = np.empty(n, np.uint32)
    n_groups = 0
    for u in range(n):
        head = leader[u]
        if number[head] == NONE:
            number[head] = n_groups
            n_groups += 1
        groups[u] = number[head]
    return groups, n_groups


@njit(cache=True, nogil=True)
def _join_strangers(
    node_weights: Floats,
    order: Words,
    heaviest: float,
    labels: Words,
    alone: npt.NDArray[np.bool_],
    leader: Words,
    load: Floats,
) -> None:
    """Pair nodes that found nobody (no shared net, or a large one) with the next of their label that fits.

    Otherwise coarsening would end with many light nodes, and what follows expects few.
    """
    waiting = np.full(np.int64(labels.max()) + 1 if labels.size else 1, NONE, np.uint32)
    for place in range(order.size):
        u = order[place]
        if not alone[u]:
            continue
        kind = labels[u] if labels.size else np.uint32(0)
        head = waiting[kind]
        if head != NONE and load[head] + node_weights[u] <= heaviest:
            leader[u] = head
            load[head] += node_weights[u]
            alone[u] = False
            waiting[kind] = NONE
        elif head == NONE or node_weights[u] < load[head]:
            waiting[kind] = u


@njit(cache=True, nogil=True)
def _contract_nets(
    offsets: Longs, nodes: Words, weights: Ints, groups: Words, n_groups: int
) -> tuple[Longs, Words, Ints]:
    rows = np.zeros(offsets.size, np.int64)
    pins = np.empty(nodes.size, np.uint32)
    sums = np.empty(weights.size, np.int32)
    seen = np.full(n_groups, NONE, np.uint32)
    slots = np.uint64(16)
    while slots < np.uint64(2 * weights.size):
        slots *= np.uint64(2)
    table = np.full(np.int64(slots), NONE, np.uint32)
    keys = np.empty(weights.size, np.uint64)
    nets, out = 0, 0
    for net in range(weights.size):
        first = out
        key = np.uint64(0)
        for i in range(offsets[net], offsets[net + 1]):
            group = groups[nodes[i]]
            if seen[group] != net:
                seen[group] = net
                pins[out] = group
                out += 1
                key += _mixed(np.uint64(group))
        if out - first < 2:
            out = first
            continue
        # Nets whose 64-bit sums of mixed ids and sizes agree are taken for equal: at worst a poorer partition.
        slot = _mixed(key) & (slots - np.uint64(1))
        while True:
            other = table[slot]
            if other == NONE:
                table[slot] = nets
                keys[nets] = key
                sums[nets] = weights[net]
                nets += 1
                rows[nets] = out
                break
            if keys[other] == key and rows[other + np.uint32(1)] - rows[other] == out - first:
                sums[other] += weights[net]
                out = first
                break
            slot = (slot + np.uint64(1)) & (slots - np.uint64(1))
    return rows[: nets + 1].copy(), pins[:out].copy(), sums[:nets].copy()


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, inline="always")
def _mixed(x: np.uint64) -> np.uint64:
    """Splitmix64's finaliser."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
