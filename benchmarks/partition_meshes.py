"""Meshes: vertex copies, ParCubed against METIS, geometric methods against METIS."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from graphs import million
from measuring import Input, Options, bar, cpu_seconds, installed, interleaved, metis, quality, timed
from rows import Row
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import edge_cut, oversized_share
from tracecut.partition import partition
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.external.client import Answer, run_tool
from tracecut.support.errors import BackendError

K = 64
EVEN = 1.03  # largest load over its target, for all
METIS = "METIS k-way"
LONGEST = 45.0  # seconds of the wall clock for one run of a peer
PRESETS: tuple[tuple[str, dict[str, str]], ...] = (
    *(("kahip", {"mode": mode}) for mode in ("fast", "eco", "strong")),
    *(("kaminpar", {"preset": preset}) for preset in ("default", "strong")),
    *(("mtkahypar", {"preset": preset}) for preset in ("default", "quality", "deterministic")),
)


def copies(given: Input, options: Options) -> Iterator[Row]:
    """Vertex copies on a mesh, k = 64, by every method that is not a peer: METIS-WVP 7,264, Mt-KaHyPar 5,659."""
    candidates = {
        "multilevel": {},
        "metis + km1": {"method": "metis", "refine": "km1"},
        "geographer-r + km1": {"method": "geographer-r", "refine": "km1", "coords": given.coords},
        "auto": {"coords": given.coords},
    }
    for name, arguments in candidates.items():
        method = arguments.pop("method", name)
        found, seconds = timed(
            lambda method=method, rest=arguments: partition(given.graph, K, method, **rest), options.repeat
        )
        yield from quality(given.name, f"{name} k={K}", found, "bar ≤", 6_000.0)
        yield Row(given.name, "natural", f"{name} k={K}: CPU s", seconds)


def parcubed(given: Input | None, options: Options) -> Iterator[Row]:
    """ParCubed on one core against METIS (k-way, its defaults), k = 64 and 1024, both at ε = 1.03.

    Two clocks: from the edges, which counts what each builds before it begins (the incidence of each datum here, rows
    of neighbours for METIS), and with that at hand on both sides. Bars: 10 and 40 times faster, cut 1.27.
    """
    if given is None:
        name, graph = "delaunay1m", million().locality()
    else:
        name, graph = given.name, given.graph
    plain = data_graph(graph)
    graph.transpose  # noqa: B018  (at hand for the second clock)
    for k, faster in ((64, 10.0), (1024, 40.0)):
        found = interleaved(
            {
                "det": lambda k=k: partition(graph, k, "parcubed-det", of="data", threads=1, balance=EVEN),
                "det, edges": lambda k=k: partition(
                    replace(graph), k, "parcubed-det", of="data", threads=1, balance=EVEN
                ),
                "metis": metis(plain, k, balance=EVEN),
                "metis, edges": lambda k=k: _metis_from_edges(graph, k),
            },
            max(options.repeat, 3),
        )
        (ours, seconds), (answer, peer_seconds) = found["det"], found["metis"]
        other = Clustering(answer.labels, k, "data", graph=graph)
        metric = f"parcubed-det k={k}"
        yield Row(name, "natural", f"{metric}: edge cut", ours.cost(), METIS, other.cost())
        yield bar(name, f"{metric}: edge cut / METIS", ours.cost() / other.cost(), "≤", 1.27)
        yield Row(name, "natural", f"{metric}, rows at hand: CPU s", seconds, METIS, peer_seconds)
        yield Row(
            name, "natural", f"{metric}, from edges: CPU s", found["det, edges"][1], METIS, found["metis, edges"][1]
        )
        ratio = found["metis, edges"][1] / found["det, edges"][1]
        yield bar(name, f"{metric}, from edges: times faster than METIS", ratio, "≥", faster)
        yield Row(name, "natural", f"{metric}: imbalance", ours.imbalance(), METIS, other.imbalance())
        yield Row(name, "natural", f"{metric}: empty parts", float((ours.sizes() == 0).sum()))
        for method in ("parcubed", "gpart"):
            published = partition(graph, k, method, of="data", threads=1) if method == "parcubed" else _gpart(graph, k)
            metric = f"{method} k={k}"
            share = float((published.sizes() > 0).sum()) / k
            yield bar(name, f"{metric}: parts / k", share, "≥", 0.97 if method == "gpart" else 1.0)
            yield Row(name, "natural", f"{metric}: edge cut", published.cost(), METIS, other.cost())
            yield Row(name, "natural", f"{metric}: oversized share", oversized_share(graph, published))


def _metis_from_edges(graph: LocalityGraph, k: int) -> Answer:
    """METIS, and what making its rows of neighbours takes."""
    start = cpu_seconds()
    plain = data_graph(replace(graph))
    spent = cpu_seconds() - start
    found = metis(plain, k, balance=EVEN)()
    return replace(found, cpu_seconds=found.cpu_seconds + spent)


def _gpart(graph: LocalityGraph, k: int) -> Clustering:
    """Labels as GPart itself leaves them: the parts that `partition` fills up afterwards are not counted."""
    from tracecut.partition.shared_memory.parcubed import gpart

    return Clustering(gpart(graph, k), k, "data", "gpart", graph=graph)


def geometric(given: Input, options: Options) -> Iterator[Row]:
    """k-means, Geographer-R and hierarchical k-means against METIS by edge cut, k = 64, equal and unequal targets."""
    graph, coords = given.graph, given.coords
    if coords is None:
        raise ValueError(f"{given.name} has no coordinates")
    plain = data_graph(graph)
    ones = np.ones(graph.n_data)
    uneven = np.where(np.arange(K) < K // 4, 2.0, 1.0)
    uneven /= uneven.sum()
    shared = {"of": "data", "coords": coords, "weights": ones}
    found = interleaved(
        {
            "kmeans": lambda: partition(graph, K, "kmeans", **shared),
            "hkmeans": lambda: partition(graph, K, "hkmeans", hierarchy=[4, 4, 4], **shared),
            "geographer-r": lambda: partition(graph, K, "geographer-r", **shared),
            "metis": metis(plain, K),
        },
        options.repeat,
    )
    other = Clustering(found["metis"][0].labels, K, "data", graph=graph)
    peer = edge_cut(graph, other)
    for name in ("kmeans", "hkmeans", "geographer-r"):
        ours, seconds = found[name]
        yield Row(given.name, "natural", f"{name} k={K}: edge cut", ours.cost(), "METIS", float(peer))
        yield Row(given.name, "natural", f"{name} k={K}: CPU s", seconds, "METIS", found["metis"][1])
        yield Row(given.name, "natural", f"{name} k={K}: imbalance", ours.imbalance(), "allowed", 1.03)
    cells = partition(graph, K, "kmeans", borders=False, **shared)
    yield Row(given.name, "natural", f"kmeans by coordinates alone k={K}: edge cut", cells.cost(), "METIS", float(peer))
    flat = found["kmeans"][0].cost()
    yield Row(given.name, "natural", f"hkmeans k={K}: edge cut / kmeans", found["hkmeans"][0].cost(), "kmeans", flat)
    yield Row(given.name, "natural", f"METIS k={K}: imbalance", other.imbalance(), "allowed", 1.03)
    for name in ("kmeans", "geographer-r"):
        ours = partition(graph, K, name, targets=uneven, **shared)
        yield Row(given.name, "natural", f"{name} k={K} unequal: edge cut", ours.cost())
        yield Row(given.name, "natural", f"{name} k={K} unequal: imbalance", ours.imbalance(), "allowed", 1.03)


def peers_on_data(given: Input, options: Options) -> Iterator[Row]:
    """Every vertex partitioner of other projects by edge cut, k = 64, ε = 1.03, by preset, against METIS.

    All get the same rows of neighbours, and of all the seconds inside their library count, with what turns the rows
    into its own form. Each call has a process of its own, so there is nothing to warm up. One that takes longer than
    `LONGEST` has no figures.
    """
    plain = data_graph(given.graph)
    reference, seconds = _median(lambda: metis(plain, K, balance=EVEN)(), options.repeat)
    best = Clustering(reference.labels, K, "data", graph=given.graph)
    yield Row(given.name, "natural", f"{METIS} k={K}: edge cut", best.cost())
    yield Row(given.name, "natural", f"{METIS} k={K}: CPU s", seconds)
    yield Row(given.name, "natural", f"{METIS} k={K}: imbalance", best.imbalance(), "allowed", EVEN)
    for tool, preset in PRESETS:
        if not installed(tool):
            continue
        title = f"{tool} {next(iter(preset.values()))} k={K}"

        def call(tool: str = tool, preset: dict[str, str] = preset) -> Answer:
            return run_tool(tool, plain, K, balance=EVEN, time_limit=LONGEST, options=preset)

        try:
            answer, spent = _median(call, options.repeat)
        except BackendError as error:
            print(f"# {title} on {given.name}: {error.message}", flush=True)
            yield Row(given.name, "natural", f"{title}: edge cut", None, METIS, best.cost())
            continue
        found = Clustering(answer.labels, K, "data", graph=given.graph)
        yield Row(given.name, "natural", f"{title}: edge cut", found.cost(), METIS, best.cost())
        yield Row(given.name, "natural", f"{title}: CPU s", spent, METIS, seconds)
        yield Row(given.name, "natural", f"{title}: imbalance", found.imbalance(), "allowed", EVEN)


def _median(call: Callable[[], Answer], repeat: int) -> tuple[Answer, float]:
    """The last answer, and the median of the seconds that the library says."""
    answers = [call() for _ in range(repeat)]
    return answers[-1], statistics.median(answer.cpu_seconds for answer in answers)
