"""The graph of clusters, its levels and the moves on them: each beside a slow reference, in one range and in many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.partition import joining, linking
from tracecut.partition.crew import Crew
from tracecut.partition.joining import Rows, joined, ranges
from tracecut.partition.linking import linked, pieces
from tracecut.partition.settling import commit, filled, propose, settled
from tracecut.partition.views import floats, longs, words

from .moves import moved

EDGES = st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=90)
NO_LONGS = longs(np.zeros(0, np.int64))


@contextmanager
def small_ranges(least: int) -> Iterator[None]:
    """Work is cut into ranges of `least` edges or entries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linking, "LEAST", least)
        patch.setattr(joining, "LEAST", least)
        yield


def rows(edges: list[tuple[int, int]], n: int, loads: np.ndarray, threads: int = 1) -> Rows:
    real = [(u % n, v % n) for u, v in edges if u % n != v % n]
    pairs, names = np.array(real, np.uint32).ravel(), np.arange(len(real), dtype=np.uint32)
    with Crew(threads, 1 << 20) as crew:
        return Rows(*linked(words(pairs), words(names), NO_LONGS, n, crew), floats(loads))


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
    names = np.arange(len(real), dtype=np.uint32)[::-1] + 3
    weights = np.arange(1, len(real) + 4, dtype=np.int64) if weighted else NO_LONGS
    pairs = words(np.array(real, np.uint32).ravel())
    with small_ranges(least), Crew(threads, 1 << 20) as crew:
        graph = Rows(*linked(pairs, words(names), longs(weights), 30, crew), floats(np.ones(30)))
        assert len(pieces(len(real))) == max(1, min(4, len(real) // least))
    expected = np.zeros((30, 30), np.int64)
    for (u, v), name in zip(real, names, strict=True):
        expected[u, v] += weights[name] if weighted else 1
        expected[v, u] += weights[name] if weighted else 1
    assert (dense(graph) == expected).all()
    # The order that one range gives: lower neighbours rising, then higher ones as they come.
    for v in range(30):
        low = [u for u in range(v) if expected[v, u]]
        high = list(dict.fromkeys(max(pair) for pair in real if min(pair) == v))
        assert graph.near[graph.first[v] : graph.last[v]].tolist() == low + high


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=40), st.sampled_from([1, 7, 50]))
def test_ranges_hold_every_row_once(lengths: list[int], least: int) -> None:
    ends = np.cumsum(lengths)
    with small_ranges(least):
        found = ranges(longs(ends - lengths), int(ends[-1]))
    assert found[0][0] == 0 and found[-1][1] == len(lengths) and len(found) <= 8
    assert all(a[1] == b[0] for a, b in pairwise(found))
    for begin, end in found:  # a range is over its share by less than one row
        share = -(-int(ends[-1]) // len(found))
        assert sum(lengths[begin:end]) <= share + max(lengths)


@settings(deadline=None, max_examples=120)
@given(EDGES, st.integers(1, 30), st.floats(1.0, 9.0), st.sampled_from([1 << 15, 5]), st.integers(1, 3))
def test_a_coarser_level(edges: list[tuple[int, int]], n: int, heaviest: float, least: int, threads: int) -> None:
    """Matched by the rule in words; what the pairs weigh and share is what their members do."""
    graph = rows(edges, n, 1.0 + np.arange(n) % 3)
    matrix = dense(graph)
    mate = list(range(n))
    free = set(range(n))
    for v in range(n):
        if v not in free:
            continue
        free.remove(v)
        fitting = [
            u for u in graph.near[graph.first[v] : graph.last[v]].tolist()
            if u in free and graph.loads[u] + graph.loads[v] <= heaviest
        ]  # fmt: skip
        if fitting:
            best = max(fitting, key=lambda u: matrix[v, u] ** 2 / graph.loads[u])
            free.remove(best)
            mate[v], mate[best] = best, v
    heads = [v for v in range(n) if mate[v] >= v]
    with small_ranges(least), Crew(threads, 1 << 20) as crew:
        coarser, coarse = joined(graph, heaviest, crew)
    assert coarse.tolist() == [heads.index(min(v, mate[v])) for v in range(n)]
    assert coarser.loads.tolist() == np.bincount(coarse, graph.loads).tolist()
    expected = np.zeros((len(heads), len(heads)), np.int64)
    np.add.at(expected, (coarse[:, None], coarse[None, :]), matrix)
    np.fill_diagonal(expected, 0)
    assert (dense(coarser) == expected).all()
    # Without gaps it is the same graph.
    offsets, near, weights, loads = coarser.tight()
    again = Rows(offsets[:-1], offsets[1:], near, weights, loads)
    assert (dense(again) == expected).all() and offsets[-1] == near.size


@settings(deadline=None, max_examples=120)
@given(st.integers(2, 14), EDGES, st.integers(2, 4), st.sampled_from([1 << 15, 5]), st.integers(1, 3), st.data())
def test_moves_are_found_together_and_made_in_order(
    n: int, edges: list[tuple[int, int]], k: int, least: int, threads: int, data: st.DataObject
) -> None:
    loads = 1.0 + np.arange(n) % 3
    graph = rows(edges, n, loads)
    links = [dict(zip(np.flatnonzero(row).tolist(), row[row > 0].tolist(), strict=True)) for row in dense(graph)]
    # No two parts are ever equally full: what comes first among equals is no part of the rule.
    limits = data.draw(st.sampled_from([0.5, 1.0, 1.25, 2.0])) * loads.sum() / k * (1 + np.sqrt(np.arange(k) + 2) / 50)
    before = data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    expected, sweeps = list(before), data.draw(st.integers(1, 3))
    for sweep in range(sweeps):
        wishes = [v for v in range(n) if moved(links, loads, limits, expected, v) != expected[v]]
        if sweep == 0:
            first = np.array(before, np.uint32)
            given_ = (*graph.arrays, floats(limits), first, *filled(graph.loads, first, k))
            assert propose(*given_, 0, n).tolist() == wishes and first.tolist() == before
            assert commit(*given_, words(np.array(wishes, np.uint32))) <= len(wishes)
        for v in wishes:
            expected[v] = moved(links, loads, limits, expected, v)
        if sweep == 0:
            assert first.tolist() == expected
    labels = np.array(before, np.uint32)
    with small_ranges(least), Crew(threads, 1 << 20) as crew:
        settled(graph, floats(limits), labels, sweeps, crew)
    assert labels.tolist() == expected
    if len(set(before)) == k:
        assert len(set(labels.tolist())) == k
