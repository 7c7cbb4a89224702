"""How much the jobs of a graph send over each link of a machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.routes import Routes, route
from tracecut.ir.metrics import edge_cut
from tracecut.ir.placement import Placement
from tracecut.partition.datastructures.typed_views import floats, longs
from tracecut.support.arrays import Floats, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .tasks.cluster_graph import ClusterGraph


def link_loads(graph: LocalityGraph, clustering: Clustering, placement: Placement, machine: Machine) -> Floats:
    """Σ over jobs of weight, for each link on the way from a job's first datum to each of its others; float64 (links).

    Links are numbered as `Network.route` does. On a mesh or torus their sum is `metrics.hop_cost`, and the largest is
    the maximum link load: no program that sends so much can take less than its time over one link's bandwidth.

    Args:
        graph: whose jobs count by their weights, 1 where they have none.
        clustering: of its data. placement: of its clusters on the machine's cores.

    Raises:
        ArgumentError: the clustering is of jobs or of another graph, the placement of another machine.

    O(pins + pairs of cores that talk · links between them).
    """
    edge_cut(graph, clustering)  # refuses a clustering of another graph or of jobs
    placement.check_fits(machine)
    if placement.core_of.size != clustering.k:
        raise ArgumentError(f"the placement has {placement.core_of.size} clusters, the clustering has {clustering.k}")
    nodes = machine.core_nodes[placement.core_of]
    counts = np.diff(graph.offsets)
    job = np.repeat(np.arange(graph.n_jobs), counts)
    src = nodes[clustering.labels[graph.data[graph.offsets[job]]]]
    dst = nodes[clustering.labels[graph.data]]
    weight = graph.job_weights[job] if graph.job_weights.size else np.ones(job.size)
    apart = src != dst
    return _on_links(src[apart], dst[apart], weight[apart], machine)


def message_link_loads(clusters: ClusterGraph, placement: Placement, machine: Machine) -> Floats:
    """Messages of placed clusters over each link, float64 (links); ArgumentError for another machine's placement."""
    placement.check_fits(machine)
    if placement.core_of.size != clusters.k:
        raise ArgumentError(f"the placement has {placement.core_of.size} clusters, {clusters.k} were given")
    nodes = machine.core_nodes[placement.core_of]
    return _on_links(nodes[clusters.src], nodes[clusters.dst], clusters.messages, machine)


def _on_links(src: Longs, dst: Longs, amount: Floats, machine: Machine) -> Floats:
    """What nodes send each other, over the links that it takes."""
    network = machine.joined
    pairs, place = np.unique(src * np.int64(network.nodes) + dst, return_inverse=True)
    sums = np.bincount(place, amount, pairs.size).astype(np.float64)
    found = np.zeros(network.links)
    spread(network.routes, longs(pairs), floats(sums), network.nodes, network.longest_route, found)
    return found


@kept
def spread(routes: Routes, pairs: Longs, sums: Floats, nodes: Any, longest: int, found: Floats) -> None:
    """Add `sums` of each pair of nodes (a · nodes + b) to `found`, float64 (links), on the links from a to b."""
    path = np.empty(max(1, longest), np.int64)
    for place in range(pairs.size):
        for step in range(route(routes, pairs[place] // nodes, pairs[place] % nodes, path)):
            found[path[step]] += sums[place]
