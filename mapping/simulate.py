"""Predicts time and traffic of a clustered program on a described machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import overload

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import NAMED, Machine
from tracecut.ir.ordering import Ordering
from tracecut.ir.placement import Placement
from tracecut.mapping.simulation.caches import (
    BUSY,
    INVALIDATIONS,
    LOAD,
    WRITTEN_BACK,
    Caches,
    caches_of,
    near_line,
    no_caches,
    numbered,
    unfit,
)
from tracecut.mapping.simulation.execute import execute
from tracecut.mapping.simulation.jobs import JobModel, JobSimulation, simulate_jobs
from tracecut.mapping.simulation.plan import ACCESS, LONGEST, Plan, plan_of
from tracecut.mapping.simulation.result import Simulation
from tracecut.mapping.tasks.task_graph import WORD, task_graph, traffic
from tracecut.support.argument_checks import check_type
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError, InternalError

NO_ADDRESSES = "the graph has no addresses, which `tracecut graph --addresses` stores"

MOST_CYCLES = 1 << 61  # of a run: what is added to them fits in an int64


@overload
def simulate(
    graph: DependenceGraph,
    clustering: Clustering,
    placement: Placement,
    machine: Machine,
    *,
    caches: bool | None = None,
) -> Simulation: ...
@overload
def simulate(
    graph: LocalityGraph,
    clustering: Clustering,
    placement: Placement,
    machine: Machine,
    *,
    ordering: Ordering | None = None,
    model: JobModel | None = None,
) -> JobSimulation: ...
def simulate(
    graph: DependenceGraph | LocalityGraph,
    clustering: Clustering,
    placement: Placement,
    machine: Machine,
    *,
    caches: bool | None = None,
    ordering: Ordering | None = None,
    model: JobModel | None = None,
) -> Simulation | JobSimulation:
    """Run a placed clustering on a modelled machine: of a dependence graph, or of the jobs of a locality graph.

    Instruction level, for a dependence graph: what runs where is defined in `mapping.tasks.task_graph`, what happens
    in a cycle in `mapping.simulation.execute`: cores begin `issue_width` instructions a cycle, in the order of the
    program among those that are ready, and have `mshrs` misses under way; values travel as words of 8 bytes over links
    of finite bandwidth. Where the graph has addresses, accesses go through private caches, a distributed one, a
    directory that keeps their copies coherent, and memory banks, as `mapping.simulation.caches` defines; else they
    take the cycles that the graph states. Job level, for a locality graph: `mapping.simulation.jobs`. Deterministic.

    Args:
        graph: instructions and dependences; or jobs and data.
        clustering: labels of its vertices (`kind="data"`, an edge cut) or edges (`kind="jobs"`, a vertex cut).
        placement: of its clusters on the machine.
        machine: with a network, or one hop between its nodes. Messages take the links of their route, each
            `hop_latency` cycles, whatever `network.distances` states: those count for `place`, `map_onto`, and here for
            invalidations alone.
        caches: simulate caches and memory banks; None: if the graph has addresses and the machine one level of caches
            or two, the first one private, with latencies. `Simulation.stated` says why not. Jobs always have caches.
        ordering, model: at the job level, orders of jobs and data, and what else is known of them.

    Returns:
        A Simulation, or a JobSimulation. O(n + m + hops + cycles), about 70 bytes for each instruction and message.

    Raises:
        ArgumentError: a clustering of another graph, a placement of other clusters or for another machine; `caches`
            where they cannot be simulated; `ordering` or `model` with a dependence graph; an instruction of more than
            2³¹ − 1 cycles; cycles that may add up to more than MOST_CYCLES.
    """
    check_type("clustering", clustering, Clustering)
    check_type("placement", placement, Placement, "tracecut.place makes one.")
    check_type("machine", machine, Machine, NAMED)
    if isinstance(graph, LocalityGraph):
        if caches is not None:
            raise ArgumentError("jobs have caches in any case: leave out caches")
        return simulate_jobs(graph, clustering, placement, machine, ordering=ordering, model=model)
    if not isinstance(graph, DependenceGraph):
        raise ArgumentError(f"graph is a {type(graph).__name__}, a DependenceGraph or a LocalityGraph was expected")
    if ordering is not None or model is not None:
        raise ArgumentError("an ordering and a model belong to jobs, a dependence graph has instructions")
    placement.check_fits(machine)
    if placement.core_of.size != clustering.k:
        raise ArgumentError(f"the placement has {placement.core_of.size} clusters, the clustering {clustering.k}")
    tasks = task_graph(graph, clustering)
    moved = traffic(tasks)  # before there is a plan: both need room for all dependences
    network = machine.joined
    hit = machine.caches[0].latency if machine.caches else 0
    stated = _why_stated(graph, machine, caches)
    state, lines = no_caches(), list[Ints]()
    if not stated:
        state, own = _lines(graph, machine)
        lines.append(own)
        del own
    plan = plan_of(tasks, placement.core_of, machine.speeds(), hit, lines, machine.memory_latency)
    word, line = (math.ceil(size / network.flit) for size in (WORD, WORD + near_line(machine)))
    occupied = [max(1, math.ceil(flits * network.flit / network.bandwidth)) for flits in (word, line)]
    _check_sum(plan, machine, occupied, state)
    run = execute(
        plan,
        network.routes,
        network.links,
        network.longest_route,
        machine.core_nodes,
        machine.issue_width,
        machine.mshrs,
        network.hop_latency,
        (occupied[0], occupied[1]),
        state,
    )
    if run.done < 0:
        node = -1 - int(run.done)
        raise ArgumentError(
            f"instruction {int(np.searchsorted(plan.node_of, node))} takes {int(run.time)} cycles on core "
            f"{plan.core[node]} with its access, at most {LONGEST} were expected",
            hint="Give the machine's cores, links and banks higher speeds and bandwidths, or shorter latencies.",
        )
    if run.done != plan.core.size:
        raise InternalError(f"the simulation ended after {run.done} of {plan.core.size} nodes")
    core, cost, node_of = plan.core, plan.cost, plan.node_of
    del plan  # the rest of it is as large as the result
    begun = np.bincount(core, minlength=len(machine.cores))
    return Simulation(
        time=int(run.time),
        messages=int(run.messages),
        between_clusters=moved.messages,
        words=moved.words,
        link_load=network.flit * (word * run.link_load + line * run.line_load),
        utilisation=begun / max(1.0, float(run.time) * machine.issue_width),
        begin=run.begin[node_of],
        cycles=cost[node_of],
        core=core[node_of],
        critical_path=_critical_path(run.begin, cost, run.enabler, node_of),
        machine=machine.name,
        clock=machine.clock,
        stated=stated,
        found=state.found[: 0 if stated else None],
        bank_load=state.banks[:, LOAD],
        invalidations=int(state.counts[INVALIDATIONS]),
        written_back=int(state.counts[WRITTEN_BACK]),
        asked=int(run.asked),
    )


def _why_stated(graph: DependenceGraph, machine: Machine, caches: bool | None) -> str:
    """Why accesses take the cycles that the graph states; empty when caches are simulated."""
    if caches is False:
        return "caches are switched off"
    why = NO_ADDRESSES if graph.address is None else unfit(machine)
    if why and caches:
        raise ArgumentError(f"caches cannot be simulated: {why}")
    return why


def _check_sum(plan: Plan, machine: Machine, occupied: Sequence[int], caches: Caches) -> None:
    """Raises ArgumentError where all that takes time, one thing after the other, takes more than MOST_CYCLES. O(n)."""
    network = machine.joined
    word, line = (network.longest_route * (network.hop_latency + 2 * cycles) for cycles in occupied)
    total = int(plan.cost.sum(dtype=np.float64)) + plan.group_core.size * word
    accesses = int(np.count_nonzero(plan.misses & ACCESS))
    if accesses:
        routes = network.routes
        farthest = max(network.longest_route, int(routes.costs.max(initial=0)), int(routes.table.max(initial=0)))
        busy = int(caches.banks[:, BUSY].max(initial=0))
        total += accesses * (3 * line + 2 * network.hop_latency * farthest + busy + 2 * int(caches.waits.sum()))
    if total > MOST_CYCLES:
        raise ArgumentError(
            f"{machine.name}: the cycles of all instructions, messages and lines may add up to {float(total):.3g}, "
            f"at most {float(MOST_CYCLES):.3g} were expected",
            hint="Give its cores, links and banks higher speeds and bandwidths, or its network shorter distances.",
        )


def _lines(graph: DependenceGraph, machine: Machine) -> tuple[Caches, Ints]:
    """Empty caches, and the line that each instruction accesses, −1 for none."""
    assert graph.address is not None and graph.access is not None
    bits = machine.caches[0].line.bit_length() - 1
    lines, number = numbered(graph.address, graph.access, bits)
    return caches_of(machine, number), lines


def _critical_path(begin: Longs, cost: Ints, enabler: Ints, node_of: Ints) -> Longs:
    """Instructions from one without operands to the last one that ends, each enabled by the one before it."""
    path = []
    node = int(np.argmax(begin + cost)) if begin.size else -1
    while node >= 0:
        path.append(node)
        node = int(enabler[node])
    vertices = np.searchsorted(node_of, np.array(path[::-1], np.int64))
    return np.unique(vertices)
