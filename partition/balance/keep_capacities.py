"""Hard limits on the loads of clusters: excess members are moved across borders towards clusters with room.

Unlike the balance bound, a capacity (such as a memory size) must never be exceeded. Members flow from overfull clusters
along shortest paths of the quotient graph to clusters with room; each step of a path moves the border members that are
most strongly connected to the other side.
"""

from __future__ import annotations

import heapq

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.integer_weights import uneven
from tracecut.partition.datastructures.plain_graphs import has_pairs
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .borders import LOOK, Nets, adjacent_clusters, connect, cut_pairs, leaving, renewed_pairs
from .least_imbalance import pack_by_weight
from .target_sizes import ROUND

STUCK = 2  # stop after this many rounds without progress
ROUNDS = 32  # rounds of paths: borders may be too short, and weights too coarse, to move the planned load at once


def keep_capacities(
    graph: LocalityGraph, labels: Ints, weights: Floats | None, limits: Floats, capacities: Floats, of: str = "jobs"
) -> Ints:
    """Labels in which no cluster exceeds its capacity; unchanged if none does.

    Args:
        graph: the locality graph. labels: int32, of its jobs or data, by `of`.
        weights: float64, of each; None: 1 each.
        limits: float64 (k), soft limits: receivers of members exceed them, up to their capacities, only if nothing else
            is possible.
        capacities: float64 (k), hard limits.

    Returns:
        int32. O(pins), and O(n + pins of the borders + k) per round for few overfull clusters that have neighbours with
        room.

    Raises:
        ArgumentError: no way was found to fit heavy members.
    """
    each = np.ones(labels.size) if weights is None else weights
    k = capacities.size
    room = capacities * ROUND
    loads = np.bincount(labels, each, k).astype(np.float64)
    if (loads <= room).all():
        return labels
    starts, near = graph.transpose
    data_of, jobs_of = (longs(graph.offsets), words(graph.data)), (longs(starts), words(near))
    worth = floats(uneven(graph.data_weights if of == "jobs" else graph.job_weights))
    pairs = of == "data" and has_pairs(graph)
    nets = Nets(*data_of, *jobs_of, worth, pairs) if of == "jobs" else Nets(*jobs_of, *data_of, worth, pairs)
    moved = labels.astype(np.int32)
    start, ceilings = loads, room
    cut = cut_pairs(nets, moved, k)
    for most in (limits, room):
        # Clusters that only pass members on must not keep the surplus, so these limits hold for all clusters. If all
        # weights are 1, a fraction of a member is no room.
        wanted = np.minimum(np.maximum(most * ROUND, start), room)
        wanted = np.floor(wanted) if weights is None else wanted
        ceilings = np.minimum(ceilings, wanted)
        over, stuck = float(np.maximum(loads - wanted, 0.0).sum()), 0
        for _ in range(ROUNDS):
            before = over
            was = moved.copy()
            _move_along_paths(nets, cut, floats(each), moved, loads, wanted, room)
            cut = renewed_pairs(nets, cut, moved, np.flatnonzero(was != moved).astype(np.int64))
            loads = np.bincount(moved, each, k).astype(np.float64)
            over = float(np.maximum(loads - wanted, 0.0).sum())
            stuck = 0 if over < before else stuck + 1  # moves change the borders, so the paths are planned again
            if over == 0.0 or stuck == STUCK:
                break
        if (loads <= room).all():
            break
    for highest in (ceilings, room):
        if (loads > highest).any():
            _move_anywhere(np.argsort(-each, kind="stable"), floats(each), moved, loads, floats(highest))
        if (loads <= room).all():
            return moved
    moved = pack_by_weight(moved, each, room)
    loads = np.bincount(moved, each, k).astype(np.float64)
    if (loads > room).any():
        worst = int(np.argmax(loads - room))
        raise ArgumentError(
            f"no way was found to keep all capacities: cluster {worst} would hold {loads[worst]:.17g}, "
            f"its capacity is {capacities[worst]:.17g}",
            hint=f"The heaviest member weighs {each.max():.17g}; larger capacities make room for it.",
        )
    return moved


