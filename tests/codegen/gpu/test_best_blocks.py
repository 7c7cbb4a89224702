"""Orders of jobs for thread blocks, and the order of the data that blocks copy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.gpu import best_blocks
from tracecut.codegen.gpu.best_blocks import BlockOrders, copied_bytes, gathered_by_blocks, order_for_blocks
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import BackendError, UnsupportedError

pytestmark = pytest.mark.quick


@st.composite
def cases(draw: st.DrawFn) -> tuple[LocalityGraph, Ordering, int]:
    """A graph of up to three spaces, an order of it in blocks, and the most jobs of a block."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    spaces = np.concatenate([[0], np.cumsum(sizes)])
    rows = draw(st.lists(st.lists(st.integers(0, int(spaces[-1]) - 1), max_size=4), min_size=1, max_size=20))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    pins = np.array([pin for row in rows for pin in row], np.int32)
    graph = LocalityGraph(offsets, pins, int(spaces[-1]), space_offsets=spaces.astype(np.int64))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    data = np.concatenate([low + random.permutation(high - low) for low, high in pairwise(spaces.tolist())])
    cuts = sorted(draw(st.sets(st.integers(1, len(rows)), max_size=3)) - {len(rows)})
    blocks = np.array([0, *cuts, len(rows)], np.int64)
    order = Ordering(random.permutation(len(rows)).astype(np.int32), data.astype(np.int32), "drawn", blocks)
    return graph, order, draw(st.integers(1, 6))


def blocks_of(graph: LocalityGraph, order: Ordering, jobs: int) -> list[set[int]]:
    """The data of each block, by sets."""
    found = []
    for first, end in pairwise(order.blocks.tolist()):
        for begin in range(first, end, jobs):
            mine = order.jobs[begin : min(begin + jobs, end)]
            found.append({int(d) for job in mine for d in graph.data[graph.offsets[job] : graph.offsets[job + 1]]})
    return found


@given(cases())
def test_copied_bytes_are_those_of_sets(case: tuple[LocalityGraph, Ordering, int]) -> None:
    graph, order, jobs = case
    place = {int(datum): at for at, datum in enumerate(order.data)}
    blocks = blocks_of(graph, order, jobs)
    expected = sum(4 * len(block) + 32 * len({place[datum] // 4 for datum in block}) for block in blocks)
    assert copied_bytes(graph, order, jobs) == expected


@given(cases())
def test_data_are_gathered_by_the_blocks_that_touch_them(case: tuple[LocalityGraph, Ordering, int]) -> None:
    graph, order, jobs = case
    found = gathered_by_blocks(graph, order, jobs)
    assert np.array_equal(found.jobs, order.jobs) and np.array_equal(found.blocks, order.blocks)
    blocks = blocks_of(graph, order, jobs)
    before = {int(datum): at for at, datum in enumerate(order.data)}

    def key(datum: int) -> tuple[int, int, int]:
        touching = [number for number, block in enumerate(blocks) if datum in block]
        return (touching[0], touching[-1], before[datum]) if touching else (1 << 30, -1, before[datum])

    for low, high in pairwise(graph.space_offsets.tolist()):
        mine = found.data[low:high].tolist()
        assert sorted(mine) == list(range(low, high))
        assert mine == sorted(mine, key=key)


def ring(n: int) -> LocalityGraph:
    names = np.random.default_rng(1).permutation(n).astype(np.int32)
    return LocalityGraph.from_edges(names, np.roll(names, 1), n)


def test_gathered_data_lie_in_fewer_sectors() -> None:
    graph = ring(4096)
    order = BlockOrders(graph, "rcm").best(128)
    shuffled = Ordering(order.jobs, np.random.default_rng(0).permutation(4096).astype(np.int32), "x", order.blocks)
    assert copied_bytes(graph, gathered_by_blocks(graph, shuffled, 128), 128) < copied_bytes(graph, shuffled, 128) / 2


def test_the_order_that_copies_least_is_taken() -> None:
    graph = ring(2000)
    orders = BlockOrders(graph, "auto")
    best = orders.best(100)
    assert orders.best(100) is best
    least = copied_bytes(graph, gathered_by_blocks(graph, best, 100), 100)
    for name in ("rcm", "degree-z"):
        other = order_for_blocks(graph, name, jobs=100)
        assert least <= copied_bytes(graph, gathered_by_blocks(graph, other, 100), 100)


def test_without_any_order_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> Ordering:
        raise BackendError("the graph is too odd")

    monkeypatch.setattr(best_blocks, "make_order", fail)
    with pytest.raises(UnsupportedError, match=r"no order could be made: rcm: the graph is too odd"):
        BlockOrders(ring(50), "auto").best(10)
