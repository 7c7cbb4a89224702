"""Streaming vertex cut: jobs are placed one by one, by the clusters that already have their data.

One rule with parameters covers the rules of VertexCut §4.3, PowerGraph and SPAC §3.3.2. A(v) is the set of
clusters that have a job of datum v; the candidates for a job are

- the intersection of the non-empty A(v) of its data (cases 1 and 3 of the paper);
- if it is empty, A(v) of the preferred datum (case 2): of the data with non-empty A(v), the one of the lowest degree
  (Libra), or the one with the most pins of unplaced jobs (PowerGraph), the first in the job on ties;
- if all A(v) are empty, all clusters (case 4).

The job goes to the least loaded candidate, ties to the lowest number. In `powergraph-simple` the union of
the A(v) replaces the first two cases. Load is the number of jobs, or in the W rules their weight.

The WB rules have a bound on the load: `balance` times the target of a cluster. If no candidate has room for the job, it
goes to the least loaded cluster with room that has any of the job's data, else to the least loaded of all, even above
the bound. Hence the largest load is at most max(bound, mean + heaviest job). With unequal targets,
"least loaded" compares load over target.

The degree of a datum is its number of pins in the whole graph; those of a self-loop, a job of one datum, count twice.
"""

from __future__ import annotations

import warnings

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import equal_targets
from tracecut.partition.datastructures.plain_graphs import has_pairs
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.support.arrays import Floats, Ints

from .place_bitmask import NARROW, WIDE, Whole, count_held, place_narrow, place_wide
from .place_general import list_offsets, place_again, place_lists, tally
from .stream_orders import stream
from .stream_pins import count_pins, gather_pins, scatter_labels

NO_BOUND = 1 << 50
SLACK = 1 + 1e-12  # as in `rebalance.capacities`: rounding errors of shares must not close a cluster one job early
MOST_ROWS = 1 << 30  # largest memory of masks in bytes; above it, lists need less
COLLAPSED = 0.9


class CollapseWarning(UserWarning):
    """An unbounded streaming rule put nearly all jobs in one cluster."""


def powergraph(graph: LocalityGraph, k: int, *, order: Ints | None = None) -> Ints:
    """The greedy rule of PowerGraph on numbers of jobs, without a bound. Labels of the jobs, int32.

    Args:
        graph: any locality graph; for jobs of two data and k ≤ 4096 a fast kernel takes 20 ns per job.
        order: int32 permutation of the jobs, the stream; None is the natural order, in which the rule often collapses
            into one cluster (CollapseWarning).

    Source: Gonzalez et al. 2012, as VertexCut §4.3 states it. O(pins) on masks, see `stream_lists` for the rest.
    """
    return _unbounded("powergraph", graph, k, None, order, libra=False)


def powergraph_simple(graph: LocalityGraph, k: int, *, order: Ints | None = None) -> Ints:
    """The least loaded cluster that holds any of the job's data, else the least loaded. SPAC §3.3.2. No bound."""
    return _unbounded("powergraph-simple", graph, k, None, order, libra=True, either=True)


def libra(graph: LocalityGraph, k: int, *, order: Ints | None = None) -> Ints:
    """PowerGraph's rule with preference for the datum of the lower degree, on numbers of jobs. No bound.

    Source: what VertexCut §4.3 calls Libra (Xie et al. 2014); the hashing of that paper is `dbh`.
    """
    return _unbounded("libra", graph, k, None, order, libra=True)


def w_pg(graph: LocalityGraph, k: int, *, weights: Floats | None = None, order: Ints | None = None) -> Ints:
    """Weighted PowerGraph: loads are weights (float64 (jobs), None takes 1 each). No bound. VertexCut §4.3."""
    return _unbounded("w-pg", graph, k, weights, order, libra=False)


