"""Which order of the jobs cuts into the best thread blocks: those that together copy the fewest bytes.

Each block reads and writes what it touches once, by its number and in whole sectors, so the sum over all blocks is
what the memory has to deliver. Few data are not enough: those of a block have to lie side by side.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from tracecut.codegen.schedule.graph.candidate_orders import cluster_methods, linear_methods, make_order, seconds
from tracecut.ir.gpu.description import SECTOR
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.support.arrays import Ints
from tracecut.support.errors import TracecutError, UnsupportedError
from tracecut.support.lazy_kernels import kept

AUTO = "auto"
SECONDS = 20.0  # for each method that makes clusters, and for all clusters together by what they are known to take
RECORD, DATUM_ID = 8, 4  # bytes of a datum, where that is not known, and of its number
KNOWN = 1024  # jobs of a cluster
SLOW = 1 << 24  # pins from which on only linear orders are tried


class BlockOrders:
    """Orders of jobs and data for blocks of several sizes; what one size needs serves the others, too."""

    def __init__(self, graph: LocalityGraph, method: str, *, seed: int = 0) -> None:
        """`method`: of `partition`, or `auto`: the one whose blocks copy the fewest bytes."""
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
        made = [order for order in self._made.values() if order is not None]
        found = [(copied_bytes(self.graph, gathered_by_blocks(self.graph, each, jobs), jobs), each) for each in made]
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


def copied_bytes(graph: LocalityGraph, ordering: Ordering, jobs: int, record: int = RECORD) -> int:
    """Bytes of the sectors that the blocks copy, and of the numbers of their data. O(pins).

    `jobs`: most of a block. `record`: bytes of a datum, where they are known.
    """
    labels, _ = _labels(graph, ordering, jobs)
    place = np.empty(graph.n_data, np.int32)
    place[ordering.data] = np.arange(graph.n_data, dtype=np.int32)
    data, sectors = _copied(graph.offsets, graph.data, ordering.jobs, labels, place, max(1, SECTOR // record))
    return int(DATUM_ID * data + SECTOR * sectors)


@kept
def _copied(offsets: Any, data: Any, jobs: Any, labels: Any, place: Any, each: int) -> tuple[int, int]:
    seen = np.full(place.size, -1, np.int32)  # the last block that touched a datum, and a sector
    sector = np.full(place.size // each + 1, -1, np.int32)
    total, sectors = 0, 0
    for job in jobs:
        block = labels[job]
        for pin in range(offsets[job], offsets[job + 1]):
            at = place[data[pin]]
            if seen[at] != block:
                seen[at] = block
                total += 1
                if sector[at // each] != block:
                    sector[at // each] = block
                    sectors += 1
    return total, sectors


def _labels(graph: LocalityGraph, ordering: Ordering, jobs: int) -> tuple[Ints, int]:
    """The block of each job, int32 (jobs), numbered along the order, and how many there are. O(jobs)."""
    sizes = np.diff(ordering.blocks)
    begins = np.repeat(ordering.blocks[:-1], sizes)
    inside = np.arange(graph.n_jobs) - begins
    labels = np.empty(graph.n_jobs, np.int32)
    labels[ordering.jobs] = np.cumsum(inside % jobs == 0) - 1
    return labels, max(1, int(labels.max(initial=-1)) + 1)
