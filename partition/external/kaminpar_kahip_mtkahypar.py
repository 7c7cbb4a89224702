"""Partitioners of other projects that come as wheels of the extra `partitioners`; METIS has a file of its own.

Each runs in a worker process behind validated input (`backend`). A missing wheel is a BackendError that says how to
install it. Programs without a wheel are represented by the most similar one here: ParMETIS by METIS, PaToH and hMETIS
by Mt-KaHyPar on the hypergraph, which is the strongest of the kind.
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.integer_weights import copy_costs, whole
from tracecut.partition.datastructures.plain_graphs import PlainGraph
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .client import Nets, run_tool
from .metis import label_data

TIME_LIMIT = 600.0  # seconds of wall time: KaHIP and Mt-KaHyPar hang on some small inputs that METIS takes
MODES = ("fast", "eco", "strong", "fastsocial", "ecosocial", "strongsocial")
KAMINPAR_PRESETS = ("default", "fast", "eco", "strong", "largek", "largek-fast", "largek-eco", "largek-strong")
MTKAHYPAR_PRESETS = ("default", "quality", "highest-quality", "deterministic", "deterministic-quality", "large-k")


def kahip(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    mode: str = "eco",
    time_limit: float | None = TIME_LIMIT,
) -> Ints:
    """Partition the data with KaHIP's KaFFPa; int32 (data). Equal targets only: its Python module takes no others.

    `mode` is one of `MODES`; the rest as in `metis.metis_labels`. Raises BackendError when KaHIP is not installed or
    fails, ArgumentError for an unknown mode. Source: Sanders and Schulz 2013.
    """
    _check("mode", mode, MODES)
    return _on_data("kahip", graph, k, weights, None, balance, seed, None, time_limit, {"mode": mode})


def kaminpar(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    threads: int | None = None,
    preset: str = "default",
    time_limit: float | None = TIME_LIMIT,
) -> Ints:
    """Partition the data with KaMinPar; int32 (data). Repeatable on one thread only, which is the default.

    `preset` is one of `KAMINPAR_PRESETS`; the rest as in `metis.metis_labels`. Raises BackendError when KaMinPar is
    not installed or fails, ArgumentError for an unknown preset. Source: Gottesbüren et al. 2021.
    """
    _check("preset", preset, KAMINPAR_PRESETS)
    return _on_data("kaminpar", graph, k, weights, targets, balance, seed, threads, time_limit, {"preset": preset})


def mtkahypar(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    threads: int | None = None,
    preset: str = "default",
    time_limit: float | None = TIME_LIMIT,
) -> Ints:
    """Partition the data with Mt-KaHyPar on the plain graph; int32 (data). Only deterministic presets are repeatable.

    `preset` is one of `MTKAHYPAR_PRESETS`; the rest as in `metis.metis_labels`. Raises BackendError when Mt-KaHyPar is
    not installed or fails, ArgumentError for an unknown preset. Source: Gottesbüren et al. 2021, 2022.
    """
    _check("preset", preset, MTKAHYPAR_PRESETS)
    return _on_data("mtkahypar", graph, k, weights, targets, balance, seed, threads, time_limit, {"preset": preset})


def mtkahypar_km1(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    seed: int = 0,
    threads: int | None = None,
    preset: str = "default",
    time_limit: float | None = TIME_LIMIT,
) -> Ints:
    """Partition the jobs with Mt-KaHyPar on the hypergraph of jobs and data; int32 (jobs).

    A job is a vertex, a datum of two jobs or more a net: the connectivity metric (km1) is the weight of vertex copies.

    Args:
        graph: any locality graph.
        k: number of clusters.
        weights: float64 (jobs), positive; None means 1 each.
        targets: float64 (k), shares summing to 1; None means equal.
        balance, seed, threads, time_limit: as in `client.run_tool`. Only the deterministic presets are repeatable.
        preset: one of `MTKAHYPAR_PRESETS`.

    Returns:
        Labels in [0, k).

    Raises:
        ArgumentError: there is no such preset.
        BackendError: Mt-KaHyPar is not installed or failed.

    Source: Gottesbüren et al. 2021, 2022; stands in for PaToH and hMETIS too, which have no wheel.
    """
    _check("preset", preset, MTKAHYPAR_PRESETS)
    return run_tool(
        "mtkahypar-km1",
        job_nets(graph),
        k,
        None if weights is None else whole(weights),
        targets,
        balance=balance,
        seed=seed,
        threads=threads,
        time_limit=time_limit,
        options={"preset": preset},
    ).labels


def job_nets(graph: LocalityGraph) -> Nets:
    """The hypergraph whose vertices are the jobs, with a net for each datum of two jobs or more. O(pins).

    A net weighs what a copy of its datum costs; data that cost nothing are none.
    """
    starts, jobs = graph.transpose
    offsets, pins, weights = _nets(longs(starts), words(jobs), longs(copy_costs(graph)))
    return Nets(graph.n_jobs, offsets, pins.view(np.int32), weights)


def _on_data(
    tool: str,
    graph: LocalityGraph,
    k: int,
    weights: Floats | None,
    targets: Floats | None,
    balance: float,
    seed: int,
    threads: int | None,
    time_limit: float | None,
    options: dict[str, str],
) -> Ints:
    def run(plain: PlainGraph, loads: Longs, shares: Floats) -> Ints:
        return run_tool(
            tool, plain, k, loads, shares, balance=balance, seed=seed, threads=threads, time_limit=time_limit,
            options=options,
        ).labels  # fmt: skip

    return label_data(graph, k, weights, targets, run)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ArgumentError(f"{name} = {value!r}, one of {', '.join(known)} was expected")


@kept
def _nets(starts: Longs, jobs: Words, costs: Longs) -> tuple[Longs, Words, Longs]:
    """The data of two distinct jobs or more as nets, each job once; the jobs of a datum are in order."""
    offsets, pins = np.zeros(starts.size, np.int64), np.empty(jobs.size, np.uint32)
    weights = np.ones(starts.size - 1, np.int64)
    nets, count = 0, 0
    for datum in range(starts.size - 1):
        first = count
        if costs.size and costs[datum] == 0:
            continue
        for i in range(starts[datum], starts[datum + 1]):
            if count == first or pins[count - 1] != jobs[i]:
                pins[count] = jobs[i]
                count += 1
        if count - first > 1:
            if costs.size:
                weights[nets] = costs[datum]
            nets += 1
            offsets[nets] = count
        else:
            count = first
    return offsets[: nets + 1].copy(), pins[:count].copy(), weights[:nets].copy()