def w_libra(graph: LocalityGraph, k: int, *, weights: Floats | None = None, order: Ints | None = None) -> Ints:
    """Weighted Libra: loads are weights (float64 (jobs), None takes 1 each). No bound. VertexCut §4.3."""
    return _unbounded("w-libra", graph, k, weights, order, libra=True)


def wb_pg(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    order: Ints | None = None,
    passes: int = 1,
) -> Ints:
    """Weight balanced PowerGraph: `w_pg` with the bound of λ = `balance`; arguments as in `wb_libra`."""
    return _bounded(graph, k, weights, targets, balance, order, passes, libra=False)


def wb_libra(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    order: Ints | None = None,
    passes: int = 1,
) -> Ints:
    """Weight balanced Libra: `w_libra` with the bound of λ = `balance`. VertexCut §4.3, algorithm 1.

    Args:
        graph: any locality graph.
        k: number of clusters.
        weights: float64 (jobs), positive; None takes 1 each.
        targets: float64 (k), shares summing to 1; None means equal.
        balance: λ, largest load over target.
        order: int32 permutation of the jobs, the stream. None: the natural order for one pass; for more, see below.
        passes: 1 is the rule as published. With more, the first pass places by the rule and the others place each
            job again, given the places of all others (`place_general.place_again`). Without an `order` the first two
            passes are by the rule, on the streams "degree" and "bfs" (`stream_orders`), and the better result is kept:
            so the result hardly depends on the order of the jobs.

    Returns:
        int32 (jobs), labels in [0, k). O(pins) a pass on masks (jobs of two data, whole weights, equal targets,
        k ≤ 4096), see `stream_lists` for the rest.
    """
    return _bounded(graph, k, weights, targets, balance, order, passes, libra=True)


def _unbounded(
    name: str,
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    order: Ints | None,
    *,
    libra: bool,
    either: bool = False,
) -> Ints:
    labels = _place(graph, k, weights, None, None, order, libra, either)
    sizes = np.bincount(labels, minlength=k)
    if k > 1 and labels.size > k and sizes.max() > COLLAPSED * labels.size:
        warnings.warn(
            f"{name} put {int(sizes.max())} of {labels.size} jobs in one cluster: a rule without a bound places a "
            f"connected stream in the same cluster. Use wb-pg or wb-libra, or order='shuffled'.",
            CollapseWarning,
            stacklevel=2,
        )
    return labels


def _bounded(
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    targets: Floats | None,
    balance: float,
    order: Ints | None,
    passes: int,
    *,
    libra: bool,
) -> Ints:
    shares = None if targets is None or targets.min() == targets.max() else targets
    if passes == 1:
        return _place(graph, k, weights, shares, balance, order, libra)
    orders = [stream(graph, "degree"), stream(graph, "bfs")] if order is None else [order]
    found = [_place(graph, k, weights, shares, balance, jobs, libra) for jobs in orders]
    # The first of the cheapest.
    cheapest = int(np.argmin([_held(graph, labels, k) for labels in found])) if len(found) > 1 else 0
    labels, jobs = found[cheapest], orders[cheapest]
    if passes == len(orders):
        return labels
    pins, degree = words(graph.data), count_pins(words(graph.data), graph.n_data)
    rooms = longs(list_offsets(degree, k))
    lists = tally(longs(graph.offsets), pins, words(labels), rooms)
    loads = _loads(graph, weights)
    scale, limits = _limits(loads, k, shares, balance)
    for _ in range(passes - len(orders)):
        place_again(
            longs(graph.offsets),
            pins,
            words(jobs),
            rooms,
            *lists,
            words(degree),
            floats(loads),
            scale,
            limits,
            labels.view(np.uint32),
        )
    return labels


