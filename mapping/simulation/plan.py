"""Converts a placed clustering to the arrays of the simulator: nodes, and groups that a value feeds.

A **node** is an instruction on the core of its home cluster, or, in a vertex cut, the **part** of an instruction whose
operands meet on another core: they are combined there (a memory access of its edges is done there), and one word goes
on to the home. Nodes are numbered in the order of the program, parts of an instruction in front of it. A **group** is
what one value feeds on one core: there it is available at once if it was made there, else when its message has arrived.
So a value travels once to each other core that uses it, however many clusters lie there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tracecut.ir.dependence_graph import MEMORY, DependenceGraph, Ids
from tracecut.mapping.tasks.task_graph import TaskGraph
from tracecut.support.arrays import Bytes, Floats, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

MOST_NODES = 2**31 - 1
LONGEST = 2**31 - 1  # cycles of a node, an int32
MISS, ACCESS, WRITE = 1, 2, 4  # what `Plan.misses` is made of


class Plan(NamedTuple):
    """What the event loop reads.

    Attributes:
        core: int32 (nodes).
        cost: int32 (nodes), cycles, at least 1; of nodes that access a line what they cost besides, at least 0.
        misses: uint8 (nodes), MISS where the node occupies a miss register while it runs; ACCESS, and WRITE, where it
            accesses a line of simulated caches.
        line: int32 (nodes), number of that line, −1 for others; empty without caches.
        needs: int32 (nodes), deliveries that it waits for.
        first_group: int32 (nodes + 1): the groups of each node.
        group_core: int32 (groups). group_node: int32 (groups), the node that makes the value.
        first_fed: int32 (groups + 1). fed: int32, nodes that each group feeds.
        node_of: int32 (n), node of each instruction.
    """

    core: Ints
    cost: Ints
    misses: Bytes
    line: Ints
    needs: Ints
    first_group: Ints
    group_core: Ints
    group_node: Ints
    first_fed: Ints
    fed: Ints
    node_of: Ints


def plan_of(
    tasks: TaskGraph, core_of: Ints, speeds: Floats, hit: int, lines: list[Ints] | None = None, most: int = 0
) -> Plan:
    """The plan of a task graph whose clusters lie on cores. O(n + m + cores).

    Args:
        core_of: int32 (k), core of each cluster. speeds: float64 (cores).
        hit: cycles of the nearest cache; longer memory accesses are misses.
        lines: of one int32 (n), the line that each instruction accesses in simulated caches, −1 for none. It is taken
            out, since its memory is needed for the plan.
        most: cycles of a statement that the simulated access of a line stands in for, at most.

    Raises:
        ArgumentError: too many instructions; one that takes more than LONGEST cycles on a slow core.
    """
    graph = tasks.graph
    if graph.n + graph.m >= MOST_NODES:
        raise ArgumentError(f"{graph.n} instructions and {graph.m} dependences are too many to be simulated")
    home, at = core_of[tasks.home], core_of[tasks.at]
    accesses = np.zeros(0, np.uint8) if graph.access is None else graph.access
    line = lines.pop() if lines else np.zeros(0, np.int32)
    node_of, consumer, core, cost, misses, line, over = _nodes(
        graph.dst, home, at, graph.weight, graph.kind, graph.time, accesses, speeds, hit, line, most
    )
    if over[0] >= 0:
        instruction, slow, cycles = over.tolist()
        raise ArgumentError(
            f"instruction {instruction} takes {cycles} cycles on core {slow} of speed {speeds[slow]:g}, at most "
            f"{LONGEST} were expected",
            hint="Give the core a higher speed, or place its clusters on another one.",
        )
    first_group, group_core, group_node, first_fed, fed, needs = _groups(
        graph.src, at, home, node_of, consumer, core, graph.n, speeds.size
    )
    return Plan(core, cost, misses, line, needs, first_group, group_core, group_node, first_fed, fed, node_of)


def size_of(graph: DependenceGraph) -> int:
    """Bytes of the largest plan of a graph, with what the event loop adds."""
    return 40 * graph.n + 64 * graph.m


@kept
def _nodes(
    dst: Ids,
    home: Ints,
    at: Ints,
    weight: Ints,
    kind: Bytes,
    time: Ints,
    accesses: Bytes,
    speeds: Floats,
    hit: int,
    lines: Ints,
    most: int,
) -> tuple[Ints, Ints, Ints, Ints, Bytes, Ints, Longs]:
    n, m = home.size, dst.size
    seen = np.full(speeds.size, -1, np.int64)  # by core, the last instruction with a part there
    parts = 0
    for edge in range(m):
        target = dst[edge]
        if at[edge] != home[target] and seen[at[edge]] != target:
            seen[at[edge]] = target
            parts += 1
    total = n + parts
    node_of, consumer = np.empty(n, np.int32), np.empty(m, np.int32)
    core, cost, misses = np.empty(total, np.int32), np.empty(total, np.int32), np.zeros(total, np.uint8)
    line = np.full(total if lines.size else 0, -1, np.int32)
    seen[:] = -1
    over = np.full(3, -1, np.int64)  # the first instruction that takes too long, its core and cycles
    part_of = np.empty(speeds.size, np.int32)
    node: Any = 0
    edge = 0
    for v in range(n):
        begin = edge
        cached = lines.size > 0 and lines[v] >= 0
        kind_of_access = (ACCESS | WRITE if accesses[v] & 2 else ACCESS) if cached else MISS
        left: Any = np.int64(time[v])
        paid: Any = np.int64(0)
        here, memory = False, False  # of the access: whether it is done at home, at all
        while edge < m and dst[edge] == v:
            x = at[edge]
            is_memory = kind[edge] == MEMORY
            if is_memory:
                paid, memory = max(paid, np.int64(weight[edge])), True
            if x == home[v]:
                here |= is_memory
            else:
                if seen[x] != v:
                    seen[x] = v
                    part_of[x] = node
                    core[node], cost[node] = x, 1
                    node += 1
                part = part_of[x]
                if is_memory and cached:
                    cycles = _cycles(max(0, weight[edge] - most), speeds, v, x, over)
                    cost[part] = cycles if line[part] < 0 or cycles > cost[part] else cost[part]
                    misses[part], line[part] = kind_of_access, lines[v]
                elif is_memory:
                    cycles = _cycles(weight[edge], speeds, v, x, over)
                    cost[part] = cycles if cycles > cost[part] else cost[part]
                    misses[part] = max(misses[part], weight[edge] > hit)
            edge += 1
        for i in range(begin, edge):
            consumer[i] = np.int32(node) if at[i] == home[v] else part_of[at[i]]
        if memory and not here:
            left -= paid
        core[node] = home[v]
        accessing = (accesses[v] > 0 if accesses.size else memory) and (here or not memory)
        if accessing and cached:
            left = max(0, left - min(paid if memory else left, most))
            misses[node], line[node] = kind_of_access, lines[v]
        else:
            misses[node] = accessing and left > hit
        cycles = _cycles(left, speeds, v, home[v], over)
        least = np.int64(0 if line.size and line[node] >= 0 else 1)
        cost[node] = cycles if cycles > least else least
        node_of[v] = node
        node += 1
    return node_of, consumer, core, cost, misses, line, over


@kept
def _cycles(stated: Any, speeds: Floats, instruction: Any, core: Any, over: Longs) -> Any:
    """Cycles on a core; the first instruction that takes more than LONGEST there is put into `over`."""
    cycles = np.int64(np.ceil(stated / speeds[core]))
    if cycles > LONGEST:
        if over[0] < 0:
            over[0], over[1], over[2] = instruction, core, cycles
        return np.int64(LONGEST)
    return cycles


@kept
def _groups(
    src: Ids, at: Ints, home: Ints, node_of: Ints, consumer: Ints, core: Ints, n: int, cores: int
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    m, total = src.size, core.size
    # Edges by source and core: two stable counting sorts, the later key first.
    starts = np.zeros(cores + 1, np.int64)
    for edge in range(m):
        starts[at[edge] + 1] += 1
    for x in range(cores):
        starts[x + 1] += starts[x]
    by_core = np.empty(m, np.int32)
    for edge in range(m):
        by_core[starts[at[edge]]] = edge
        starts[at[edge]] += 1
    begin = np.zeros(n + 1, np.int32)
    for edge in range(m):
        begin[src[edge] + 1] += 1
    for v in range(n):
        begin[v + 1] += begin[v]
    order = np.empty(m, np.int32)
    place = begin[:n].copy()
    for i in range(m):
        v = src[by_core[i]]
        order[place[v]] = by_core[i]
        place[v] += 1
    groups = total - n  # a part feeds its instruction
    for v in range(n):
        for i in range(begin[v], begin[v + 1]):
            groups += i == begin[v] or at[order[i]] != at[order[i - 1]]
    first_group, group_core = np.empty(total + 1, np.int32), np.empty(groups, np.int32)
    group_node, first_fed = np.empty(groups, np.int32), np.empty(groups + 1, np.int32)
    fed, needs = np.empty(m + total - n, np.int32), np.zeros(total, np.int32)
    node, group, end = 0, 0, 0
    for v in range(n):
        while node < node_of[v]:
            first_group[node], group_core[group], group_node[group] = group, home[v], node
            first_fed[group], fed[end] = end, node_of[v]
            needs[node_of[v]] += 1
            node, group, end = node + 1, group + 1, end + 1
        first_group[node] = group
        for i in range(begin[v], begin[v + 1]):
            edge = order[i]
            if i == begin[v] or at[edge] != at[order[i - 1]]:
                group_core[group], group_node[group], first_fed[group] = at[edge], node, end
                group += 1
            fed[end] = consumer[edge]
            needs[consumer[edge]] += 1
            end += 1
        node += 1
    first_group[total], first_fed[groups] = group, end
    return first_group, group_core, group_node, first_fed, fed, needs


__all__ = ["Plan", "plan_of", "size_of"]
