"""What a placement costs: VertexCut's own formula (§5.2) is lost in the text at hand, so ours stands here alone.

Two numbers, both in cycles. `hop_cycles` is what the network does: every message occupies, for a word of 8 bytes in
whole flits, the links of its route, and waits at each hop. `busiest` is what the cores do: the largest load over speed.
Memory-centric placement weighs them against each other for two clusters at a time, as Algorithm 2 does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.support.arrays import Floats, Ints, Longs

WORD = 8  # bytes of a message


@dataclass(frozen=True, eq=False)
class Layout:
    """Clusters and cores as arrays for the kernels.

    Attributes:
        offsets, others, messages: CSR of the messages of each cluster, in either direction.
        load: float64 (k), cycles. first: int64 (k), order in which clusters become ready.
        hops: int32 (cores, cores).
        speed: float64 (cores).
        cycles: of a message for each hop.
        most: clusters that a core takes when clusters are spread evenly, ⌈k / cores⌉.
    """

    offsets: Longs
    others: Ints
    messages: Floats
    load: Floats
    first: Longs
    hops: npt.NDArray[np.int32]
    speed: Floats
    cycles: float
    most: int


def layout(clusters: ClusterGraph, machine: Machine) -> Layout:
    """What all methods read. O(k + m + cores²); raises ArgumentError above 8,192 cores."""
    offsets, others, messages = clusters.both_ways()
    hops = machine.distances()
    most = max(1, -(-clusters.k // len(machine.cores)))
    cycles = message_cycles(machine.joined)
    return Layout(offsets, others, messages, clusters.load, clusters.first, hops, machine.speeds(), cycles, most)


def message_cycles(network: Network) -> float:
    """Cycles that a message of one word takes for each hop: it waits for the router and occupies the link."""
    flits = math.ceil(WORD / network.flit)
    return network.hop_latency + flits * network.flit / network.bandwidth


def hop_messages(clusters: ClusterGraph, core_of: Ints, hops: npt.NDArray[np.int32]) -> float:
    """Σ over interactions of messages · hops. O(m)."""
    return float((clusters.messages * hops[core_of[clusters.src], core_of[clusters.dst]]).sum())


def layout_hops(layout: Layout, core_of: Ints) -> float:
    """The same from a layout. O(m)."""
    own = np.repeat(core_of, np.diff(layout.offsets))
    return float((layout.messages * layout.hops[own, core_of[layout.others]]).sum()) / 2


def hop_cycles(clusters: ClusterGraph, core_of: Ints, machine: Machine) -> float:
    """Cycles that messages spend on links and in routers. O(m + cores²)."""
    return message_cycles(machine.joined) * hop_messages(clusters, core_of, machine.distances())


def busiest(clusters: ClusterGraph, core_of: Ints, machine: Machine) -> float:
    """Largest load over speed of a core, in cycles. O(k)."""
    speeds = machine.speeds()
    return float((np.bincount(core_of, clusters.load, speeds.size) / speeds).max())
