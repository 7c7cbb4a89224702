"""Loads of links against routes taken one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracecut.ir import metrics
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.placement import Placement
from tracecut.mapping.link_loads import link_loads, message_link_loads
from tracecut.mapping.place import place
from tracecut.mapping.tasks.locality import clusters_of_locality
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick


def a_case(k: int, seed: int) -> tuple[LocalityGraph, Clustering]:
    generator = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(generator.integers(1, 5, 200))])
    graph = LocalityGraph(offsets, generator.integers(0, 60, offsets[-1]).astype(np.int32), 60)
    if seed % 2:
        graph = replace(graph, job_weights=generator.integers(0, 9, 200).astype(float))
    return graph, Clustering(generator.integers(0, k, 60).astype(np.int32), k, "data")


@pytest.mark.parametrize("word", ["mesh:3x4", "tree:2x3x2", "uma:5", "mesh:1x1", "torus:4x3"])
@pytest.mark.parametrize("seed", range(4))
def test_every_job_goes_its_way(word: str, seed: int) -> None:
    machine = Machine.named(word)
    graph, clustering = a_case(len(machine.cores), seed)
    placement = place(clustering_of(graph, clustering), machine, "random", seed=seed)
    slow = np.zeros(machine.joined.links)
    for job in range(graph.n_jobs):
        data = graph.data[graph.offsets[job] : graph.offsets[job + 1]]
        nodes = machine.core_nodes[placement.core_of[clustering.labels[data]]]
        for node in nodes[1:]:
            slow[machine.joined.route(int(nodes[0]), int(node))] += graph.job_weights[job] if seed % 2 else 1.0
    found = link_loads(graph, clustering, placement, machine)
    np.testing.assert_array_equal(found, slow)
    if word.startswith(("mesh", "torus")):
        placed = Clustering(placement.core_of[clustering.labels], clustering.k, "data")
        assert found.sum() == metrics.hop_cost(graph, placed, machine.distances())


def clustering_of(graph: LocalityGraph, clustering: Clustering) -> Clustering:
    return Clustering(clustering.labels, clustering.k, "data", graph=graph)


@pytest.mark.parametrize("word", ["mesh:3x4", "tree:2x3x2", "uma:5"])
def test_messages_of_clusters_go_their_ways(word: str) -> None:
    machine = Machine.named(word)
    graph, clustering = a_case(7, 3)
    clusters = clusters_of_locality(graph, clustering)
    placement = place(clusters, machine, "random", seed=1)
    slow = np.zeros(machine.joined.links)
    nodes = machine.core_nodes[placement.core_of]
    for a, b, messages in zip(clusters.src, clusters.dst, clusters.messages, strict=True):
        slow[machine.joined.route(int(nodes[a]), int(nodes[b]))] += messages
    np.testing.assert_array_equal(message_link_loads(clusters, placement, machine), slow)
    with pytest.raises(ArgumentError, match="7 were given"):
        message_link_loads(clusters, Placement(placement.core_of[:3], placement.n_cores), machine)
    with pytest.raises(ArgumentError, match="cores"):
        message_link_loads(clusters, Placement(placement.core_of, 99), machine)


def test_refused() -> None:
    graph, clustering = a_case(4, 0)
    machine = Machine.mesh(2, 2)
    with pytest.raises(ArgumentError, match="has 3 clusters"):
        link_loads(graph, clustering, Placement(np.arange(3, dtype=np.int32), 4, "m"), machine)
    with pytest.raises(ArgumentError, match="core"):
        link_loads(graph, clustering, Placement(np.arange(4, dtype=np.int32), 9, "m"), machine)
    jobs = Clustering(np.zeros(200, np.int32), 4, "jobs")
    with pytest.raises(ArgumentError, match="data"):
        link_loads(graph, jobs, Placement(np.arange(4, dtype=np.int32), 4, "m"), machine)
