"""Which order of the jobs cuts into the best thread blocks: those that together touch the fewest data.

Each block reads and writes what it touches once, so the sum over all blocks is what the memory has to deliver.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from tracecut.codegen.schedule.graph.candidate_orders import cluster_methods, linear_methods, make_order, seconds
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.ir.ordering import Ordering
from tracecut.support.arrays import Ints
from tracecut.support.errors import TracecutError, UnsupportedError

AUTO = "auto"
SECONDS = 20.0  # for each method that makes clusters, and for all clusters together by what they are known to take
KNOWN = 1024  # jobs of a cluster
SLOW = 1 << 24  # pins from which on only linear orders are tried


class BlockOrders:
    """Orders of jobs and data for blocks of several sizes; what one size needs serves the others, too."""

    def __init__(self, graph: LocalityGraph, method: str, *, seed: int = 0) -> None:
        """`method`: of `partition`, or `auto`: the one whose blocks touch the fewest data."""
        self.graph, self.method, self.seed = graph, method, seed
        self.why = ""
        self._made: dict[tuple[str, int], Ordering | None] = {}
        self._left = SECONDS

    def best(self, jobs: int) -> Ordering:
        """The order for blocks of at most so many jobs, the same each time.

        Raises UnsupportedError when no order could be made. Takes what the methods take: linear orders are made once,
        clusters for each size until they would take 20 s together, by what they are known to take.
        """
        k = max(1, -(-self.graph.n_jobs // jobs))
        if self.method != AUTO:
            return make_order(self.graph, self.method, k=k, seed=self.seed)
        for name in linear_methods(self.graph):
            self._make(name, 1)
        if self.graph.n_pins <= SLOW and k > 1:
            for name in cluster_methods(self.graph):
                self._make(name, k)
        found = [(touched(self.graph, order, jobs), order) for order in self._made.values() if order is not None]
        if not found:
            raise UnsupportedError(f"no order could be made: {self.why}")
        return min(found, key=lambda each: each[0])[1]

    def _make(self, name: str, k: int) -> None:
        if (name, k) in self._made:
            return
        # What is known of the methods was measured with fewer, larger clusters.
        cost = 0.0 if k == 1 else seconds(name, self.graph, None) * max(1.0, KNOWN * k / self.graph.n_jobs)
        if cost > self._left and any(order is not None for order in self._made.values()):
            return
        self._left -= cost
        try:
            self._made[name, k] = make_order(self.graph, name, k=k, seed=self.seed, time_limit=SECONDS)
        except TracecutError as error:
            self.why = self.why or f"{name}: {error.message}"
            self._made[name, k] = None


def gathered_by_blocks(graph: LocalityGraph, ordering: Ordering, jobs: int) -> Ordering:
    """The same jobs, and in each space the data of a block side by side: by the first and the last block to touch them.

    What a block copies into shared memory then lies in few sectors; data that the same two blocks share are together,
    too. Within such a group the data keep their order. O(pins + data log data).
    """
    labels, _ = _labels(graph, ordering, jobs)
    pins = np.repeat(labels, np.diff(graph.offsets))
    first = np.full(graph.n_data, np.iinfo(np.int32).max, np.int32)
    last = np.full(graph.n_data, -1, np.int32)
    np.minimum.at(first, graph.data, pins)
    np.maximum.at(last, graph.data, pins)
    data = ordering.data.copy()
    for low, high in pairwise(map(int, graph.space_offsets)):
        mine = ordering.data[low:high]
        data[low:high] = mine[np.lexsort((last[mine], first[mine]))]
    return replace(ordering, data=data)


def order_for_blocks(graph: LocalityGraph, method: str, *, jobs: int, seed: int = 0) -> Ordering:
    """An order of jobs and data for blocks of at most so many jobs: `BlockOrders` for one size."""
    return BlockOrders(graph, method, seed=seed).best(jobs)


def touched(graph: LocalityGraph, ordering: Ordering, jobs: int) -> float:
    """Data that the blocks touch, added up, when each has at most so many jobs. O(pins)."""
    labels, k = _labels(graph, ordering, jobs)
    alone = int(np.count_nonzero(graph.degrees()))
    return float(vertex_copies(graph, Clustering(labels, k, "jobs", ordering.method))) + alone


def _labels(graph: LocalityGraph, ordering: Ordering, jobs: int) -> tuple[Ints, int]:
    """The block of each job, int32 (jobs), numbered along the order, and how many there are. O(jobs)."""
    sizes = np.diff(ordering.blocks)
    begins = np.repeat(ordering.blocks[:-1], sizes)
    inside = np.arange(graph.n_jobs) - begins
    labels = np.empty(graph.n_jobs, np.int32)
    labels[ordering.jobs] = np.cumsum(inside % jobs == 0) - 1
    return labels, max(1, int(labels.max(initial=-1)) + 1)
