"""Time of one iteration of a solver on a machine: sparse matrix times vector, or conjugate gradients.

A model, not a measurement. Each row of the matrix is a datum, each entry beside the diagonal a job of two data. Every
constant is the kernel's own or a field of the machine; where a field is unknown (0) what it bounds counts as free:

- operations: 2 for an entry of the matrix; conjugate gradients have two dot products and three vector updates besides,
  10 for a row (Saad 2003, algorithm 6.18). A core of speed 1 does `issue_width` of them a cycle: Hetero §II-B defines
  speed as operations in a time.
- bytes of memory: 12 for an entry (a double and a 32-bit column), 20 for a row (its begin, x and y once each) and, in
  conjugate gradients, 96 for its part of the vectors. The banks of a node move their `bandwidth`, which its cores share
  evenly; where some core has no bank at its node, all cores share all banks.
  The slower of operations and memory counts (Williams et al. 2009).
- exchange: a core sends each value that another core has a neighbour of once, 8 bytes, in one message to each core,
  in whole flits. It takes as long as the busiest of: what leaves its node, what arrives, and each link on the ways of
  its messages, at the link's `bandwidth`; and `hop_latency` for each hop to the farthest of its partners.
- dot products end in reductions over all nodes by recursive doubling (Thakur et al. 2005): a flit and the way to the
  farthest partner in each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.ir.machine.routes import Routes, distance, route
from tracecut.ir.metrics import edge_cut
from tracecut.ir.placement import Placement
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.datastructures.typed_views import floats, longs
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .link_loads import spread

VALUE = 8  # bytes of a value


@dataclass(frozen=True)
class Kernel:
    """What an iteration does: operations and bytes of memory for an entry and for a row, and its dot products."""

    entry_operations: int
    row_operations: int
    entry_bytes: int
    row_bytes: int
    dot_products: int


KERNELS = {"spmv": Kernel(2, 0, 12, 20, 0), "cg": Kernel(2, 10, 12, 20 + 96, 2)}


@dataclass(frozen=True, eq=False)
class IterationTime:
    """Predicted cycles of one iteration.

    Attributes:
        work: float64 (cores), computing.
        exchange: float64 (cores), until a core has sent and got all values of its neighbours.
        reductions: of all dot products.
        clock: of the machine, cycles in a second; 0 means unknown.
    """

    work: Floats
    exchange: Floats
    reductions: float
    clock: float

    @property
    def cycles(self) -> float:
        """Of the iteration: the core that is done last, and the reductions that all wait for."""
        return float((self.work + self.exchange).max()) + self.reductions

    @property
    def seconds(self) -> float | None:
        """Of the iteration; None where the machine's clock is unknown."""
        return self.cycles / self.clock if self.clock else None


def iteration_time(
    graph: LocalityGraph,
    clustering: Clustering,
    machine: Machine,
    kernel: str = "cg",
    placement: Placement | None = None,
) -> IterationTime:
    """What an iteration takes when each core has the rows of its clusters.

    Args:
        graph: of a symmetric matrix: jobs of at most two data; parallel ones are one entry, those of weight 0 none.
        clustering: of its data.
        machine: whose cores have the clusters.
        kernel: `"cg"` or `"spmv"`.
        placement: core of each cluster; None puts cluster i on core i.

    Returns:
        An IterationTime. O(entries log entries + pairs of nodes that talk · links between them).

    Raises:
        ArgumentError: an unknown kernel, a clustering of jobs or of another graph, clusters without a core, jobs of
            more than two data, a placement of other clusters or for another machine.

    Source: Hetero §II-A counts communication volume, §VI-C measures such times; the model is ours.
    """
    chosen = KERNELS.get(kernel)
    if chosen is None:
        raise ArgumentError(f"kernel = {kernel!r}, one of {', '.join(KERNELS)} was expected")
    edge_cut(graph, clustering)  # refuses a clustering of another graph or of jobs
    most = int(np.diff(graph.offsets).max(initial=0))
    if most > 2:
        raise ArgumentError(f"a job has {most} data: an entry of a matrix joins two")
    core = _core_of(clustering, machine, placement)[clustering.labels]
    plain = data_graph(graph)
    exchange = _exchange(plain.offsets, plain.neighbours, core, machine)
    cores = len(machine.cores)
    rows = np.bincount(core, minlength=cores)
    entries = rows + np.bincount(core, np.diff(plain.offsets), cores)
    operations = chosen.entry_operations * entries + chosen.row_operations * rows
    work = operations / (machine.speeds() * machine.issue_width)
    moved = chosen.entry_bytes * entries + chosen.row_bytes * rows
    work = np.maximum(work, moved * _cycles_a_byte(machine))
    step = _reduction(machine.joined, np.unique(machine.core_nodes)) if chosen.dot_products else 0.0
    return IterationTime(work, exchange, chosen.dot_products * step, machine.clock)


