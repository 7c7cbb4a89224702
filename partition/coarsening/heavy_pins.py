"""Coarsening: jobs that share much data are contracted to one job."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from tracecut.partition.balance.rebalance import sum_loads
from tracecut.partition.datastructures.shuffle import mixed
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.parallel.gather import scattered
from tracecut.partition.parallel.thread_pool import MOST, ThreadPool, blocks
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .hypergraph_levels import NONE, Level, make_level
from .visit_order import Visits, shuffled_visits

Singles = npt.NDArray[np.float32]
Keys = npt.NDArray[np.uint64]

LARGE = 64  # most pins of a net for rating: larger nets carry little information, and rating them takes quadratic time
LIGHT = np.float32(1e-25)  # what a group without load counts for where something is divided by it
STUCK = 0.8  # share of unmatched nodes from which on nodes without a shared net are paired,
# if there are this many times more nodes than enough; if there are fewer, they are unmatched because they are heavy
MANY = 4


@dataclass(frozen=True, eq=False)
class Step:
    """One step of coarsening.

    Attributes:
        level: the coarser level.
        groups: uint32, the coarse node of each node.
        labels: uint32 (coarse nodes), those of their nodes, where these have some.
        visits: of the coarse nodes, in the step with the next seed.
    """

    level: Level
    groups: Words
    labels: Words | None
    visits: Visits


def coarsen(
    level: Level,
    heaviest: float,
    seed: int,
    labels: Words | None = None,
    *,
    enough: int = 0,
    visits: Visits | None = None,
    pool: ThreadPool | None = None,
) -> Step:
    """Join nodes that share most.

    Nodes are visited in random order; one that still stands alone joins the group with which it shares most, Σ over
    shared nets of weight / (size - 1), among those that stay within `heaviest` and, where `labels` are given, have
    its label. Where most nodes stay unmatched and there are many more than `enough`, nodes without a shared net
    are paired.

    Nodes of different labels never meet, so a `pool` visits some labels a thread, with the same result. `visits` are
    those by the seed, where they have been made before. O(Σ over nets of size², sizes up to 64, + pins).
    """
    if pool is None:
        with ThreadPool(1, 0) as single:
            return coarsen(level, heaviest, seed, labels, enough=enough, visits=visits, pool=single)
    n = level.n_nodes
    visits = shuffled_visits(n, labels, seed) if visits is None else visits
    none = words(np.zeros(0, np.uint32)) if labels is None else words(labels)
    leader, load, alone = np.arange(n, dtype=np.uint32), level.node_weights.copy(), np.ones(n, np.bool_)
    common = (level, float(heaviest), none, leader, load, alone)
    workspaces = pool.workspaces(lambda: (np.zeros(n, np.float32), np.empty(n, np.uint32)))
    workspaces.each(group_nodes, [(*common, part, LARGE) for part in visits.lots or (visits.order,)])
    if n > MANY * enough and np.count_nonzero(alone) > STUCK * n:
        pair_unmatched(level.node_weights, visits.order, float(heaviest), none, alone, leader, load)
    groups, n_groups = numbered(leader)

    def following() -> tuple[Words | None, Visits]:
        inherited = None if labels is None else scattered(labels, groups, n_groups, pool)
        return inherited, shuffled_visits(n_groups, inherited, seed + 1)

    coarser, (inherited, later) = pool.all(partial(contract, level, groups, n_groups, pool), following)
    return Step(coarser, groups, inherited, later)


def contract(level: Level, groups: Words, n_groups: int, pool: ThreadPool | None = None) -> Level:
    """Make one node of the nodes of each group; nets inside a group vanish, nets with equal pins add up. O(pins)."""
    with ThreadPool(1, 0) as alone:
        pool = alone if pool is None else pool
        nets = level.n_nets
        own = words(groups)
        pins, sizes, keys = (
            np.empty(level.net_nodes.size, np.uint32),
            np.empty(nets, np.uint32),
            np.empty(nets, np.uint64),
        )
        workspaces = pool.workspaces(lambda: (np.full(n_groups, NONE, np.uint32),))
        parts = blocks(nets)
        workspaces.each(
            map_nets, [(level.net_offsets, level.net_nodes, own, pins, sizes, keys, *part) for part in parts]
        )
        sums, shares = np.zeros(nets, np.int32), 1 << (min(pool.threads, MOST) - 1).bit_length()
        equals = [(sizes, keys, level.net_weights, sums, i, shares) for i in range(shares)]
        _, loads = pool.all(
            partial(pool.each, _sum_equals, equals), partial(sum_loads, own, level.node_weights, n_groups)
        )
        number, offsets, weights = _numbered_nets(sizes, sums)
        tight = np.empty(int(offsets[-1]), np.uint32)
        pool.each(keep_nets, [(level.net_offsets, pins, number, offsets, tight, *part) for part in parts])
        return make_level(offsets, tight, loads, weights, pool)


@kept
def group_nodes(
    level: Level,
    heaviest: float,
    labels: Words,
    leader: Words,
    load: Floats,
    alone: npt.NDArray[np.bool_],
    order: Words,
    largest: int,
    score: Singles,
    touched: Words,
) -> None:
    """Join the nodes of `order`, which holds all nodes of a label or none. `score` is zero before and after.

    Nets of more than `largest` pins do not count.
    """
    node_offsets, node_nets, net_offsets, net_nodes, node_weights, net_weights = level
    for u in order:
        if not alone[u]:
            continue
        count = 0
        for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
            net = node_nets[i]
            begin, end = net_offsets[net], net_offsets[net + np.uint32(1)]
            if end - begin > largest:
                continue
            value = np.float32(net_weights[net]) / np.float32(end - begin - 1)
            for j in range(begin, end):
                v = net_nodes[j]
                if labels.size and labels[v] != labels[u]:
                    continue
                group = leader[v]
                if score[group] == 0:
                    touched[count] = group
                    count += 1
                score[group] += value
        best, most, lightest = u, np.float32(0), 0.0
        for i in range(count):
            group = touched[i]
            value = score[group] / max(np.float32(load[group]), LIGHT)
            score[group] = 0
            if group == u or value < most or load[group] + node_weights[u] > heaviest:
                continue
            if value > most or load[group] < lightest:
                best, most, lightest = group, value, load[group]
        if best != u:
            leader[u] = best
            load[best] += node_weights[u]
            alone[u] = False
            alone[best] = False


@kept
def numbered(leader: Words) -> tuple[Words, int]:
    """The group of each node, numbered as met in node order, and how many there are."""
    number = np.full(leader.size, NONE, np.uint32)
    groups = np.empty(leader.size, np.uint32)
    n_groups = 0
    for u in range(leader.size):
        head = leader[u]
        if number[head] == NONE:
            number[head] = n_groups
            n_groups += 1
        groups[u] = number[head]
    return groups, n_groups


@kept
def pair_unmatched(
    node_weights: Floats,
    order: Words,
    heaviest: float,
    labels: Words,
    alone: npt.NDArray[np.bool_],
    leader: Words,
    load: Floats,
) -> None:
    """Pair unmatched nodes (no shared net, or only large ones) with the next of their label that fits.

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