def _move_along_paths(
    nets: Nets,
    cut: Words,
    weights: Floats,
    labels: Ints,
    loads: Floats,
    wanted: Floats,
    room: Floats,
) -> None:
    """One round: plan flows between neighbouring clusters, then move members of their borders.

    `cut`: uint32 (pairs, 2), neighbours in a net that lie in different clusters.
    """
    k = loads.size
    codes = np.unique(adjacent_clusters(cut, words(labels), k))
    begins = np.searchsorted(codes, np.arange(k + 1) * k).astype(np.int64)
    targets = (codes % k).astype(np.int64)
    backward = np.searchsorted(codes, targets * k + codes // k).astype(np.int64)
    flow = _plan(begins, targets, backward, loads, floats(wanted))
    if not flow.any():
        return
    sources = _downstream_first(begins, targets, flow)
    # In longer nets members also meet clusters that are not next to them.
    out = np.flatnonzero(leaving(cut, words(labels), begins, targets, flow, nets.pairs)).astype(np.int64)
    bounds, members = _by_cluster(out, words(labels), k)
    for source in sources:
        own = members[bounds[source] : bounds[source + 1]]
        slots = slice(begins[source], begins[source + 1])
        _hand_over(int(source), own, targets[slots], flow[slots], nets, weights, labels, loads, room)


@kept
def _plan(begins: Longs, targets: Longs, backward: Longs, loads: Floats, wanted: Floats) -> Floats:
    """float64 (arcs of the quotient graph): load to move over each arc, from clusters above `wanted` to the nearest
    below.

    A breadth-first search from each overfull cluster, until its excess load has found room.
    """
    k = loads.size
    flow = np.zeros(targets.size)
    free = np.maximum(wanted - loads, 0.0)
    via = np.empty(k, np.int64)
    seen = np.full(k, -1, np.int64)
    queue = np.empty(k, np.int64)
    for source in range(k):
        excess = loads[source] - wanted[source]
        if excess <= 0.0:
            continue
        seen[source], queue[0] = source, source
        head, tail = 0, 1
        while head < tail and excess > 0.0:
            here = queue[head]
            head += 1
            if here != source and free[here] > 0.0:
                amount = min(excess, free[here])
                free[here] -= amount
                excess -= amount
                place = here
                while place != source:
                    arc = via[place]
                    place = targets[backward[arc]]
                    cancelled = min(amount, flow[backward[arc]])
                    flow[backward[arc]] -= cancelled
                    flow[arc] += amount - cancelled
                if excess <= 0.0:
                    break
            for arc in range(begins[here], begins[here + 1]):
                there = targets[arc]
                if seen[there] != source:
                    seen[there], via[there], queue[tail] = source, arc, there
                    tail += 1
    return flow


def _downstream_first(begins: Longs, targets: Longs, flow: Floats) -> list[int]:
    """Clusters with outgoing flow, downstream clusters first. Cycles start anywhere."""
    order: list[int] = []
    state = np.zeros(begins.size - 1, np.int8)
    onward = [
        [int(targets[arc]) for arc in range(begins[here], begins[here + 1]) if flow[arc] > 0]
        for here in range(begins.size - 1)
    ]
    for root in range(begins.size - 1):
        stack = [(root, 0)] if onward[root] and not state[root] else []
        while stack:
            here, place = stack.pop()
            state[here] = 1
            if place < len(onward[here]):
                stack.append((here, place + 1))
                there = onward[here][place]
                if not state[there] and onward[there]:
                    stack.append((there, 0))
            elif state[here] == 1:
                state[here] = 2
                order.append(here)
    return order


@kept
def _by_cluster(items: Longs, labels: Words, k: int) -> tuple[Longs, Words]:
    """The items of cluster c, in their order: `result[1][result[0][c] : result[0][c + 1]]`."""
    bounds = np.zeros(k + 1, np.int64)
    for item in items:
        bounds[labels[item] + 1] += 1
    bounds = np.cumsum(bounds)
    places = bounds.copy()
    members = np.empty(items.size, np.uint32)
    for item in items:
        members[places[labels[item]]] = item
        places[labels[item]] += 1
    return bounds, members


@kept
def _hand_over(
    source: int,
    members: Words,
    targets: Longs,
    flow: Floats,
    nets: Nets,
    weights: Floats,
    labels: Ints,
    loads: Floats,
    room: Floats,
) -> None:
    """Move members of one cluster to its neighbours by the planned flow: least loss first, then first found.

    The loss of a move is what connects the member to its own cluster minus what connects it to the other one, which for
    nets of two members is the increase of the cut. Moves out of the cluster only decrease it, so what is on the heap is
    never too low.
    """
    left = flow.copy()
    offsets, names, starts, pins, worth, pairs = nets
    share, seen = np.zeros(loads.size), np.full(loads.size, -1, np.int64)
    looks = 0
    heap = [(0.0, 0, np.uint32(0), 0) for _ in range(0)]  # loss, order of discovery, member, target
    count = 0
    for member in members:
        connect(member, offsets, names, starts, pins, worth, pairs, labels, looks, share, seen)
        own = share[source] if seen[source] == looks else 0.0
        for slot in range(targets.size):
            if left[slot] > 0.0 and seen[targets[slot]] == looks:
                heapq.heappush(heap, (own - share[targets[slot]], count, member, slot))
                count += 1
        looks += 1
    while heap:
        _, _, item, slot = heapq.heappop(heap)
        target, weight = int(targets[slot]), weights[item]
        if labels[item] != source or left[slot] <= 0.0 or loads[target] + weight > room[target]:
            continue
        labels[item] = target
        loads[source] -= weight
        loads[target] += weight
        left[slot] -= weight
        if left[slot] <= 0.0:
            continue
        for at in range(offsets[item], offsets[item + 1]):
            net = names[at]
            for pin in range(starts[net], min(starts[net + 1], starts[net] + LOOK)):
                other = pins[pin]
                if labels[other] == source:
                    connect(other, offsets, names, starts, pins, worth, pairs, labels, looks, share, seen)
                    own = share[source] if seen[source] == looks else 0.0
                    there = share[target] if seen[target] == looks else 0.0
                    heapq.heappush(heap, (own - there, count, other, slot))
                    count += 1
                    looks += 1


@kept
def _move_anywhere(order: Longs, weights: Floats, labels: Ints, loads: Floats, room: Floats) -> None:
    """Move members out of clusters above `room`, the heaviest that fits first, to the cluster with the most room."""
    for item in order:
        here = labels[item]
        if loads[here] <= room[here] or weights[item] == 0.0:
            continue
        there = int(np.argmax(room - loads))
        if loads[there] + weights[item] <= room[there]:
            loads[here] -= weights[item]
            loads[there] += weights[item]
            labels[item] = there
