"""One random case through the simulator and the slow reference."""

from __future__ import annotations

from itertools import pairwise

from tracecut.mapping.simulate import simulate
from tracecut.mapping.tasks.task_graph import task_graph

from .cases import Case, random_case
from .reference import simulated


def check(seed: int) -> None:
    """With the cycles that the graph states, and with caches where it has addresses."""
    case = random_case(seed)
    for caches in (False, True)[: 1 if case[0].address is None else 2]:
        check_one(seed, case, caches)


def check_one(seed: int, case: Case, caches: bool) -> None:
    graph, clustering, placement, machine = case
    found = simulate(graph, clustering, placement, machine, caches=caches)
    tasks = task_graph(graph, clustering)
    home, at = (placement.core_of[labels].tolist() for labels in (tasks.home, tasks.at))
    time, begin, load, sent, asked, memory = simulated(graph, home, at, machine, caches)
    assert (found.time, found.messages, found.asked) == (time, sent, asked), seed
    assert found.begin.tolist() == begin, seed
    assert sorted(found.link_load[found.link_load > 0].tolist()) == sorted(load.values()), seed
    if memory is not None:
        assert {name: count for name, count in found.accesses().items() if count} == dict(memory.found), seed
        assert found.bank_load.tolist() == [memory.sent[bank] for bank in range(found.bank_load.size)], seed
        assert (found.invalidations, found.written_back) == (memory.dropped, memory.written_back), seed
    path = found.critical_path
    assert found.begin[path[-1]] + found.cycles[path[-1]] == time or path.size < graph.n
    ends = found.begin + found.cycles
    for u, v in pairwise(path):
        assert ((graph.src == u) & (graph.dst == v)).any() and ends[u] <= found.begin[v], seed
