"""Which core of a machine each cluster runs on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.machine.machine import NAMED, Machine
from tracecut.ir.placement import Placement
from tracecut.mapping.placing.core_orders import by_region, far_apart
from tracecut.mapping.placing.costs import Layout, layout
from tracecut.mapping.placing.hierarchical import hierarchical
from tracecut.mapping.placing.memory_centric import memory_centric
from tracecut.mapping.placing.memory_centric_greedy import Rules, memory_centric_greedy
from tracecut.mapping.placing.swaps import swap_refined
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.mapping.tasks.locality import clusters_of_locality
from tracecut.mapping.tasks.task_graph import cluster_graph, task_graph
from tracecut.support.argument_checks import SEED, check_type
from tracecut.support.arrays import Ints
from tracecut.support.errors import ArgumentError

GREEDY = "memory-centric-greedy"


def place(
    clustering: Clustering | ClusterGraph,
    machine: Machine,
    method: str = "memory-centric",
    seed: int = 0,
    *,
    graph: DependenceGraph | None = None,
    rules: Rules | None = None,
) -> Placement:
    """Which core runs which cluster.

    Args:
        clustering: of `graph`; or of a LocalityGraph that it knows (`partition` returns such ones); or the
            interactions of clusters from `mapping.tasks`.
        machine: of up to 8,192 cores.
        method: `"memory-centric"`, by the factors of VertexCut §5.2: clusters share a core where an estimate says so,
            and what shares a core is placed by recursive bisection and swaps; `"memory-centric-greedy"`, the greedy of
            that section as published (Algorithm 2), in time linear in clusters and interactions; `"hierarchical"`,
            recursive bisection of the machine and the clusters; `"swap"`, that refined by moves and exchanges;
            `"round-robin"`; `"random"`, as many clusters on each core (±1).
        seed: of `"random"`; the others are deterministic without.
        graph: the dependence graph that `clustering` labels the edges or vertices of.
        rules: of `"memory-centric-greedy"`, which of the three factors of VertexCut §5.2 count.

    Returns:
        A Placement, with `method` and the machine in it.

    Raises:
        ArgumentError: an unknown method, a clustering without a graph, or one of another graph.
    """
    check_type("machine", machine, Machine, NAMED)
    if not isinstance(clustering, ClusterGraph):
        check_type("clustering", clustering, Clustering)
    known = _METHODS.get(method)
    if known is None:
        raise ArgumentError(f"method = {method!r}, one of {', '.join(_METHODS)} was expected")
    if rules is not None and method != GREEDY:
        raise ArgumentError(f"rules are those of {GREEDY}, method = {method!r}")
    start = int(SEED.value("seed", seed))
    clusters = interactions(clustering, graph)
    core_of = known(layout(clusters, machine), machine, start, rules)
    return Placement(core_of, len(machine.cores), method, machine.name)


def interactions(clustering: Clustering | ClusterGraph, graph: DependenceGraph | None = None) -> ClusterGraph:
    """The interactions of the clusters of a clustering. Raises ArgumentError if its graph is not known."""
    if isinstance(clustering, ClusterGraph):
        return clustering
    if graph is not None:
        return cluster_graph(task_graph(graph, clustering))
    if clustering.graph is None:
        raise ArgumentError(
            "the clustering has no graph, so the interactions of its clusters are not known",
            hint="Give graph=, or a clustering that partition returned.",
        )
    return clusters_of_locality(clustering.graph, clustering)


def _round_robin(found: Layout, machine: Machine, seed: int, rules: Rules | None) -> Ints:
    """Cluster c on core c mod cores."""
    return (np.arange(found.load.size) % found.speed.size).astype(np.int32)


def _random(found: Layout, machine: Machine, seed: int, rules: Rules | None) -> Ints:
    k, cores = found.load.size, found.speed.size
    generator = np.random.default_rng(seed)
    return generator.permutation(cores).astype(np.int32)[generator.permutation(k) % cores]


def _swap(found: Layout, machine: Machine, seed: int, rules: Rules | None) -> Ints:
    return swap_refined(found, hierarchical(found, by_region(machine)))


_METHODS: dict[str, Callable[[Layout, Machine, int, Rules | None], Ints]] = {
    "memory-centric": lambda found, machine, seed, rules: memory_centric(found, by_region(machine), far_apart(machine)),
    GREEDY: lambda found, machine, seed, rules: memory_centric_greedy(found, far_apart(machine), rules),
    "hierarchical": lambda found, machine, seed, rules: hierarchical(found, by_region(machine)),
    "swap": _swap,
    "round-robin": _round_robin,
    "random": _random,
}
PLACING = tuple(_METHODS)
