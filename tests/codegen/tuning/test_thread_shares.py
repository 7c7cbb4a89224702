"""What threads tell each other, and how many of their values come from other nodes: by brute force, and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.schedule import Blocks, Guard, RegionSchedule, Schedule
from tracecut.codegen.tuning.thread_shares import (
    HEAVIEST,
    _thread_of,
    remote_share,
    shares,
    thread_placement,
    thread_talk,
)
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph

from tests.ir.machine.sysfs_trees import cpus, numa, tree

pytestmark = pytest.mark.quick
NONE = np.zeros(0, np.int32)


def schedule(bounds: list[int], waves: list[int], jobs: list[int] | None = None) -> Schedule:
    order = np.arange(bounds[-1]) if jobs is None else np.array(jobs)
    blocks = Blocks(np.array(bounds, np.int64), np.array(waves, np.int32))
    region = RegionSchedule(7, order.astype(np.int32), blocks, (), {}, NONE)
    return Schedule(7, (), (), (region,), Guard({}, (), (), (), ()), "given")


def chain(jobs: int) -> ScopeGraph:
    """Job j touches data j and j + 1."""
    data = np.stack([np.arange(jobs), np.arange(1, jobs + 1)], axis=1).ravel().astype(np.int32)
    return ScopeGraph(LocalityGraph(np.arange(0, 2 * jobs + 1, 2), data, jobs + 1), {7: 0}, {})


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 9))
def test_shares_are_those_of_the_run_time_support(waves: list[int], threads: int) -> None:
    """`share` in blocks.c: in a wavefront of `count` blocks thread t begins with block count · t / threads."""
    waves = list(np.unique(waves, return_inverse=True)[1])
    blocks = Blocks(np.arange(len(waves) + 1, dtype=np.int64), np.array(waves, np.int32))
    found = _thread_of(blocks, threads)
    for wave in set(waves):
        mine = [block for block in range(len(waves)) if waves[block] == wave]
        taking = min(threads, len(mine))
        for thread in range(taking):
            begin, end = len(mine) * thread // taking, len(mine) * (thread + 1) // taking
            assert [found[block] for block in mine[begin:end]] == [thread] * (end - begin)


def test_neighbours_in_a_chain_talk_to_each_other() -> None:
    found = thread_talk(chain(40), schedule([0, 10, 20, 30, 40], [0, 0, 0, 0]))
    assert found == {"parts": 4, "pairs": [[0, 1, 1], [1, 2, 1], [2, 3, 1]]}
    turned = list(range(20, 40)) + list(range(20))
    found = thread_talk(chain(40), schedule([0, 10, 20, 30, 40], [0, 0, 0, 0], turned))
    assert found["pairs"] == [[0, 1, 1], [0, 3, 1], [2, 3, 1]]


def test_one_block_talks_to_nobody() -> None:
    assert thread_talk(chain(40), schedule([0, 40], [0])) == {"parts": 1, "pairs": []}


def test_only_the_heaviest_pairs_are_kept() -> None:
    count = 30  # job j of each thread touches datum j of all: everybody needs what the first owns
    graph = LocalityGraph(np.arange(count + 1), np.zeros(count, np.int32), 1)
    found = thread_talk(ScopeGraph(graph, {7: 0}, {}), schedule(list(range(count + 1)), [0] * count))
    ends = Counter(part for a, b, _ in found["pairs"] for part in (a, b))
    assert found["parts"] == count and all(ends[part] >= 1 for part in range(count))
    dense = np.array([(a, b) for a in range(count) for b in range(a)])
    data = np.arange(len(dense)).repeat(2)
    order = np.argsort(dense.ravel(), kind="stable")
    offsets = np.searchsorted(dense.ravel()[order], np.arange(count + 1))
    every = LocalityGraph(offsets, data[order].astype(np.int32), len(dense))
    found = thread_talk(ScopeGraph(every, {7: 0}, {}), schedule(list(range(count + 1)), [0] * count))
    assert count // 2 * HEAVIEST <= len(found["pairs"]) <= count * HEAVIEST


@given(st.data())
def test_remote_share_by_its_definition(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.sets(st.integers(0, 5), max_size=4), min_size=1, max_size=12))
    k = data.draw(st.integers(1, 4))
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=len(rows), max_size=len(rows)))
    nodes = data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))
    offsets = np.cumsum([0, *map(len, rows)])
    flat = [datum for row in rows for datum in sorted(row)]
    graph = LocalityGraph(offsets, np.array(flat, np.int32), 6)
    needed = remote = 0
    for datum in range(6):
        users = Counter(label for label, row in zip(labels, rows, strict=True) if datum in row)
        owner = min(users, key=lambda label: (-users[label], label), default=0)
        needed += len(users)
        remote += sum(nodes[user] != nodes[owner] for user in users)
    found = remote_share(graph, Clustering(np.array(labels, np.int32), k, "jobs", "given"), nodes)
    assert found == pytest.approx(remote / max(1, needed))


def test_placement_on_two_nodes(tmp_path: Path) -> None:
    """CPUs go to the nodes by turns, so that each neighbour in the natural order would be on the other node."""
    files = cpus(4, package=1) | numa(0, "0,2", "10 21") | numa(1, "1,3", "21 10")
    root = tree(tmp_path, files)
    blocks = schedule([0, 10, 20, 30, 40], [0, 0, 0, 0])
    talk = thread_talk(chain(40), blocks)
    found = thread_placement(chain(40), blocks, 4, range(4), talk, root)
    assert found["cpus"] == [0, 2, 1, 3] and found["nodes"] == [0, 0, 1, 1]
    assert found["remote_before"] == pytest.approx(3 / 44) and found["remote_after"] == pytest.approx(1 / 44)
    assert thread_placement(chain(40), blocks, 1, range(4), talk, root) == {}


def test_placement_on_one_node_predicts_nothing(tmp_path: Path) -> None:
    blocks = schedule([0, 20, 40], [0, 0])
    talk = thread_talk(chain(40), blocks)
    found = thread_placement(chain(40), blocks, 2, range(2), talk, tree(tmp_path, cpus(2)))
    assert found["cpus"] == [0, 1] and "cannot matter" in found["remark"] and "remote_before" not in found


def test_jobs_outside_of_the_schedule_are_the_first_threads() -> None:
    graph = ScopeGraph(chain(40).graph, {9: 0}, {})
    assert set(shares(graph, schedule([0, 20, 40], [0, 0]), 2).labels) == {0}
