"""Which order of the jobs cuts into the best thread blocks: those that together touch the fewest data.

Each block reads and writes what it touches once, so the sum over all blocks is what the memory has to deliver.
"""

from __future__ import annotations

import numpy as np
from tracecut.codegen.schedule.graph.candidate_orders import cluster_methods, linear_methods, make_order
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import TracecutError, UnsupportedError

AUTO = "auto"
SECONDS = 20.0  # for each method that makes clusters
SLOW = 1 << 24  # pins from which on only linear orders are tried


def order_for_blocks(graph: LocalityGraph, method: str, *, jobs: int, seed: int = 0) -> Ordering:
    """An order of jobs and data for blocks of at most so many jobs.

    Args:
        graph: locality graph. method: a method of `partition`, or `auto`: the one whose blocks touch the fewest data.
        jobs: most jobs of a block.

    Raises UnsupportedError when no order could be made. Takes what the methods take, 20 s for each that makes clusters.
    """
    k = max(1, -(-graph.n_jobs // jobs))
    if method != AUTO:
        return make_order(graph, method, k=k, seed=seed)
    best: tuple[float, Ordering] | None = None
    why = ""
    names = linear_methods(graph)
    names += cluster_methods(graph) if graph.n_pins <= SLOW and k > 1 else ()
    for name in names:
        try:
            found = make_order(graph, name, k=k, seed=seed, time_limit=SECONDS)
        except TracecutError as error:
            why = why or f"{name}: {error.message}"
            continue
        cost = touched(graph, found, jobs)
        if best is None or cost < best[0]:
            best = cost, found
    if best is None:
        raise UnsupportedError(f"no order could be made: {why}")
    return best[1]


def touched(graph: LocalityGraph, ordering: Ordering, jobs: int) -> float:
    """Data that the blocks touch, added up, when each has at most so many jobs. O(pins)."""
    sizes = np.diff(ordering.blocks)
    labels = np.empty(graph.n_jobs, np.int32)
    begins = np.repeat(ordering.blocks[:-1], sizes)
    block = np.repeat(np.arange(sizes.size), sizes)
    inside = (np.arange(graph.n_jobs) - begins) // jobs
    cut = np.unique(block * (graph.n_jobs + 1) + inside, return_inverse=True)[1] if graph.n_jobs else block
    labels[ordering.jobs] = cut.astype(np.int32)
    k = int(cut.max(initial=0)) + 1
    alone = int(np.count_nonzero(graph.degrees()))
    return float(vertex_copies(graph, Clustering(labels, k, "jobs", ordering.method))) + alone
