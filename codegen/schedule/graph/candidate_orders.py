"""Which orders are worth trying on a locality graph, and why.

Linear orders come first: on one core they are what every partition has to beat. Clusters of jobs have a reason where
no linear order keeps the data of its jobs close (hubs, graphs without a long axis), and where threads would share
too much of it. Coordinates are not known here, so the geometric families are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.ir.ordering import Ordering
from tracecut.partition import order
from tracecut.partition.auto import SECONDS, SKEWED
from tracecut.partition.linear_orders.simple import original_order
from tracecut.partition.linear_orders.z_order import along_z

LINEAR, LINEAR_WITH_HUBS = ("rcm", "degree-z"), ("rcm", "degree-z", "first-touch")
WITH_HUBS = ("expansion", "wb-libra", "multilevel")
WITHOUT_HUBS = ("expansion", "parcubed-det", "metis", "multilevel")
SLOW_PINS = 1 << 20  # paths through hubs coarsen badly: with more pins METIS takes minutes on SPAC's graph
UNSURE = 2.0  # predicted seconds are right within this factor
SHARED = 0.02  # share of the data on threads that is no reason for other chunks
NEARLY = 1.15  # misses within this factor of the least possible leave nothing to gain
MOST = 0.5  # share of the avoidable misses of the nearest cache that is worth a measurement
WORSE = 1.05  # factor in every prediction from which an order is not measured


OWN = "own"  # the program's own order, shared out to threads
CURVE = "+z"  # behind the name of a method: its jobs run along the Z-curve


def make_order(
    graph: LocalityGraph, name: str, *, k: int | None, seed: int, time_limit: float | None = None
) -> Ordering:
    """The order that a candidate's name stands for: a method, and how its jobs follow each other. See `order`."""
    method = name.removesuffix(CURVE)
    if method == OWN:
        made = replace(original_order(graph), method=OWN)
    else:
        made = order(graph, method, k=k, seed=seed, time_limit=time_limit)
    return made if method == name else along_z(graph, made)


@dataclass(frozen=True)
class Forecast:
    """What is known of an order before it runs.

    Attributes:
        misses: lines a job that are fetched from beyond each cache level, the nearest first.
        shared: copies of data that the threads' chunks of jobs make, as a share of the data; 0 on one thread.
    """

    misses: tuple[float, ...]
    shared: float

    def worse_than(self, other: Forecast) -> bool:
        """Whether another order is clearly better in every respect that tells two orders apart."""
        if len(self.misses) != len(other.misses):  # one of them could not be predicted
            return False
        mine, others = (*self.misses, self.shared), (*other.misses, other.shared)
        pairs = [pair for pair in zip(mine, others, strict=True) if max(pair) > 0]
        return bool(pairs) and all(a > WORSE * b for a, b in pairs)

    def fetches_less_than(self, other: Forecast, least: float = 0.0) -> bool:
        """Whether clearly fewer lines are fetched from beyond some cache; True where one of the two is not known.

        `least`: lines a job that any order has to fetch. What the nearest cache lacks the next one has, mostly in time:
        an order that saves nothing else has to avoid `MOST` of what can be avoided there.
        """
        if len(self.misses) != len(other.misses) or not self.misses:
            return True
        (near, before), *far = zip(self.misses, other.misses, strict=True)
        return before - near > MOST * max(0.0, before - least) or any(WORSE * a < b for a, b in far)


def shared_data(graph: LocalityGraph, ordering: Ordering, threads: int) -> float:
    """Vertex copies a datum when the jobs, in their new order, are cut into one even chunk a thread. O(pins)."""
    if threads <= 1 or not graph.n_pins:
        return 0.0
    labels = np.empty(graph.n_jobs, np.int32)
    labels[ordering.jobs] = (np.arange(graph.n_jobs, dtype=np.int64) * threads // graph.n_jobs).astype(np.int32)
    touched = int(np.count_nonzero(graph.degrees()))
    return float(vertex_copies(graph, Clustering(labels, threads, "jobs", ordering.method))) / touched


def has_hubs(graph: LocalityGraph) -> bool:
    """Whether some data have far more jobs than most."""
    return bool(graph.degrees().max(initial=0) * graph.n_data > SKEWED * graph.n_pins)


def linear_methods(graph: LocalityGraph) -> tuple[str, ...]:
    """Orders in linear time; where there are hubs, the first to be touched are mostly these."""
    return LINEAR_WITH_HUBS if has_hubs(graph) else LINEAR


def cluster_methods(graph: LocalityGraph) -> tuple[str, ...]:
    """Families that make clusters of jobs, those that cost least first; hubs are copied, not kept whole."""
    chosen = WITH_HUBS if has_hubs(graph) else WITHOUT_HUBS
    return (*chosen, "spac") if graph.n_pins <= SLOW_PINS else chosen


def seconds(method: str, graph: LocalityGraph, copies: float | None) -> float:
    """Upper estimate of what a method takes, in seconds. `copies`: vertex copies of a good partition, if known."""
    guess = 0.1 * graph.n_pins if copies is None else copies
    fixed, pin, copy = SECONDS[method][:3]
    return UNSURE * (fixed + (pin * graph.n_pins + copy * guess) * 1e-6)


def no_reason(best: Forecast, least: float) -> str:
    """Why clusters can gain nothing over the best linear order; empty when they can.

    `least`: lines a job that any order has to fetch from beyond the second cache.
    """
    far = best.misses[1:]
    if not far or any(misses > NEARLY * least for misses in far):
        return ""
    if best.shared > SHARED:
        return ""
    return "a linear order already fetches each cache line about once, and threads share little"


def block_copies(graph: LocalityGraph, ordering: Ordering) -> float:
    """Vertex copies of the blocks of an order. O(pins)."""
    sizes = np.diff(ordering.blocks)
    labels = np.empty(graph.n_jobs, np.int32)
    labels[ordering.jobs] = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    return float(vertex_copies(graph, Clustering(labels, max(1, sizes.size), "jobs", ordering.method)))
