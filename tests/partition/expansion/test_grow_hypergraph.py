"""Neighbourhood expansion against a slow reference, and its promises."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import partition
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.partition.expansion.bucket_queue import BUCKETS, PATIENCE
from tracecut.partition.expansion.grow_graph import grow_pairs
from tracecut.partition.expansion.grow_hypergraph import SKEWED, _grow, expansion, grow

pytestmark = pytest.mark.quick


class Reference:
    """The rules of the docstring over sets and lists."""

    def __init__(self, graph: LocalityGraph, weights: list[float], targets: list[float]) -> None:
        self.rows = [graph.data[a:b].tolist() for a, b in pairwise(graph.offsets)]
        self.jobs_of: list[list[int]] = [[] for _ in range(graph.n_data)]
        for job, row in enumerate(self.rows):
            for datum in row:
                self.jobs_of[datum].append(job)
        degrees = [len(jobs) for jobs in self.jobs_of]
        self.even = max(degrees, default=0) * graph.n_data <= SKEWED * graph.n_pins
        self.open = degrees
        self.labels: dict[int, int] = {}
        self.weights = weights
        self.ends = (np.cumsum(targets) * sum(weights)).tolist()
        self.load = 0.0
        self.inside: set[int] = set()
        self.joined: set[int] = set()
        self.queue: defaultdict[int, list[int]] = defaultdict(list)

    def run(self) -> tuple[list[int], list[int]]:
        border: list[int] = []
        for cluster in range(len(self.ends) - 1):
            self.inside, self.joined, self.queue = set(), set(), defaultdict(list)
            members: list[int] = []
            if not self.grow(cluster, members, border):
                break
            ordered = sorted((self.open[y], y) for y in members if self.open[y])
            border = [] if self.even else [y for _, y in ordered]
        last = 0
        for job in range(len(self.rows)):
            if job not in self.labels:
                while last < len(self.ends) - 1 and self.load + 0.5 * self.weights[job] > self.ends[last]:
                    last += 1
                self.load += self.weights[job]
                self.labels[job] = last
        return [self.labels[job] for job in range(len(self.rows))], list(self.labels)

    def grow(self, cluster: int, members: list[int], border: list[int]) -> bool:
        """Whether the cluster got full."""
        while True:
            buckets = [bucket for bucket in sorted(self.queue) if self.queue[bucket]]
            small = self.beside_the_hub(cluster) if buckets == [BUCKETS - 1] and not self.even else []
            if small:
                fresh = small[:1]
                self.inside.add(fresh[0])
            elif buckets:
                x = self.queue[buckets[0]].pop()
                fresh = []
                for job in self.jobs_of[x]:
                    if job not in self.labels:
                        for y in self.rows[job]:
                            if y not in self.inside:
                                self.inside.add(y)
                                fresh.append(y)
            else:
                from_border = [y for y in border if self.open[y] and y not in self.inside]
                anywhere = [y for y in range(len(self.open)) if self.open[y]]
                if not anywhere:
                    return False
                fresh = [(from_border or anywhere)[0]]
                self.inside.add(fresh[0])
            members += fresh
            for y in fresh:
                if self.join(y, cluster):
                    return True

    def beside_the_hub(self, cluster: int) -> list[int]:
        """What may join in place of a hub that would fill much of the cluster."""
        hub = self.queue[BUCKETS - 1][-1]
        mean = self.ends[-1] / len(self.rows)
        if PATIENCE * mean * self.open[hub] <= self.ends[cluster] - self.load:
            return []
        others = [y for job in self.jobs_of[hub] if job not in self.labels for y in self.rows[job]]
        return [y for y in others if y not in self.inside and self.open[y] < BUCKETS]

    def join(self, y: int, cluster: int) -> bool:
        self.joined.add(y)
        for job in self.jobs_of[y]:
            if job in self.labels or not self.joined.issuperset(self.rows[job]):
                continue
            if self.load + 0.5 * self.weights[job] > self.ends[cluster]:
                return True
            self.load += self.weights[job]
            self.labels[job] = cluster
            for z in self.rows[job]:
                old = min(self.open[z], BUCKETS - 1)
                self.open[z] -= 1
                new = min(self.open[z], BUCKETS - 1)
                if new != old and z in self.queue[old]:
                    self.queue[old].remove(z)
                    if new:
                        self.queue[new].insert(0 if self.even else len(self.queue[new]), z)
        if self.open[y]:
            self.queue[min(self.open[y], BUCKETS - 1)].insert(0, y)
        return False


@settings(deadline=None, max_examples=150)
@given(data=st.data(), k=st.integers(1, 6))
def test_equals_the_reference(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph = data.draw(graphs)
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    targets = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=k, max_size=k)))
    targets /= targets.sum()
    labels, order = Reference(graph, weights.tolist(), targets.tolist()).run()
    found, placed = grow(graph, k, weights=weights, targets=targets)
    assert found.tolist() == labels
    assert placed.tolist() == order


@pytest.mark.parametrize("hub", [False, True])
def test_equals_the_reference_on_a_mesh(mesh: LocalityGraph, hub: bool) -> None:
    """With and without a hub on every third vertex, which turns the border rules over."""
    graph = mesh
    if hub:
        size = mesh.n_data
        extra = np.arange(0, size, 3, dtype=np.int32)
        u = np.concatenate([mesh.data[0::2], extra])
        v = np.concatenate([mesh.data[1::2], np.full(extra.size, size, np.int32)])
        graph = LocalityGraph.from_edges(u, v, size + 1)
    labels, order = Reference(graph, [1.0] * graph.n_jobs, [1 / 7] * 7).run()
    found, placed = grow(graph, 7)
    assert found.tolist() == labels and placed.tolist() == order


@settings(deadline=None, max_examples=150)
@given(data=st.data(), k=st.integers(1, 6), even=st.booleans())
def test_jobs_of_two_data_are_placed_as_all_others(data: st.DataObject, k: int, even: bool) -> None:
    """Both kernels agree on graphs with loops, parallel jobs, hubs, weights and any targets."""
    ends = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11) if even else st.sampled_from([0, 3, 7])))
    u, v = np.array(data.draw(ends), np.int32).reshape(-1, 2).T
    graph = LocalityGraph.from_edges(u, v, 12)
    weights = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=u.size, max_size=u.size)))
    loads = np.zeros(0) if data.draw(st.booleans()) else weights
    total = float(loads.sum()) if loads.size else float(u.size)
    shares = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=k, max_size=k)))
    running = floats(np.cumsum(shares / shares.sum()) * total)
    starts, near = graph.transpose
    labels, order = _grow(
        longs(graph.offsets), words(graph.data), longs(starts), words(near).copy(), floats(loads), running, even
    )
    found, placed = grow_pairs(words(graph.data), graph.n_data, floats(loads), running, even)
    assert found.tolist() == labels.tolist()
    assert placed.tolist() == order.tolist()


@settings(deadline=None, max_examples=100)
@given(data=st.data(), k=st.integers(1, 9))
def test_loads_are_exact_up_to_one_job(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph = data.draw(graphs)
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    loads = np.bincount(expansion(graph, k, weights=weights), weights, k)
    assert np.abs(loads - weights.sum() / k).max() <= weights.max(initial=0.0) * (1 + 1e-9)


def test_hubs() -> None:
    """A job on two hubs, and hubs of every job; k above the number of jobs leaves clusters empty."""
    wheel = LocalityGraph.from_edges(np.zeros(500, np.int32), np.arange(1, 501))
    assert np.bincount(expansion(wheel, 7)).tolist() == [71, 72, 71, 72, 71, 72, 71]
    assert vertex_copies(wheel, Clustering(expansion(wheel, 7), 7)) == 6
    both = LocalityGraph.from_edges([0, *([0, 1] * 200)], [1, *range(2, 402)])
    assert vertex_copies(both, Clustering(expansion(both, 2), 2)) <= 1
    assert np.bincount(expansion(wheel, 1000), minlength=1000).max() == 1


def test_a_hub_of_everything_is_shared_out_along_the_rest() -> None:
    """5,000 chains that begin at one datum: only that one and a chain at each cut are copied."""
    leaves = np.arange(1, 20_001, dtype=np.int32).reshape(5000, 4)
    first, rest = leaves[:, 0], leaves[:, [0, 1, 1, 2, 2, 3]].reshape(-1, 2)
    ends = np.concatenate([np.stack([np.zeros(5000, np.int32), first], 1), rest])
    graph = LocalityGraph.from_edges(ends[:, 0], ends[:, 1])
    assert vertex_copies(graph, Clustering(expansion(graph, 8), 8)) <= 3 * 7


def test_a_mesh_is_cut_well(mesh: LocalityGraph) -> None:
    found = partition(mesh, 6, "expansion")
    assert found.method == "expansion" and np.ptp(found.sizes()) <= 1
    assert vertex_copies(mesh, found) <= 1.2 * vertex_copies(mesh, partition(mesh, 6, "metis"))
