"""Time and traffic of a clustered program on a machine of which only a description is there."""

from __future__ import annotations

import math

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.placement import Placement
from tracecut.mapping.simulation.execute import execute
from tracecut.mapping.simulation.plan import plan_of
from tracecut.mapping.simulation.result import Simulation
from tracecut.mapping.tasks.task_graph import WORD, task_graph, traffic
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError, InternalError


def simulate(graph: DependenceGraph, clustering: Clustering, placement: Placement, machine: Machine) -> Simulation:
    """Run a placed clustering of a dependence graph on a modelled machine.

    What runs where is defined in `mapping.tasks.task_graph`, what happens in a cycle in `mapping.simulation.execute`:
    cores begin `issue_width` instructions a cycle, in the order of the program among those that are ready, and have
    `mshrs` misses under way; values travel as words of 8 bytes over links of finite bandwidth. Memory accesses take the
    cycles that the graph states; caches, coherence and memory banks of the machine are not simulated. Deterministic.

    Args:
        graph: instructions and dependences.
        clustering: labels of its vertices (`kind="data"`, an edge cut) or edges (`kind="jobs"`, a vertex cut).
        placement: of its clusters on the machine.
        machine: with a network, or one hop between its nodes.

    Returns:
        A Simulation. O(n + m + hops + cycles), about 70 bytes for each instruction and message.

    Raises:
        ArgumentError: a clustering of another graph, a placement of other clusters or for another machine.
    """
    placement.check_fits(machine)
    if placement.core_of.size != clustering.k:
        raise ArgumentError(f"the placement has {placement.core_of.size} clusters, the clustering {clustering.k}")
    tasks = task_graph(graph, clustering)
    network = machine.joined
    hit = machine.caches[0].latency if machine.caches else 0
    plan = plan_of(tasks, placement.core_of, machine.speeds(), hit)
    flits = math.ceil(WORD / network.flit)
    occupied = max(1, math.ceil(flits * network.flit / network.bandwidth))
    needs = plan.needs.copy()
    run = execute(
        plan._replace(needs=needs),
        network.routes,
        network.links,
        network.longest_route,
        machine.core_nodes,
        machine.issue_width,
        machine.mshrs,
        network.hop_latency,
        occupied,
    )
    if run.done != plan.core.size:
        raise InternalError(f"the simulation ended after {run.done} of {plan.core.size} nodes")
    moved = traffic(tasks)
    begun = np.bincount(plan.core, minlength=len(machine.cores))
    return Simulation(
        time=int(run.time),
        messages=int(run.messages),
        between_clusters=moved.messages,
        words=moved.words,
        link_load=flits * network.flit * run.link_load,
        utilisation=begun / max(1, run.time * machine.issue_width),
        begin=run.begin[plan.node_of],
        cycles=plan.cost[plan.node_of],
        core=plan.core[plan.node_of],
        critical_path=_critical_path(run.begin, plan.cost, run.enabler, plan.node_of),
        machine=machine.name,
        clock=machine.clock,
    )


def _critical_path(begin: Longs, cost: Ints, enabler: Ints, node_of: Ints) -> Longs:
    """Instructions from one without operands to the last one that ends, each enabled by the one before it."""
    path = []
    node = int(np.argmax(begin + cost)) if begin.size else -1
    while node >= 0:
        path.append(node)
        node = int(enabler[node])
    vertices = np.searchsorted(node_of, np.array(path[::-1], np.int64))
    return np.unique(vertices)
