"""Maps data to the cores of a machine in one step: partition and placement are found together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import NAMED, Machine
from tracecut.ir.machine.network import MOST_IN_TABLE
from tracecut.ir.placement import Placement
from tracecut.partition.balance.keep_capacities import keep_capacities
from tracecut.partition.balance.least_imbalance import seated
from tracecut.partition.balance.target_sizes import ROUND, optimal_sizes
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.partition.inputs.arguments import Request, check_request
from tracecut.partition.inputs.as_graph import as_graph
from tracecut.support.argument_checks import check_type
from tracecut.support.arrays import Floats, Ints
from tracecut.support.errors import ArgumentError

from .joint.core_limits import core_limits
from .joint.core_regions import Table, stages
from .joint.multilevel import mapped

NAME = "map-onto"
CUT = 64  # edges cut between cores of one node that count like one hop


def map_onto(
    graph: Any,
    machine: Machine,
    targets: npt.ArrayLike | None = None,
    capacities: npt.ArrayLike | None = None,
    seed: int = 0,
    balance: float = 1.03,
) -> tuple[Clustering, Placement]:
    """The data of a graph on the cores of a machine, with few hops between data of the same job.

    Minimises `metrics.hop_cost`: Σ over jobs of weight · distance between the cores of their two data.
    Where several cores share a node, an edge cut between them counts a 64th of a hop.

    Args:
        graph: what `partition` takes, with jobs of at most two data, the edges; weights of jobs are what a hop costs,
            those of data are what is balanced.
        machine: at most 8,192 cores. Where distances depend on the direction, both directions count half.
        targets: float64 (cores), positive, what each core should get: shares that sum to 1, or loads that sum to the
            whole load. None: as the speeds of the cores, as far as the capacities allow.
        capacities: float64 (cores), loads that no core may exceed; infinity is no limit.
        seed: the same gives the same result.
        balance: largest load of a core over its target, at least 1. Where no partition keeps it, since data are not
            divided, the least one; `options["kept_balance"]` of the clustering then says which.

    Returns:
        A clustering of the data in which cluster i is what core i gets, perhaps nothing; and the placement that says
        so. About O(edges · log cores · log data), and O(cores²) memory.

    Raises:
        ArgumentError: an argument is out of its domain, a job has more than two data, the machine more cores than a
            table of distances has, or the capacities do not hold the load.
    """
    check_type("machine", machine, Machine, NAMED)
    graph = as_graph(graph)
    request = _checked(graph, machine, targets, capacities, seed, balance)
    options = {"balance": request.balance, "machine": machine.name, "targets": request.targets.tolist()}
    labels = np.zeros(graph.n_data, np.int32)
    if graph.n_data:
        limits = core_limits(request.weights, request.targets, request.balance, request.capacities)
        if request.k > 1:
            labels = _labels(graph, machine, request, limits)
            labels = seated(labels, request.weights, request.targets, limits, request.balance, empty=True)
        if request.capacities is not None:
            labels = keep_capacities(graph, labels, request.own_weights, limits, request.capacities, "data")
    if request.capacities is not None:
        options["capacities"] = [room if np.isfinite(room) else None for room in request.capacities.tolist()]
    found = Clustering(labels, request.k, "data", NAME, request.seed, options, graph)
    if found.imbalance() > request.balance * ROUND * ROUND:
        options["kept_balance"] = found.imbalance()
    return found, Placement(np.arange(request.k, dtype=np.int32), request.k, NAME)


def _checked(
    graph: LocalityGraph,
    machine: Machine,
    targets: npt.ArrayLike | None,
    capacities: npt.ArrayLike | None,
    seed: int,
    balance: float,
) -> Request:
    cores = len(machine.cores)
    if cores > MOST_IN_TABLE:
        raise ArgumentError(f"the machine has {cores} cores, at most {MOST_IN_TABLE} have a table of distances")
    if graph.more_data_weights.size:
        raise ArgumentError(
            f"each datum has {graph.more_data_weights.shape[1] + 1} weights, one is balanced",
            hint="dataclasses.replace(graph, more_data_weights=…) with an empty array leaves the others out.",
        )
    sizes = np.diff(graph.offsets)
    if sizes.max(initial=0) > 2:
        job = int(np.argmax(sizes > 2))
        raise ArgumentError(
            f"job {job} has {int(sizes[job])} data: hops are counted between the two data of a job",
            hint="A job of more data can be given as several jobs of two.",
        )
    request = check_request(graph, cores, of="data", balance=balance, seed=seed, targets=targets, capacities=capacities)
    speeds, load = machine.speeds(), float(request.weights.sum())
    if targets is not None or not load or speeds.min() == speeds.max():
        return request
    sizes = np.maximum(optimal_sizes(load, speeds, request.capacities), 1e-9 * load / cores)
    return replace(request, targets=sizes / load)


def _labels(graph: LocalityGraph, machine: Machine, request: Request, limits: Floats) -> Ints:
    """int32 (data), cores; within the limits as far as searches keep them."""
    distances: Table = machine.distances()
    if (distances != distances.T).any():
        distances = (distances.astype(np.int64) + distances.T).clip(max=2**31 - 1).astype(np.int32)
    off = ~np.eye(len(distances), dtype=bool)
    if not distances[off].all():  # cores of one node: among equal hops, the fewer edges cut the better
        scale = min(CUT, (2**31 - 2) // max(1, int(distances.max())))
        distances = scale * distances + off.astype(np.int32)
    plain = data_graph(graph)
    weighted = Weighted(
        longs(plain.offsets), words(plain.neighbours), longs(plain.edge_weights), floats(request.weights)
    )
    found = stages(machine, distances)
    if request.capacities is not None:
        limits = np.minimum(limits, request.capacities)
    regions = mapped(weighted, found, request.targets * float(request.weights.sum()), limits, request.seed)
    return np.argsort(found[-1].region_of)[regions].astype(np.int32)
