"""The graph of clusters, its levels and the moves on them: each beside a slow reference, in one range and in many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.partition.coarsening.edge_matching import Rows
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.partition.parallel.ordered_pieces import MOST, parts, row_range
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.shared_memory import cluster_graph, join, parallel_greedy
from tracecut.partition.shared_memory.cluster_graph import ClusterEdges, Halves, linked
from tracecut.partition.shared_memory.join import Levels, joined
from tracecut.partition.shared_memory.parallel_greedy import improve_levels

from ..moves import moved

pytestmark = pytest.mark.quick

EDGES = st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=90)
NO_LONGS = longs(np.zeros(0, np.int64))
ALL = 1 << 40  # a goal that every graph keeps: no coarser level


@contextmanager
def small_ranges(least: int, room: int = 4) -> Iterator[None]:
    """Work is cut into ranges of `least` edges or entries."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (cluster_graph, join, parallel_greedy):
            patch.setattr(module, "LEAST", least)
        patch.setattr(cluster_graph, "ROW", least)
        patch.setattr(join, "ROOM", room)
        patch.setattr(join, "ROOMIER", room)
        yield


def halves(edges: list[tuple[int, int]], n: int, pool: ThreadPool, weights: np.ndarray = NO_LONGS) -> Halves:
    """Edge i has the name i; they lie in three pieces with gaps between them."""
    pairs, names = np.full(2 * len(edges) + 12, 999, np.uint32), np.full(len(edges) + 6, 999, np.uint32)
    spans, end = [], 0
    for piece in range(3):
        a, b = len(edges) * piece // 3, len(edges) * (piece + 1) // 3
        spans.append((end, end + b - a))
        pairs[2 * end : 2 * (end + b - a)] = np.array(edges[a:b], np.uint32).ravel()
        names[end : end + b - a] = np.arange(a, b)
        end += b - a + 2
    return linked(ClusterEdges(pairs, names, np.array(spans), longs(weights)), n, pool)


def dense(graph: Rows) -> np.ndarray:
    """The weight of each edge as a matrix; every neighbour stands once in a row."""
    found = np.zeros((graph.size, graph.size), np.int64)
    for v in range(graph.size):
        own = slice(graph.first[v], graph.last[v])
        assert np.unique(graph.near[own]).size == graph.near[own].size
        found[v, graph.near[own]] = graph.edges[own]
    return found