def _held(graph: LocalityGraph, labels: Ints, k: int) -> int:
    """Number of (datum, cluster) pairs in which the cluster has a job of the datum: the cost plus a constant.
    O(pins)."""
    groups = (k + 63) // 64
    offsets, pins = longs(graph.offsets), words(graph.data)
    if graph.n_data * groups * 8 <= MOST_ROWS:
        return count_held(offsets, pins, words(labels), np.zeros((graph.n_data, groups), np.uint64))
    rooms = longs(list_offsets(count_pins(pins, graph.n_data), k))
    return int(tally(offsets, pins, words(labels), rooms)[2].sum())


def _place(
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    targets: Floats | None,
    balance: float | None,
    order: Ints | None,
    libra: bool,
    either: bool = False,
) -> Ints:
    """One pass of the rule, on masks if possible. `targets` None: equal; `balance` None: no bound."""
    whole = _whole(weights) if targets is None else None
    rows = graph.n_data * ((k + 63) // 64) * 8
    if whole is None or k > WIDE or (k > NARROW and rows > MOST_ROWS) or not has_pairs(graph):
        return _place_on_lists(graph, k, weights, targets, balance, order, libra, either)
    pins = words(graph.data)
    heads = np.zeros((graph.n_data, 2), np.uint64)
    heads[:, 1] = count_pins(pins, graph.n_data)
    loads, lightest = whole, 1
    limit = NO_BOUND
    if balance is not None:
        total = int(loads.sum()) if loads.size else graph.n_jobs
        limit = int(balance * (total / k) * SLACK)
    if loads.size:
        lightest = int(loads.min())
    if order is not None:
        pins = words(gather_pins(pins, words(order)))
        loads = loads[order] if loads.size else loads
    if k <= NARROW:
        labels = place_narrow(pins, heads, k, libra, either, _read_only(loads), limit, lightest)
    else:
        masks = np.zeros((graph.n_data, (k + 63) // 64), np.uint64)
        labels = place_wide(pins, heads, masks, k, libra, either, _read_only(loads), limit, lightest)
    if order is not None:
        labels = scatter_labels(words(labels), words(order))
    return labels.view(np.int32)


def _place_on_lists(
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    targets: Floats | None,
    balance: float | None,
    order: Ints | None,
    libra: bool,
    either: bool,
) -> Ints:
    pins = words(graph.data)
    degree = count_pins(pins, graph.n_data)
    loads = _loads(graph, weights)
    scale, limits = _limits(loads, k, targets, balance)
    jobs = np.arange(graph.n_jobs, dtype=np.uint32) if order is None else order
    rooms = longs(list_offsets(degree, k))
    found = place_lists(
        longs(graph.offsets), pins, words(jobs), rooms, degree, libra, either, floats(loads), scale, limits
    )
    return found.view(np.int32)


def _loads(graph: LocalityGraph, weights: Floats | None) -> Floats:
    return np.ones(graph.n_jobs) if weights is None else weights


def _limits(loads: Floats, k: int, targets: Floats | None, balance: float | None) -> tuple[Floats, Floats]:
    """The scale for comparing loads, and the largest load, of each cluster; float64 (k) each."""
    shares = equal_targets(k) if targets is None else targets
    scale = np.ones(k) if targets is None else 1.0 / (k * shares)
    if balance is None:
        return floats(scale), floats(np.full(k, np.inf))
    # The same expression as for masks: with equal targets both must close a cluster at the same job.
    mean = float(loads.sum()) / k
    return floats(scale), floats(balance * mean * SLACK * (1.0 if targets is None else k * shares) * np.ones(k))


def _whole(weights: Floats | None) -> Whole | None:
    """Weights as uint64, empty for all 1; None if they are not whole numbers or their sum could overflow a key."""
    if weights is None or (weights.size and weights.min() == weights.max() == 1.0):
        return np.zeros(0, np.uint64)
    if weights.size == 0 or weights.sum() >= NO_BOUND or (weights != np.rint(weights)).any():
        return None if weights.size else np.zeros(0, np.uint64)
    return weights.astype(np.uint64)


def _read_only(values: Whole) -> Whole:
    view = values.view()
    view.flags.writeable = False
    return view
