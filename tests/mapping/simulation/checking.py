"""One random case through the simulator and the slow reference."""

from __future__ import annotations

from itertools import pairwise

from tracecut.mapping.simulate import simulate
from tracecut.mapping.tasks.task_graph import task_graph

from .cases import random_case
from .reference import simulated


def check(seed: int) -> None:
    graph, clustering, placement, machine = random_case(seed)
    found = simulate(graph, clustering, placement, machine)
    tasks = task_graph(graph, clustering)
    home, at = (placement.core_of[labels].tolist() for labels in (tasks.home, tasks.at))
    time, begin, load, sent = simulated(graph, home, at, machine)
    assert (found.time, found.messages) == (time, sent), seed
    assert found.begin.tolist() == begin, seed
    flits = -(-8 // machine.joined.flit) * machine.joined.flit
    assert sorted(found.link_load[found.link_load > 0].tolist()) == sorted(flits * count for count in load.values()), (
        seed
    )
    path = found.critical_path
    assert found.begin[path[-1]] + found.cycles[path[-1]] == time or path.size < graph.n
    ends = found.begin + found.cycles
    for u, v in pairwise(path):
        assert ((graph.src == u) & (graph.dst == v)).any() and ends[u] <= found.begin[v], seed
