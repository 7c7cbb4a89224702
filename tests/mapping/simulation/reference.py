"""A slow simulator, written from the docstrings alone: dictionaries, one cycle after the other, no shared code."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
from tracecut.ir.dependence_graph import MEMORY


@dataclass
class Node:
    """An instruction, or a part of one on another core."""

    rank: tuple[int, int]
    core: int
    cost: int
    misses: bool
    waits: int = 0
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


def nodes_of(graph: Any, home: list[int], at: list[int], machine: Any) -> tuple[list[Node], list[Node]]:
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
        for e in into[v]:
            if at[e] != home[v] and at[e] not in parts:
                access = memory.get(at[e], 0)
                cost = max(1, math.ceil(access / speeds[at[e]]))
                parts[at[e]] = Node((v, len(parts)), at[e], cost, access > hit)
        left = int(graph.time[v])
        if memory and home[v] not in memory:
            left -= max(memory.values())
        accesses = bool(memory) if graph.access is None else bool(graph.access[v])
        misses = accesses and (home[v] in memory or not memory) and left > hit
        own = Node((v, len(parts)), home[v], max(1, math.ceil(left / speeds[home[v]])), misses, len(parts))
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


def simulated(graph: Any, home: list[int], at: list[int], machine: Any) -> tuple[int, list[int], dict[Any, int], int]:
    """Time, begin of each instruction, messages by link, messages. `home`, `at`: cores."""
    nodes, instructions = nodes_of(graph, home, at, machine)
    network, place = machine.joined, [core.node for core in machine.cores]
    route = routes_of(machine)
    flits = math.ceil(8 / network.flit)
    occupied = max(1, math.ceil(flits * network.flit / network.bandwidth))
    ready: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.waits == 0:
            ready[node.core].append(node)
    running: list[Node] = []
    flying: list[dict[str, Any]] = []
    free: dict[Any, int] = defaultdict(int)
    load: dict[Any, int] = defaultdict(int)
    registers: dict[int, int] = defaultdict(int)
    now = sent = last = 0

    def deliver(fed: list[Node]) -> None:
        for node in fed:
            node.waits -= 1
            if node.waits == 0:
                ready[node.core].append(node)

    while running or flying or any(ready.values()):
        stepping = []
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
            link = message["path"][message["step"]]
            start = max(now, free[link])
            free[link] = start + occupied
            load[link] += 1
            message["step"] += 1
            at_end = message["step"] == len(message["path"])
            message["due"] = start + network.hop_latency + (occupied - 1 if at_end else 0)
        for core, waiting in ready.items():
            waiting.sort(key=lambda node: node.rank)
            begun = 0
            while waiting and begun < machine.issue_width:
                if waiting[0].misses and registers[core] == machine.mshrs:
                    break
                node = waiting.pop(0)
                registers[core] += node.misses
                node.begin = now
                running.append(node)
                begun += 1
        now += 1
    return last, [node.begin for node in instructions], dict(load), sent
