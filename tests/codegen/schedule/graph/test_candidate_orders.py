"""Which orders are tried, and what is known of them beforehand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.schedule.graph.candidate_orders import (
    NEARLY,
    SLOW_PINS,
    WITH_HUBS,
    WITHOUT_HUBS,
    Forecast,
    block_copies,
    cluster_methods,
    linear_methods,
    make_order,
    no_reason,
    seconds,
    shared_data,
)
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import ArgumentError

PAIRS = st.integers(2, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
)


def graph_of(n: int, pairs: list[tuple[int, int]]) -> LocalityGraph:
    pins = np.array(pairs, np.int32).reshape(-1)
    return LocalityGraph(np.arange(0, pins.size + 1, 2, dtype=np.int64), pins, n)


def ring(n: int) -> LocalityGraph:
    return graph_of(n, [(i, (i + 1) % n) for i in range(n)])


def star(n: int) -> LocalityGraph:
    return graph_of(n, [(0, i) for i in range(1, n)])


def copies(graph: LocalityGraph, parts: list[list[int]]) -> int:
    """Parts that touch a datum less one, summed up, by the definition."""
    touched = [{int(v) for job in part for v in graph.data[2 * job : 2 * job + 2]} for part in parts]
    return sum(sum(v in part for part in touched) - 1 for v in set().union(*touched)) if touched else 0


@settings(deadline=None, max_examples=80)
@given(drawn=PAIRS, threads=st.integers(1, 4), seed=st.integers(0, 99))
def test_shared_data_are_counted(drawn: tuple[int, list[tuple[int, int]]], threads: int, seed: int) -> None:
    graph = graph_of(*drawn)
    ordering = make_order(graph, "random", k=None, seed=seed)
    parts: list[list[int]] = [[] for _ in range(threads)]
    for place, job in enumerate(ordering.jobs.tolist()):
        parts[place * threads // graph.n_jobs].append(job)
    touched = len(set(graph.data.tolist()))
    assert shared_data(graph, ordering, threads) == (copies(graph, parts) / touched if touched else 0.0)


@settings(deadline=None, max_examples=60)
@given(drawn=PAIRS, cuts=st.lists(st.integers(0, 30), max_size=3))
def test_copies_of_blocks_are_counted(drawn: tuple[int, list[tuple[int, int]]], cuts: list[int]) -> None:
    graph = graph_of(*drawn)
    ends = [0, *sorted(min(cut, graph.n_jobs) for cut in cuts), graph.n_jobs]
    linear = make_order(graph, "rcm", k=None, seed=0)
    ordering = Ordering(linear.jobs, linear.data, "cut", np.array(ends, np.int64))
    parts = [ordering.jobs[low:high].tolist() for low, high in pairwise(ends)]
    assert block_copies(graph, ordering) == copies(graph, parts)


def test_hubs_get_other_families() -> None:
    assert linear_methods(star(100)) == (*linear_methods(ring(100)), "first-touch")
    assert set(cluster_methods(ring(100))) == {*WITHOUT_HUBS, "spac"}
    assert set(cluster_methods(star(100))) == {*WITH_HUBS, "spac"}
    many = SLOW_PINS // 2 + 1
    assert cluster_methods(ring(many)) == WITHOUT_HUBS


def test_every_family_has_an_estimate() -> None:
    graph = ring(50)
    for method in {*WITH_HUBS, *WITHOUT_HUBS, "spac"}:
        assert 0 < seconds(method, graph, 0.0) <= seconds(method, graph, 1e6)
        assert seconds(method, ring(100_000), None) > seconds(method, graph, None)


def test_a_good_linear_order_leaves_no_reason() -> None:
    assert no_reason(Forecast((0.9, 0.1), 0.0), least=0.1)
    assert no_reason(Forecast((0.9, 0.1 * NEARLY), 0.0), least=0.1)
    assert not no_reason(Forecast((0.1, 0.2), 0.0), least=0.1)  # lines are fetched more than once
    assert not no_reason(Forecast((0.9, 0.1), 0.5), least=0.1)  # threads share half of the data
    assert not no_reason(Forecast((), 0.0), least=0.1)  # nothing is known


def test_only_an_order_that_is_worse_in_all_is_left_out() -> None:
    good = Forecast((0.4, 0.1, 0.0), 0.1)
    assert Forecast((0.8, 0.2, 0.0), 0.2).worse_than(good)
    assert not good.worse_than(good)
    assert not Forecast((0.8, 0.05, 0.0), 0.2).worse_than(good)
    assert not Forecast((0.8, 0.2, 0.0), 0.05).worse_than(good)
    assert not Forecast((0.0, 0.0, 0.0), 0.0).worse_than(good)


def test_a_name_says_how_the_jobs_run() -> None:
    graph = graph_of(6, [(0, 5), (0, 1), (1, 5), (2, 3), (3, 4), (2, 4)])
    plain, curved = (make_order(graph, name, k=2, seed=0) for name in ("expansion", "expansion+z"))
    assert curved.method == "expansion+z" and curved.data.tolist() == plain.data.tolist()
    with pytest.raises(ArgumentError, match="no partitioning method 'expansion\\+y'"):
        make_order(graph, "expansion+y", k=2, seed=0)


def test_an_order_fetches_less_if_it_does_beyond_one_cache() -> None:
    known = Forecast((0.4, 0.1, 0.0), 0.1)
    assert Forecast((0.4, 0.05, 0.1), 0.9).fetches_less_than(known)
    assert not Forecast((0.39, 0.098, 0.0), 0.0).fetches_less_than(known)  # as far as a prediction tells
    assert not known.fetches_less_than(known)
    near = Forecast((0.5, 0.25), 0.0)  # where the nearest cache alone could do better
    assert Forecast((0.36, 0.25), 0.0).fetches_less_than(near, 0.25)
    assert not Forecast((0.4, 0.25), 0.0).fetches_less_than(near, 0.25)
    assert Forecast((), 0.0).fetches_less_than(known) and known.fetches_less_than(Forecast((), 0.0))  # not known
