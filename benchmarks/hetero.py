"""The eight tools of the heterogeneous-clusters paper (Hetero §VI), who plays each of them here, and its machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import Input, cpu_seconds
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.metrics import max_communication_volume
from tracecut.partition import partition
from tracecut.partition.balance.keep_capacities import keep_capacities
from tracecut.partition.datastructures.plain_graphs import PlainGraph, data_graph
from tracecut.partition.external.client import run_tool
from tracecut.partition.geometric.points import unit_points
from tracecut.partition.geometric.space_filling_curves import curve_order
from tracecut.partition.inputs.arguments import Request, check_request

BALANCE = 1.03
MEMORY = 1.2  # total memory over load: a unit that Hetero does not state, with which its Table III comes out
# Tool of the paper → how it is played here. Its k-means does not look at the graph: `borders=False` leaves that out.
PLAYED = {
    "geoKM": "kmeans, borders=False",
    "geoRef": "geographer-r",
    "geoPMRef": "kmeans + k-way refinement",
    "pmGraph": "METIS tpwgts",
    "pmGeom": "METIS tpwgts, numbered along the Hilbert curve",
    "zSFC": "hilbert",
    "zRCB": "rcb",
    "zRIB": "rib",
}
OURS = "kmeans"  # as it is, with borders that follow the graph: none of the paper's
ZOLTAN = ("zSFC", "zRCB", "zRIB")
WITH_GRAPH = ("geoRef", "geoPMRef", "pmGraph", "pmGeom")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "geoKM": ("kmeans", {"borders": False}),
    OURS: ("kmeans", {}),
    "geoRef": ("geographer-r", {}),
    "geoPMRef": ("geographer-r", {"refinement": "k-way"}),
    "zSFC": ("hilbert", {}),
    "zRCB": ("rcb", {}),
    "zRIB": ("rib", {}),
}


@dataclass(frozen=True)
class Made:
    """A partition by one tool: what it costs and what it took."""

    clustering: Clustering
    seconds: float

    @cached_property
    def cut(self) -> float:
        return self.clustering.cost()

    @cached_property
    def volume(self) -> float:
        assert self.clustering.graph is not None
        return float(max_communication_volume(self.clustering.graph, self.clustering))


def topology(word: str) -> Machine:
    """`t1_f8_fs16` and the like: TOPO1 or TOPO2 (`t2`, as in the published files) of 96 units."""
    kind, fast, speed = word.split("_")
    step = int(speed.removeprefix("fs")).bit_length() - 1
    make = {"t1": Machine.topo1, "t2": lambda *sizes: Machine.topo2(*sizes, files=True)}[kind]
    return make(96, int(fast.removeprefix("f")), step)


def request_of(graph: LocalityGraph, machine: Machine) -> Request:
    """Targets and capacities, as `partition` has them of the machine."""
    return check_request(graph, len(machine.cores), of="data", balance=BALANCE, machine=machine, memory=MEMORY)


def made(tool: str, given: Input, machine: Machine) -> Made:
    """What a tool makes for a machine."""
    if tool in CALLS:
        method, options = CALLS[tool]
        start = cpu_seconds()
        found = partition(
            given.graph,
            None,
            method,
            of="data",
            balance=BALANCE,
            machine=machine,
            memory=MEMORY,
            coords=given.coords,
            threads=1,
            **options,
        )
        return Made(found, cpu_seconds() - start)
    request = request_of(given.graph, machine)
    room = np.full(request.k, np.inf) if request.capacities is None else request.capacities
    limits = np.minimum(BALANCE * request.targets * given.graph.n_data, room)
    order = None
    start = cpu_seconds()
    if tool == "pmGeom":
        order = curve_order(unit_points(given.graph, given.coords, "hilbert"))
    spent = cpu_seconds() - start
    found, inside, repair = repaired_metis(given.graph, request.targets, limits, room, order=order)
    return Made(found, spent + inside + repair)


def repaired_metis(
    graph: LocalityGraph,
    targets: npt.NDArray[np.float64],
    limits: npt.NDArray[np.float64],
    room: npt.NDArray[np.float64],
    *,
    order: npt.NDArray[np.uint32] | None = None,
    plain: PlainGraph | None = None,
) -> tuple[Clustering, float, float]:
    """METIS with target weights, its overfull clusters repaired as ours are; CPU seconds in METIS and of the repair.

    `order`: the data in the order in which METIS is to number them. `plain`: its graph, where it is at hand.
    """
    k = targets.size
    if order is not None:
        rank = np.empty(graph.n_data, np.int32)
        rank[order] = np.arange(graph.n_data, dtype=np.int32)
        plain = data_graph(LocalityGraph(graph.offsets, rank[graph.data], graph.n_data))
    elif plain is None:
        plain = data_graph(graph)
    answer = run_tool("metis", plain, k, None, balance=BALANCE, targets=targets)
    start = cpu_seconds()
    labels = answer.labels if order is None else answer.labels[rank]
    labels = keep_capacities(graph, labels, None, limits, room, "data")
    found = Clustering(labels, k, "data", "metis", 0, {"capacities": room.tolist()}, graph)
    return found, answer.cpu_seconds, cpu_seconds() - start