def _core_of(clustering: Clustering, machine: Machine, placement: Placement | None) -> Ints:
    if placement is None:
        if clustering.k > len(machine.cores):
            raise ArgumentError(
                f"{clustering.k} clusters, machine {machine.name!r} has {len(machine.cores)} cores",
                hint="tracecut.place(clustering, machine) puts several clusters on a core.",
            )
        return np.arange(clustering.k, dtype=np.int32)
    placement.check_fits(machine)
    if placement.core_of.size != clustering.k:
        raise ArgumentError(f"the placement has {placement.core_of.size} clusters, the clustering has {clustering.k}")
    return placement.core_of


def _cycles_a_byte(machine: Machine) -> Floats:
    """Of each core's memory, float64 (cores); 0 where it is unknown."""
    at, nodes = [bank.node for bank in machine.banks], machine.joined.nodes
    node_of = machine.core_nodes if np.isin(machine.core_nodes, at).all() else np.zeros_like(machine.core_nodes)
    pooled = at if node_of is machine.core_nodes else [0] * len(at)
    speed = np.bincount(pooled, [bank.bandwidth for bank in machine.banks], nodes)
    sharing = np.bincount(node_of, minlength=nodes)
    found = np.divide(sharing, speed, out=np.zeros(nodes), where=speed > 0)
    return np.asarray(found[node_of], np.float64)


def _exchange(offsets: Longs, neighbours: Ints, core: Ints, machine: Machine) -> Floats:
    """Cycles until each core has sent and got all, float64 (cores)."""
    network, node_of, cores = machine.joined, machine.core_nodes, len(machine.cores)
    row = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    own, other = core[row].astype(np.int64), core[neighbours].astype(np.int64)
    far = node_of[own] != node_of[other]  # cores of one node have one memory
    values = np.unique(row[far] * np.int64(cores) + other[far])  # one a value and core that it goes to
    between, count = np.unique(core[values // cores] * np.int64(cores) + values % cores, return_counts=True)
    size = np.ceil(VALUE * count / network.flit) * network.flit
    pairs, place = np.unique(
        node_of[between // cores] * np.int64(network.nodes) + node_of[between % cores], return_inverse=True
    )
    sums = np.bincount(place, size, pairs.size).astype(np.float64)
    src, dst = pairs // network.nodes, pairs % network.nodes
    port = np.maximum(np.bincount(src, sums, network.nodes), np.bincount(dst, sums, network.nodes))
    busiest, hops = _on_the_way(network, longs(pairs), floats(sums))
    latency = np.zeros(network.nodes)
    for end in (src, dst):
        np.maximum.at(port, end, busiest)
        np.maximum.at(latency, end, hops)
    cycles = port / network.bandwidth + latency * network.hop_latency
    return np.asarray(cycles[node_of], np.float64)


def _on_the_way(network: Network, pairs: Longs, sums: Floats) -> tuple[Floats, Floats]:
    """Bytes on the busiest link between the nodes of each pair, and their hops; float64 (pairs)."""
    hops = np.zeros(pairs.size)
    if network.kind == "full":  # a link for each pair: a table of all would have nodes² entries
        _hops(network.routes, pairs, network.nodes, hops)
        return sums, hops
    loads, busiest = np.zeros(network.links), np.zeros(pairs.size)
    spread(network.routes, pairs, sums, network.nodes, network.longest_route, loads)
    _hops(network.routes, pairs, network.nodes, hops)
    _busiest(network.routes, pairs, network.nodes, network.longest_route, loads, busiest)
    return busiest, hops


def _reduction(network: Network, nodes: Longs) -> float:
    """Cycles of a reduction whose result all nodes get: recursive doubling, a flit a step."""
    ranks, total, step = np.arange(nodes.size), 0.0, 1
    while step < nodes.size:
        partner = ranks ^ step
        both = partner < nodes.size  # others have none in this step
        hops = np.zeros(int(both.sum()))
        pairs = nodes[ranks[both]] * np.int64(network.nodes) + nodes[partner[both]]
        _hops(network.routes, longs(pairs), network.nodes, hops)
        total += float(hops.max()) * network.hop_latency + network.flit / network.bandwidth
        step *= 2
    return total


@kept
def _hops(routes: Routes, pairs: Longs, nodes: int, found: Floats) -> None:
    for place in range(pairs.size):
        found[place] = distance(routes, pairs[place] // nodes, pairs[place] % nodes)


@kept
def _busiest(routes: Routes, pairs: Longs, nodes: int, longest: int, loads: Floats, found: Floats) -> None:
    path = np.empty(max(1, longest), np.int64)
    for place in range(pairs.size):
        for step in range(route(routes, pairs[place] // nodes, pairs[place] % nodes, path)):
            found[place] = max(found[place], loads[path[step]])
