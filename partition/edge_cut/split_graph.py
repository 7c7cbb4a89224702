"""SPAC as published: METIS on the split graph, with one clone of each datum for each job that touches it."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import capacities, loads_and_shares
from tracecut.partition.datastructures.integer_weights import whole, whole_costs
from tracecut.partition.datastructures.plain_graphs import PlainGraph, merged
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .split_connect import run_inner

DOMINANT = 1000  # SPAC §3.2: in practice as good as infinite
MOST = 1 << 20  # what all copies may cost, so that sums of dominant edges fit 64 bits


def spac_split(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    ring: bool = False,
    dominant: int = DOMINANT,
    inner: str = "metis",
    recursive: bool | None = None,
    time_limit: float | None = None,
) -> Ints:
    """Partition the jobs by split-and-connect with two vertices a job (SPAC §3.2).

    A job is a path of dominant edges through its clones, a datum a path through its clones in job order, whose edges
    weigh what a copy of it costs. A job whose dominant edges are cut goes to the lighter of its clones' clusters, in
    job order, once all others are placed (the Ω rule of §3.2). The vertex copies never weigh more than what METIS cut
    (theorem 3.4), which is asserted.

    Args:
        graph: the locality graph; jobs of d data make d clones, those of none go to the lightest cluster.
        k: number of clusters.
        weights: float64 (jobs), positive; None means 1 each. Clones share their job's weight.
        targets, balance, seed, recursive, time_limit: as in `metis.metis_labels`. inner: one of `spac.INNER`.
        ring: close the path of each datum (footnote 2).
        dominant: weight of a dominant edge over that of the dearest copy; at least the most data of a job, which
            theorem 3.4 needs.

    Returns:
        int32 (jobs), labels in [0, k). O(pins) and METIS on `pins` vertices.

    Raises:
        BackendError: METIS failed.

    Source: SPAC §3.2, definitions 3.2 and 3.3; `split_connect.spac_labels` is the contracted form.
    """
    loads, shares = loads_and_shares(graph.n_jobs, k, weights, targets)
    costs = longs(whole_costs(graph.data_weights, MOST))
    strong = max(dominant, int(np.diff(graph.offsets).max(initial=1))) * int(costs.max(initial=1))
    split = split_graph(graph, costs, ring=ring, dominant=strong)
    sizes = np.diff(graph.offsets)
    parts = run_inner(
        inner,
        split,
        k,
        whole(np.repeat(loads / np.maximum(sizes, 1), sizes)),
        shares,
        balance=balance,
        recursive=recursive,
        seed=seed,
        time_limit=time_limit,
        method="spac-split",
    )
    limits = floats(capacities(loads, shares, balance))
    labels = _jobs_of_clones(longs(graph.offsets), words(parts), floats(loads), limits).view(np.int32)
    assert _copies(graph, labels, k, costs) <= cut_weight(split, parts), "theorem 3.4 does not hold"
    return labels


def split_graph(graph: LocalityGraph, costs: Longs, *, ring: bool = False, dominant: int = DOMINANT) -> PlainGraph:
    """The graph D' of definition 3.2: vertex p is pin p, a clone of its datum. O(pins).

    `costs`: int64 (data), what a copy of each costs; empty for 1 each.
    """
    starts, pins = _pins_of_data(words(graph.data), graph.n_data)
    u, v, weight = _links(longs(graph.offsets), starts, pins, costs, ring, dominant)
    return merged(u, v, weight, graph.n_pins)


def cut_weight(plain: PlainGraph, labels: Ints) -> int:
    """The weight of the edges whose ends have different labels. O(edges)."""
    ends = np.repeat(labels, np.diff(plain.offsets))
    return int(plain.edge_weights[ends != labels[plain.neighbours]].sum()) // 2


def _copies(graph: LocalityGraph, labels: Ints, k: int, costs: Longs) -> int:
    pairs = np.unique(graph.data.astype(np.int64) * k + np.repeat(labels, np.diff(graph.offsets)))
    held, copied = np.unique(graph.data), pairs // k
    return int(costs[copied].sum() - costs[held].sum()) if costs.size else int(copied.size - held.size)


@kept
def _pins_of_data(data: Words, n_data: int) -> tuple[Longs, Words]:
    starts = np.zeros(n_data + 1, np.int64)
    for datum in data:
        starts[datum + np.uint32(1)] += 1
    for datum in range(n_data):
        starts[datum + 1] += starts[datum]
    place = starts[:-1].copy()
    pins = np.empty(data.size, np.uint32)
    for pin in range(data.size):
        pins[place[data[pin]]] = pin
        place[data[pin]] += 1
    return starts, pins


@kept
def _links(
    offsets: Longs, starts: Longs, pins: Words, costs: Longs, ring: bool, dominant: int
) -> tuple[Words, Words, Longs]:
    most = 3 * pins.size
    u, v, weight = np.empty(most, np.uint32), np.empty(most, np.uint32), np.empty(most, np.int64)
    count = 0
    for job in range(offsets.size - 1):
        for pin in range(offsets[job], offsets[job + 1] - 1):
            u[count], v[count], weight[count] = pin, pin + 1, dominant
            count += 1
    for datum in range(starts.size - 1):
        begin, end = starts[datum], starts[datum + 1]
        cost = costs[datum] if costs.size else 1
        if cost == 0:
            continue
        for i in range(begin, end - 1):
            u[count], v[count], weight[count] = pins[i], pins[i + 1], cost
            count += 1
        if ring and end - begin > 2:
            u[count], v[count], weight[count] = pins[end - 1], pins[begin], cost
            count += 1
    return u[:count].copy(), v[:count].copy(), weight[:count].copy()


@kept
def _jobs_of_clones(offsets: Longs, parts: Words, weights: Floats, limits: Floats) -> Words:
    jobs = offsets.size - 1
    labels = np.empty(jobs, np.uint32)
    held = np.zeros(limits.size)
    whole = np.zeros(jobs, np.bool_)
    for job in range(jobs):
        begin, end = offsets[job], offsets[job + 1]
        whole[job] = end > begin
        for pin in range(begin, end):
            whole[job] &= parts[pin] == parts[begin]
        if whole[job]:
            labels[job] = parts[begin]
            held[labels[job]] += weights[job]
    for job in range(jobs):
        if whole[job]:
            continue
        begin, end = offsets[job], offsets[job + 1]
        best = np.uint32(0)
        if begin == end:
            for part in range(limits.size):
                if held[part] * limits[best] < held[best] * limits[part]:
                    best = np.uint32(part)
        else:
            best = parts[begin]
            for pin in range(begin, end):
                if held[parts[pin]] * limits[best] < held[best] * limits[parts[pin]]:
                    best = parts[pin]
        labels[job] = best
        held[best] += weights[job]
    return labels
