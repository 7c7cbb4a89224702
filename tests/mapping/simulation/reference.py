"""A slow simulator, written from the docstrings alone: dictionaries, one cycle after the other, no shared code."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
from tracecut.ir.dependence_graph import MEMORY

from .reference_caches import Memory


@dataclass
class Node:
    """An instruction, or a part of one on another core."""

    rank: tuple[int, int]
    core: int
    cost: int
    misses: bool
    waits: int = 0
    line: int = -1  # that it accesses in caches
    writes: bool = False
    feeds: dict[int, list[Node]] = field(default_factory=dict)  # by core
    begin: int = -1


def routes_of(machine: Any) -> Any:
    """(a, b) → links as pairs of routers, from the description of the network alone."""
    network = machine.joined
    if network.kind == "bus":
        return lambda a, b: ["bus"]
    if network.kind == "full":
        return lambda a, b: [(a, b)]
    if network.kind == "tree":
        tree, leaves = nx.Graph(), [()]
        for fan in network.shape:
            for place in list(leaves):
                for child in range(fan):
                    tree.add_edge(place, (*place, child))
            leaves = [(*place, child) for place in leaves for child in range(fan)]
        return lambda a, b: list(zip(p := nx.shortest_path(tree, leaves[a], leaves[b]), p[1:], strict=False))
    width, height = network.shape
    wraps = network.kind == "torus"

    def towards(place: int, goal: int, side: int) -> int:
        ahead = goal - place
        step = 1 if ahead > 0 else -1
        if wraps and 2 * abs(ahead) > side:
            step = -step
        return (place + step) % side

    def along(a: int, b: int) -> list[Any]:
        x, y, path = a % width, a // width, []
        while (x, y) != (b % width, b // width):
            before = (x, y)
            if x != b % width:
                x = towards(x, b % width, width)
            else:
                y = towards(y, b // width, height)
            path.append((before, (x, y), "forward" if (x, y) == ((before[0] + 1) % width, before[1]) else "else"))
        return path

    return along


def nodes_of(graph: Any, home: list[int], at: list[int], machine: Any, caches: bool) -> tuple[list[Node], list[Node]]:
    """All nodes in the order of the program, and those of the instructions."""
    speeds, hit = [core.speed for core in machine.cores], machine.caches[0].latency
    into, out = defaultdict(list), defaultdict(list)
    for edge in range(graph.m):
        into[int(graph.dst[edge])].append(edge)
        out[int(graph.src[edge])].append(edge)
    nodes, instructions, consumer = [], [], {}
    for v in range(graph.n):
        memory = {at[e]: 0 for e in into[v] if graph.kind[e] == MEMORY}
        for e in into[v]:
            if graph.kind[e] == MEMORY:
                memory[at[e]] = max(memory[at[e]], int(graph.weight[e]))
        parts: dict[int, Node] = {}
        address = int(graph.address[v]) if caches and graph.access[v] else -1
        most, line = (machine.memory_latency if address >= 0 else 0), address // machine.caches[0].line
        writes = address >= 0 and bool(graph.access[v] & 2)
        for e in into[v]:
            if at[e] != home[v] and at[e] not in parts:
                access = memory.get(at[e], 0)
                cached = address >= 0 and at[e] in memory
                cost = max(1 - cached, math.ceil(max(0, access - most) / speeds[at[e]]))
                misses = access > hit and not cached
                parts[at[e]] = Node((v, len(parts)), at[e], cost, misses, 0, line if cached else -1, writes)
        left = int(graph.time[v])
        if memory and home[v] not in memory:
            left -= max(memory.values())
        accesses = bool(memory) if graph.access is None else bool(graph.access[v])
        accesses = accesses and (home[v] in memory or not memory)
        cached = accesses and address >= 0
        left = max(0, left - min(most, max(memory.values()) if memory else left)) if cached else left
        misses, cost = accesses and left > hit and not cached, max(1 - cached, math.ceil(left / speeds[home[v]]))
        own = Node((v, len(parts)), home[v], cost, misses, len(parts), line if cached else -1, writes)
        for part in parts.values():
            part.feeds[home[v]] = [own]
        for e in into[v]:
            consumer[e] = parts.get(at[e], own)
        nodes += [*parts.values(), own]
        instructions.append(own)
    for v in range(graph.n):
        for e in out[v]:
            instructions[v].feeds.setdefault(at[e], []).append(consumer[e])
            consumer[e].waits += 1
    return nodes, instructions


@dataclass
class Request:
    """For a line: what it does next, the accesses that wait for it."""

    steps: Iterator[Any]
    nodes: list[Node]
    leg: tuple[list[Any], int, bool] | None = None  # links, those taken, whether a line moves
    due: int = 0


def simulated(graph: Any, home: list[int], at: list[int], machine: Any, caches: bool = False) -> Any:
    """Time, begin of each instruction, bytes by link, messages; requests that travelled, the caches."""
    nodes, instructions = nodes_of(graph, home, at, machine, caches)
    memory = Memory(machine) if caches else None
    network, place = machine.joined, [core.node for core in machine.cores]
    route = routes_of(machine)
    flits = [math.ceil(size / network.flit) * network.flit for size in (8, 8 + machine.caches[0].line)]
    occupied = [max(1, math.ceil(size / network.bandwidth)) for size in flits]
    ready: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.waits == 0:
            ready[node.core].append(node)
    running: list[Node] = []
    flying: list[dict[str, Any]] = []
    requests: list[Request] = []
    free: dict[Any, int] = defaultdict(int)
    load: dict[Any, int] = defaultdict(int)
    registers: dict[int, int] = defaultdict(int)
    now = sent = last = asked = 0

    def deliver(fed: list[Node]) -> None:
        for node in fed:
            node.waits -= 1
            if node.waits == 0:
                ready[node.core].append(node)

    def take(link: Any, line: bool) -> int:
        start = max(now, free[link])
        free[link] = start + occupied[line]
        load[link] += flits[line]
        return start + network.hop_latency

    while running or flying or requests or any(ready.values()):
        stepping, travelling = [], []
        for request in sorted([one for one in requests if one.due == now], key=lambda one: one.nodes[0].rank):
            assert memory is not None
            memory.now = now
            while request.due == now and request.leg is None:
                step = next(request.steps, None)
                if step is None:
                    requests.remove(request)
                    registers[request.nodes[0].core] -= 1
                    for node in request.nodes:
                        node.cost += max(now - node.begin, memory.l1)
                        running.append(node)
                    break
                if isinstance(step, int):
                    request.due += step
                elif step[0] != step[1]:
                    request.leg = (route(step[0], step[1]), 0, step[2])
                    asked += 1
            if request.leg is not None:
                travelling.append(request)
        for node in [node for node in running if node.begin + node.cost == now]:
            running.remove(node)
            last = now
            registers[node.core] -= node.misses
            for core, fed in node.feeds.items():
                if place[core] == place[node.core]:
                    deliver(fed)
                else:
                    path = route(place[node.core], place[core])
                    message = {"rank": (node.rank, core), "path": path, "step": 0, "due": now, "fed": fed}
                    sent += 1
                    flying.append(message)
                    stepping.append(message)
        for message in [message for message in flying if message["due"] == now and message not in stepping]:
            if message["step"] < len(message["path"]):
                stepping.append(message)
            else:
                flying.remove(message)
                deliver(message["fed"])
        for message in sorted(stepping, key=lambda message: message["rank"]):
            message["due"] = take(message["path"][message["step"]], False)
            message["step"] += 1
            message["due"] += occupied[0] - 1 if message["step"] == len(message["path"]) else 0
        for request in travelling:
            assert request.leg is not None
            path, taken, line = request.leg
            request.due = take(path[taken], line)
            request.leg = (path, taken + 1, line)
            if taken + 1 == len(path):
                request.leg, request.due = None, request.due + occupied[line] - 1
        for core, waiting in ready.items():
            waiting.sort(key=lambda node: node.rank)
            begun = 0
            while waiting and begun < machine.issue_width:
                node = waiting[0]
                mine = [one for one in requests if (one.nodes[0].core, one.nodes[0].line) == (core, node.line)]
                if node.line >= 0 and mine:
                    assert memory is not None
                    if node.writes and not mine[0].nodes[0].writes:
                        break
                    mine[0].nodes.append(node)
                    memory.found["under_way"] += 1
                elif memory and node.line >= 0 and memory.hit(core, node.line, node.writes):
                    memory.found["own"] += 1
                    node.cost += memory.l1
                    running.append(node)
                elif (node.misses or node.line >= 0) and registers[core] == machine.mshrs:
                    break
                elif memory and node.line >= 0:
                    steps = memory.request(core, node.line, node.writes)
                    requests.append(Request(steps, [node], None, now + next(steps)))
                    registers[core] += 1
                else:
                    registers[core] += node.misses
                    running.append(node)
                waiting.pop(0)
                node.begin = now
                begun += 1
        now += 1
    return last, [node.begin for node in instructions], dict(load), sent, asked, memory