@kept
def map_nets(
    offsets: Longs,
    nodes: Words,
    groups: Words,
    pins: Words,
    sizes: Words,
    keys: Keys,
    first: int,
    last: int,
    seen: Words,
) -> None:
    """The groups of each net in [first, last), each once, where its nodes stood; how many, and a key of the set."""
    for net in range(first, last):
        out = offsets[net]
        key = np.uint64(0)
        for i in range(offsets[net], offsets[net + 1]):
            group = groups[nodes[i]]
            if seen[group] != net:
                seen[group] = net
                pins[out] = group
                out += 1
                key += mixed(np.uint64(group))
        sizes[net] = out - offsets[net]
        keys[net] = key


@kept
def equal_nets(sizes: Words, keys: Keys, weights: Ints) -> tuple[Words, Longs, Ints]:
    """The new number of each net that is the first with its pins, NONE for others; new offsets and summed weights."""
    sums = np.zeros(sizes.size, np.int32)
    _sum_equals(sizes, keys, weights, sums, 0, 1)
    return _numbered_nets(sizes, sums)


@kept
def _sum_equals(sizes: Words, keys: Keys, weights: Ints, sums: Ints, part: int, parts: int) -> None:
    """Add the weights of nets with equal pins up at the first, of those whose keys fall into one of 2**i parts."""
    chosen, shift = np.uint64(part), np.uint64(40)
    mask = np.uint64(parts - 1)
    count = 0
    for net in range(sizes.size):
        count += (sizes[net] >= 2) & ((keys[net] >> shift) & mask == chosen)
    slots = np.uint64(16)
    while slots < np.uint64(2 * count):
        slots *= np.uint64(2)
    table = np.full(np.int64(slots), NONE, np.uint32)
    for net in range(sizes.size):
        key = keys[net]
        if sizes[net] < 2 or (key >> shift) & mask != chosen:
            continue
        # Nets with equal 64-bit hashes and sizes count as equal: a collision only makes the partition worse.
        slot = key & (slots - np.uint64(1))
        while True:
            first = table[slot]
            if first == NONE:
                table[slot] = net
                sums[net] = weights[net]
                break
            if keys[first] == key and sizes[first] == sizes[net]:
                sums[first] += weights[net]
                break
            slot = (slot + np.uint64(1)) & (slots - np.uint64(1))


@kept
def _numbered_nets(sizes: Words, sums: Ints) -> tuple[Words, Longs, Ints]:
    """As `equal_nets`, out of the `sums`, which are 0 for all nets but the first with their pins."""
    number = np.full(sizes.size, NONE, np.uint32)
    rows = np.zeros(sizes.size + 1, np.int64)
    weights = np.empty(sizes.size, np.int32)
    nets = 0
    for net in range(sizes.size):
        if sums[net] > 0:
            number[net] = nets
            weights[nets] = sums[net]
            nets += 1
            rows[nets] = rows[nets - 1] + np.int64(sizes[net])
    return number, rows[: nets + 1].copy(), weights[:nets].copy()


@kept
def keep_nets(old: Longs, pins: Words, number: Words, offsets: Longs, tight: Words, first: int, last: int) -> None:
    for net in range(first, last):
        own = number[net]
        if own != NONE:
            size = offsets[own + np.uint32(1)] - offsets[own]
            for i in range(size):
                tight[offsets[own] + i] = pins[old[net] + i]
