"""SPAC, contracted: a vertex partitioner on the contracted split-and-connect graph of the jobs, then refinement."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import loads_and_shares, rebalance
from tracecut.partition.coarsening.hypergraph_levels import Level, finest_level
from tracecut.partition.datastructures.integer_weights import whole
from tracecut.partition.datastructures.plain_graphs import PlainGraph, job_graph
from tracecut.partition.expansion.grow_hypergraph import expansion
from tracecut.partition.external.client import run_metis, run_tool
from tracecut.partition.multilevel.short_v_cycles import LARGE, short_cycles
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArgumentError

# Vertex partitioners that can stand inside another method, with the options of their calls.
INNER: dict[str, dict[str, str]] = {
    "metis": {},
    "kahip": {"mode": "fast"},
    "kaminpar": {"preset": "default"},
    "mtkahypar": {"preset": "default"},
}
EXPANSION = "expansion"  # ours, on the jobs themselves
SMALL = 1 << 17  # pins up to which starting METIS takes longer than running it


def spac_labels(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    refine: str | None = None,
    threads: int | None = None,
    ring: bool = False,
    inner: str = "auto",
    recursive: bool | None = None,
    time_limit: float | None = None,
) -> Ints:
    """Partition the jobs by split-and-connect, contracted: a vertex partitioner on one vertex per job (SPAC §3.2).

    The weight of the cut path edges bounds the vertex-copy cost from above. Against the published graph of two
    vertices per job, contraction halves the graph, needs no infinite weight and never cuts a dominant edge.

    Args:
        graph: the locality graph, any number of data per job.
        k: number of clusters.
        weights: float64 (jobs), positive; None means 1 each.
        targets, balance, seed, recursive, time_limit: as in `metis.metis_labels`.
        refine: "km1" follows with short V-cycles on the true cost (`km1_cycles`), on at most `threads` threads.
        ring: close the path of each datum, as in the seed's experiments (footnote 2).
        inner: the vertex partitioner, one of `INNER`; `recursive` is for METIS. "expansion" grows clusters of
            contracted vertices along the data that they share, so it needs no paths. "auto": METIS; on graphs of
            more than `SMALL` pins, where refinement follows and neither `ring` nor `recursive` ask for METIS,
            expansion: in a tenth of the time it leads to a lower cost.

    Returns:
        int32 (jobs), labels in [0, k). O(pins) and the inner partitioner.

    Raises:
        ArgumentError: there is no such inner partitioner, or it has no use for `ring` or `recursive`.
        BackendError: it failed, or is not installed.

    Source: SPAC §3.2, definitions 3.2 and 3.3.
    """
    if inner == "auto":
        cheap = graph.n_pins <= SMALL or ring or recursive is not None
        inner = "metis" if refine is None or cheap else EXPANSION
    if inner == EXPANSION:
        if ring or recursive is not None:
            raise ArgumentError(f"ring and recursive are for paths, inner = {EXPANSION!r} makes none")
        labels, finest = _grown(graph, k, weights, targets, refine is not None, threads)
    else:
        finest = None
        labels = run_inner(
            inner, job_graph(graph, ring=ring), k, None if weights is None else whole(weights), targets,
            balance=balance, recursive=recursive, seed=seed, time_limit=time_limit, method="spac",
        )  # fmt: skip
    if refine is None:
        return labels
    loads, shares = loads_and_shares(graph.n_jobs, k, weights, targets)
    labels = rebalance(graph, labels, loads, shares, balance)
    return short_cycles(
        graph, labels, weights=loads, targets=shares, balance=balance, seed=seed, threads=threads, finest=finest
    )


def _grown(
    graph: LocalityGraph, k: int, weights: Floats | None, targets: Floats | None, refined: bool, threads: int | None
) -> tuple[Ints, Level | None]:
    """The labels of expansion; on large graphs that are refined next, also what that needs, made at the same time."""
    if not refined or graph.n_pins <= LARGE:
        return expansion(graph, k, weights=weights, targets=targets), None
    loads = np.ones(graph.n_jobs) if weights is None else weights
    with ThreadPool(threads, graph.n_jobs) as pool:
        grow: Callable[[], Any] = partial(expansion, graph, k, weights=weights, targets=targets)
        labels, finest = pool.each(lambda make: make(), [(grow,), (partial(finest_level, graph, loads),)])
    return labels, finest


def run_inner(
    inner: str,
    plain: PlainGraph,
    k: int,
    loads: Longs | None,
    targets: Floats | None,
    *,
    balance: float,
    recursive: bool | None,
    seed: int,
    time_limit: float | None,
    method: str,
) -> Ints:
    """Labels of the vertices of `plain` by the vertex partitioner of this name, one of `INNER`."""
    if inner not in INNER:
        known = (*INNER, EXPANSION) if method == "spac" else INNER
        raise ArgumentError(f"inner = {inner!r}, one of {', '.join(known)} was expected")
    if inner == "metis":
        return run_metis(
            plain, k, vertex_weights=loads, targets=targets, balance=balance, recursive=recursive, seed=seed,
            time_limit=time_limit, method=method,
        )  # fmt: skip
    return run_tool(
        inner, plain, k, loads, targets, balance=balance, seed=seed, time_limit=time_limit, method=method,
        options=INNER[inner],
    ).labels  # fmt: skip
