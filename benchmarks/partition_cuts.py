"""Vertex cuts of few copies: expansion, SPAC with km1 refinement, multilevel, and all of them on real graphs."""

from __future__ import annotations

from collections.abc import Iterator

from graphs import attachment
from measuring import Input, Options, bar, installed, interleaved, quality, timed, wall
from rows import Row
from tracecut.ir import Clustering
from tracecut.partition import partition
from tracecut.partition.external.client import run_tool
from tracecut.partition.external.kaminpar_kahip_mtkahypar import job_nets

# HEP (τ = 100, on R-MAT 10), k = 64: cost and CPU seconds, by its authors' code on the same graphs.
HEP = {
    "dag250k": (41_438, 0.12),
    "ba50k_d8": (94_212, 0.05),
    "ba200k_d16": (672_250, 0.75),
    "rmat18": (456_850, 1.04),
    "spmv150k": (691_801, 0.64),
    "delaunay250k": (9_655, 0.19),
    "grid3d63": (31_943, 0.11),
}
SPAC = ("ba50k_d8", "dag250k", "delaunay250k")
MULTILEVEL = ("dag250k", "ba50k_d8", "delaunay250k", "grid3d63", "memplus", "wing", "email-Enron", "USA-road-NY")
# Degree-weighted METIS with majority placement, k = 64: cost.
WEIGHTED_METIS = {"delaunay250k": 7_264, "grid3d63": 37_985, "dag250k": 43_248, "ba50k_d8": 117_675}
OF_REAL = ("wb-libra", "expansion", "spac", "multilevel", "metis")
SLOW = 1 << 20  # pins from which METIS on SPAC's graph takes minutes


def expansion(given: Input, options: Options) -> Iterator[Row]:
    """Neighbourhood expansion, k = 64, against HEP."""
    cost, peer_seconds = HEP[given.name]
    found, seconds = timed(lambda: partition(given.graph, 64, "expansion"), max(options.repeat, 3))
    yield from quality(given.name, "expansion k=64", found, "HEP", cost)
    yield Row(given.name, "natural", "expansion k=64: CPU s", seconds, "HEP", peer_seconds)
    rate = 5.0 if given.name in ("dag250k", "grid3d63") else 1.5
    yield bar(given.name, "expansion k=64: M edges/s", given.graph.n_jobs / seconds / 1e6, "≥", rate)


def spac(given: Input, options: Options) -> Iterator[Row]:
    """SPAC with km1 refinement against SPAC + METIS, k = 64, one thread: bars 0.80 of the cost at 1.2 of the time.

    Inside the refined one grows expansion, which `inner="auto"` takes on graphs of this size where refinement follows.
    """
    found = interleaved(
        {
            "spac": lambda: partition(given.graph, 64, "spac"),
            "refined": lambda: partition(given.graph, 64, "spac", refine="km1", threads=1),
        },
        options.repeat,
    )
    (plain, plain_seconds), (refined, seconds) = found["spac"], found["refined"]
    yield from quality(given.name, "spac + km1 k=64", refined, "SPAC + METIS", plain.cost())
    yield Row(given.name, "natural", "spac + km1 k=64: CPU s", seconds, "SPAC + METIS", plain_seconds)
    yield Row(given.name, "natural", "SPAC + METIS k=64: imbalance", plain.imbalance(), "allowed", 1.03)


def large(_: Input | None, options: Options) -> Iterator[Row]:
    """2 million vertices and 16 million edges by preferential attachment, SPAC + km1 on two threads: under 18 s."""
    edges = attachment("ba2m_d16", 2_000_000, 8, 11)
    graph = edges.locality()
    start = wall()
    found = partition(graph, 64, "spac", refine="km1", threads=2)
    yield bar("ba2m_d16", "spac + km1 k=64 2 threads: wall s", wall() - start, "<", 18.0)
    yield from quality("ba2m_d16", "spac + km1 k=64 2 threads", found)


def multilevel(given: Input, options: Options) -> Iterator[Row]:
    """Multilevel against Mt-KaHyPar km1 (DEFAULT, 3 %) on a thread each: bars 1.05 of the cost, 1/5 of the time."""
    graph = given.graph
    calls = {"ours": lambda: partition(graph, 64, "multilevel", threads=1)}
    peer = installed("mtkahypar-km1")
    if peer:
        nets = job_nets(graph)
        calls["peer"] = lambda: run_tool("mtkahypar-km1", nets, 64, options={"preset": "default"})
    found = interleaved(calls, options.repeat)
    ours, seconds = found["ours"]
    if not peer:
        yield from quality(given.name, "multilevel k=64", ours)
        yield Row(given.name, "natural", "multilevel k=64: CPU s", seconds)
        return
    answer, peer_seconds = found["peer"]
    other = Clustering(answer.labels, 64, graph=graph)
    yield from quality(given.name, "multilevel k=64", ours, "Mt-KaHyPar km1", other.cost())
    yield Row(given.name, "natural", "multilevel k=64: CPU s", seconds, "Mt-KaHyPar km1", peer_seconds)
    yield Row(given.name, "natural", "Mt-KaHyPar km1 k=64: imbalance", other.imbalance(), "allowed", 1.03)


def weighted_vertex_partition(given: Input, options: Options) -> Iterator[Row]:
    """WVP random and greedy, k = 64, against the figures of degree-weighted METIS with majority placement."""
    for method in ("wvp-random", "wvp-greedy"):
        found = partition(given.graph, 64, method)
        yield from quality(given.name, f"{method} k=64", found, "METIS by degree", WEIGHTED_METIS[given.name])


def real_graphs(given: Input, options: Options) -> Iterator[Row]:
    """Real graphs of every class, k = 64: cost against random placement, CPU seconds."""
    random = partition(given.graph, 64, "random").cost()
    for method in OF_REAL:
        if given.graph.n_pins > SLOW and method in ("spac", "metis"):
            continue
        found, seconds = timed(lambda method=method: partition(given.graph, 64, method), 1)
        yield from quality(given.name, f"{method} k=64", found, "random", random)
        yield Row(given.name, "natural", f"{method} k=64: CPU s", seconds)
    found = partition(given.graph, 64, "compnet")
    yield from quality(given.name, "compnet k=64", found, "random", random)
