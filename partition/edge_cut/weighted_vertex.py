"""Weighted vertex partition: partitions the data, weighted by their work, and places each job with its data."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import loads_and_shares, work_on_data
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.external.metis import metis_labels
from tracecut.partition.streaming.place_general import list_offsets
from tracecut.partition.streaming.stream_pins import count_pins
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept


def wvp_random(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    time_limit: float | None = None,
) -> Ints:
    """METIS on the data, weighted by degree; a job whose data are cut apart goes to one of their clusters at random.

    Args:
        graph: any locality graph; `plain_graphs.data_graph` says how jobs of many data are modelled.
        weights: float64 (jobs), positive; None takes 1 each, so that a datum weighs its degree (in halves of a job).
        targets, balance, time_limit: as in `metis.metis_labels`. seed: of METIS and of the draws.

    Returns:
        int32 (jobs). Jobs without data go to the clusters with the most room. O(pins) and METIS.

    Raises BackendError when METIS failed. Source: Bourse et al. 2014 as in SPAC §3.3.3.
    """
    return _follow(graph, k, weights, targets, balance, seed, time_limit, greedy=False)


def wvp_greedy(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    time_limit: float | None = None,
) -> Ints:
    """METIS on the data, weighted by degree; jobs whose data are cut apart are placed by the rule `powergraph-simple`.

    They come after all others, in job order, and a datum counts as held by its own cluster and by those of its jobs
    that are placed: the least loaded (over target) of these gets the job, ties the lowest number. Arguments, result,
    errors and source as in `wvp_random`.
    """
    return _follow(graph, k, weights, targets, balance, seed, time_limit, greedy=True)


def _follow(
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    targets: Floats | None,
    balance: float,
    seed: int,
    time_limit: float | None,
    *,
    greedy: bool,
) -> Ints:
    loads, shares = loads_and_shares(graph.n_jobs, k, weights, targets)
    work = work_on_data(graph, loads)
    own = metis_labels(graph, k, weights=work, targets=shares, balance=balance, seed=seed, time_limit=time_limit)
    draws = np.zeros(0) if greedy else np.random.default_rng(seed).random(graph.n_jobs)
    rooms = list_offsets(count_pins(words(graph.data), graph.n_data) + np.uint32(1), k)
    labels = _follow_data(
        longs(graph.offsets),
        words(graph.data),
        words(own),
        longs(rooms),
        floats(loads),
        floats(1.0 / shares),
        floats(draws),
    )
    return labels.view(np.int32)


@kept
def _follow_data(
    offsets: Longs, data: Words, own: Words, rooms: Longs, weights: Floats, scale: Floats, draws: Floats
) -> Words:
    """See `wvp_greedy`; with `draws`, one in [0, 1) a job, those choose among the clusters of the job's data."""
    jobs, k = offsets.size - 1, scale.size
    labels = np.full(jobs, np.uint32(0xFFFFFFFF))
    loads = np.zeros(k)
    members, sizes = np.empty(rooms[rooms.size - 1], np.uint32), np.ones(own.size, np.int64)
    for v in range(own.size):
        members[rooms[v]] = own[v]
    for job in range(jobs):
        begin, end = offsets[job], offsets[job + 1]
        whole = begin < end
        for pin in range(begin + 1, end):
            whole &= own[data[pin]] == own[data[begin]]
        if whole:
            labels[job] = own[data[begin]]
            loads[labels[job]] += weights[job]
    some, seen = np.empty(k, np.uint32), np.zeros(k, np.bool_)
    for job in range(jobs):
        begin, end = offsets[job], offsets[job + 1]
        if labels[job] < k:
            continue
        count = 0
        for pin in range(begin, end):
            v = data[pin]
            for i in range(rooms[v], rooms[v] + (sizes[v] if draws.size == 0 else 1)):
                if not seen[members[i]]:
                    seen[members[i]] = True
                    some[count] = members[i]
                    count += 1
        if count == 0:
            best = np.argmin(loads * scale)
        elif draws.size:
            best = np.int64(some[int(draws[job] * count)])
        else:
            best = np.int64(some[0])
            for i in range(1, count):
                load, least = loads[some[i]] * scale[some[i]], loads[best] * scale[best]
                if load < least or (load == least and some[i] < best):
                    best = np.int64(some[i])
        for i in range(count):
            seen[some[i]] = False
        labels[job] = best
        loads[best] += weights[job]
        for pin in range(begin, end):
            v = data[pin]
            at, last = rooms[v], rooms[v] + sizes[v]
            while at < last and members[at] != best:
                at += 1
            if at == last:
                members[at] = best
                sizes[v] += 1
    return labels