@settings(deadline=None, max_examples=100)
@given(EDGES, st.booleans(), st.sampled_from([1 << 15, 9, 3]), st.integers(1, 3))
def test_parallel_edges_become_one(edges: list[tuple[int, int]], weighted: bool, least: int, threads: int) -> None:
    real = [(u, v) for u, v in edges if u != v]
    weights = np.arange(1, len(real) + 1, dtype=np.int64) if weighted else NO_LONGS
    with small_ranges(least), ThreadPool(threads, 1 << 20) as pool:
        graph = joined(halves(real, 30, pool, weights), np.ones(30), 1.0, ALL, pool).level(0)
    expected = np.zeros((30, 30), np.int64)
    for name, (u, v) in enumerate(real):
        expected[u, v] += weights[name] if weighted else 1
        expected[v, u] += weights[name] if weighted else 1
    assert (dense(graph) == expected).all()
    # The order that one range gives: lower neighbours rising, then higher ones as they come.
    for v in range(30):
        low = [u for u in range(v) if expected[v, u]]
        high = list(dict.fromkeys(max(pair) for pair in real if min(pair) == v))
        assert graph.near[graph.first[v] : graph.last[v]].tolist() == low + high


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=40), st.sampled_from([1, 7, 50]), st.integers(0, 9))
def test_pieces_hold_every_row_once(lengths: list[int], least: int, start: int) -> None:
    ends = start + np.cumsum(lengths)
    begins, entries = longs(ends - lengths), int(sum(lengths))
    pieces = parts(entries, least, 8)
    found = [row_range(begins, entries, i, pieces) for i in range(pieces)]
    assert found[0][0] == 0 and found[-1][1] == len(lengths) and pieces <= 8
    assert all(a[1] == b[0] for a, b in pairwise(found))
    for begin, end in found:  # a piece is over its share by less than one row
        assert sum(lengths[begin:end]) <= -(-entries // pieces) + max(lengths)


def slow_match(matrix: np.ndarray, near: list[list[int]], loads: np.ndarray, heaviest: float) -> list[int]:
    mate = list(range(len(near)))
    free = set(range(len(near)))
    for v in range(len(near)):
        if v not in free:
            continue
        free.remove(v)
        fitting = [u for u in near[v] if u in free and loads[u] + loads[v] <= heaviest]
        if fitting:
            best = max(fitting, key=lambda u: matrix[v, u] ** 2 / loads[u])
            free.remove(best)
            mate[v], mate[best] = best, v
    return mate


def neighbours(graph: Rows) -> list[list[int]]:
    return [graph.near[a:b].tolist() for a, b in zip(graph.first, graph.last, strict=True)]


@settings(deadline=None, max_examples=150)
@given(
    EDGES, st.integers(1, 30), st.floats(1.0, 20.0), st.integers(1, 20), st.sampled_from([1 << 15, 5, 2]),
    st.sampled_from([1, 2, 9]), st.integers(1, 3),
)  # fmt: skip
def test_coarser_levels(
    edges: list[tuple[int, int]], n: int, heaviest: float, goal: int, least: int, room: int, threads: int
) -> None:
    """Matched by the rule in words; what the pairs weigh and share is what their members do. In little room as well."""
    real = [(u % n, v % n) for u, v in edges if u % n != v % n]
    loads = 1.0 + np.arange(n) % 3
    with small_ranges(least, room), ThreadPool(threads, 1 << 20) as pool:
        levels = joined(halves(real, n, pool), loads, heaviest, goal, pool)
    finest = levels.level(0)
    assert finest.loads.tolist() == loads.tolist() and finest.size == n
    for i in range(levels.n_levels):
        level = levels.level(i)
        matrix = dense(level)
        mate = slow_match(matrix, neighbours(level), level.loads, heaviest)
        heads = [v for v in range(level.size) if mate[v] >= v]
        if i == levels.n_levels - 1:
            assert level.size <= goal or len(heads) > 0.9 * level.size
            break
        assert level.size > goal
        coarser, coarse = levels.level(i + 1), levels.coarse[levels.bounds[i] : levels.bounds[i + 1]]
        assert coarse.tolist() == [heads.index(min(v, mate[v])) for v in range(level.size)]
        assert coarser.loads.tolist() == np.bincount(coarse, level.loads).tolist()
        expected = np.zeros((len(heads), len(heads)), np.int64)
        np.add.at(expected, (coarse[:, None], coarse[None, :]), matrix)
        np.fill_diagonal(expected, 0)
        assert (dense(coarser) == expected).all()
        # Without gaps it is the same graph.
        offsets, near, weights, own = coarser.tight(pool)
        again = Rows(offsets[:-1], offsets[1:], near, weights, own)
        assert (dense(again) == expected).all() and offsets[-1] == near.size


def slow_settled(levels: Levels, limits: np.ndarray, coarsest: list[int], sweeps: int) -> list[int]:
    labels = coarsest
    for i in reversed(range(levels.n_levels - 1)):
        level = levels.level(i)
        labels = [labels[c] for c in levels.coarse[levels.bounds[i] : levels.bounds[i + 1]].tolist()]
        links = [dict(zip(np.flatnonzero(row).tolist(), row[row > 0].tolist(), strict=True)) for row in dense(level)]
        for _ in range(sweeps):
            wishes = [v for v in range(level.size) if moved(links, level.loads, limits, labels, v) != labels[v]]
            for v in wishes:
                labels[v] = moved(links, level.loads, limits, labels, v)
    return labels


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 14), EDGES, st.integers(2, 4), st.sampled_from([1 << 15, 5, 1]), st.integers(1, 3), st.data())
def test_moves_are_found_together_and_made_in_order(
    n: int, edges: list[tuple[int, int]], k: int, least: int, threads: int, data: st.DataObject
) -> None:
    loads = 1.0 + np.arange(n) % 3
    real = [(u % n, v % n) for u, v in edges if u % n != v % n]
    # No two parts are ever equally full: what comes first among equals is no part of the rule.
    limits = data.draw(st.sampled_from([0.5, 1.0, 1.25, 2.0])) * loads.sum() / k * (1 + np.sqrt(np.arange(k) + 2) / 50)
    sweeps, goal = data.draw(st.tuples(st.integers(1, 3), st.sampled_from([ALL, 4, 1])))
    with small_ranges(least), ThreadPool(threads, 1 << 20) as pool:
        levels = joined(halves(real, n, pool), loads, 9.0, goal, pool)
        size = levels.level(levels.n_levels - 1).size
        before = data.draw(st.lists(st.integers(0, k - 1), min_size=size, max_size=size))
        labels = improve_levels(levels, floats(limits), words(np.array(before, np.uint32)), sweeps, pool)
    assert labels.tolist() == slow_settled(levels, limits, list(before), sweeps)
    if len(set(before)) == k:
        assert len(set(labels.tolist())) == k


def test_more_threads_than_pieces() -> None:
    """Twenty threads ask for no more pieces than a barrier counts; the result is that of one."""
    draw = np.random.default_rng(2)
    pairs = [(int(u), int(v)) for u, v in draw.integers(0, 90, (400, 2)) if u != v]
    found = []
    for threads in (1, 20):
        with small_ranges(1), ThreadPool(threads, 1 << 20) as pool:
            both = halves(pairs, 90, pool)
            assert both.cuts.size - 1 <= MOST and (threads == 1 or both.cuts.size - 1 == MOST)
            levels = joined(both, np.ones(90), 9.0, 4, pool)
            found.append([neighbours(levels.level(i)) for i in range(levels.n_levels)])
    assert found[0] == found[1]
