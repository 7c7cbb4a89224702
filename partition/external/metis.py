"""METIS on the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import chunk_labels, equal_targets, work_on_data
from tracecut.partition.datastructures.integer_weights import whole
from tracecut.partition.datastructures.plain_graphs import PlainGraph, data_graph
from tracecut.support.arrays import Floats, Ints, Longs

from .client import run_metis


def metis_labels(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    recursive: bool | None = None,
    time_limit: float | None = None,
) -> Ints:
    """Partition the data with METIS, minimising the jobs that are cut.

    Args:
        graph: the locality graph; `plain_graphs.data_graph` says how jobs of many data are modelled.
        k: number of clusters.
        weights: float64 (data), or several of each, (data, loads), all of which METIS balances; None takes the work on
            each datum, which is its degree when all jobs weigh the same: the degree-weighted vertex partition of Bourse
            et al. 2014 (SPAC §3.3.3).
        targets: float64 (k), shares summing to 1; None means equal.
        balance: largest load of a cluster over its target, as far as METIS keeps it.
        seed, recursive, time_limit: as in `client.run_metis`.

    Returns:
        int32 (data), labels in [0, k). Untouched data fill up what the others leave. O(pins) and METIS.

    Raises:
        BackendError: METIS failed.

    Source: METIS of Karypis and Kumar 1998.
    """

    def run(plain: PlainGraph, loads: Longs, shares: Floats) -> Ints:
        return run_metis(
            plain,
            k,
            vertex_weights=loads,
            targets=shares,
            balance=balance,
            recursive=recursive,
            seed=seed,
            time_limit=time_limit,
        )

    return label_data(graph, k, weights, targets, run)


def label_data(
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    targets: Floats | None,
    run: Callable[[PlainGraph, Longs, Floats], Ints],
) -> Ints:
    """Labels of the data by any vertex partitioner, int32 (data).

    `run` gets the data graph without untouched data, whole-number weights of its vertices and the shares of the
    clusters. Untouched data fill up what its labels leave. `weights` and `targets` as in `metis_labels`.
    """
    shares = equal_targets(k) if targets is None else targets
    given = work_on_data(graph, graph.job_weights) if weights is None else weights
    loads = given if given.ndim == 1 else given[:, 0]
    used = np.flatnonzero(graph.degrees()).astype(np.int32)
    several = [_some(each[used]) for each in (given.T if given.ndim == 2 else [given])]
    whole_loads = several[0] if given.ndim == 1 else np.ascontiguousarray(np.stack(several, axis=1))
    found = run(_without_isolated(data_graph(graph), used), whole_loads, shares)
    labels = np.full(graph.n_data, -1, np.int32)
    labels[used] = found
    rest = np.flatnonzero(labels < 0)
    if rest.size:
        taken = np.bincount(found, loads[used], k) if used.size else np.zeros(k)
        missing = np.maximum(shares * (taken.sum() + loads[rest].sum()) - taken, 0.0)
        wanted = missing / missing.sum() if missing.sum() > 0 else shares
        labels[rest] = chunk_labels(np.arange(rest.size, dtype=np.int32), loads[rest], wanted)
    return labels


def _some(weights: Floats) -> Longs:
    """`whole`, but 1 each where all weigh nothing: there is nothing to divide then."""
    return whole(weights) if weights.any() else np.ones(weights.size, np.int64)


def _without_isolated(plain: PlainGraph, used: Ints) -> PlainGraph:
    """The same graph on the vertices `used`; those left out have no edges."""
    name = np.zeros(plain.size, np.int32)
    name[used] = np.arange(used.size, dtype=np.int32)
    offsets = np.append(plain.offsets[used], plain.offsets[-1:])
    return PlainGraph(offsets, name[plain.neighbours], plain.edge_weights)
