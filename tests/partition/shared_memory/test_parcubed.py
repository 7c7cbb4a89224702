"""ParCubed, its deterministic form, GPart, and the sets they are made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.datastructures.typed_views import longs, words
from tracecut.partition.datastructures.union_find import depth, find, join, swap
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.shared_memory.parcubed import _fold, _inflate, gpart_phases, parcubed_phases
from tracecut.support.arrays import Longs

from ..meshes import delaunay, lattice, over

pytestmark = pytest.mark.quick


@njit(nogil=True)
def _swap_once(values: Longs, place: int, expected: int, value: int) -> bool:
    return swap(values, place, expected, value)


@njit(nogil=True)
def _join_all(parents: Longs, u: Longs, v: Longs) -> int:
    made = 0
    for i in range(u.size):
        made += join(parents, u[i], v[i])
    return made


def test_a_swap_needs_the_expected_value() -> None:
    values = np.array([5, -3], np.int64)
    assert not _swap_once(values, 1, 5, 7) and values.tolist() == [5, -3]
    assert _swap_once(values, 1, -3, 7) and values.tolist() == [5, 7]


def test_sets_joined_by_four_threads_are_components() -> None:
    """Every thread joins every edge in its own order, so that all of them meet at all roots."""
    import scipy.sparse as sp

    draw = np.random.default_rng(2)
    n, m = 3000, 2600
    u, v = draw.integers(0, n, m), draw.integers(0, n, m)
    matrix = sp.coo_array((np.ones(m), (u, v)), shape=(n, n))
    count, component = sp.csgraph.connected_components(matrix, directed=False)
    for _ in range(5):
        parents = np.full(n, -1, np.int64)
        orders = [draw.permutation(m) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            tasks = [pool.submit(_join_all, parents, u[order], v[order]) for order in orders]
            made = sum(task.result() for task in tasks)
        roots = np.array([find(parents, i) for i in range(n)])
        assert made == n - count and np.unique(roots).size == count
        assert np.unique(np.stack([roots, component]), axis=1).shape[1] == count
        assert (-parents[np.unique(roots)]).tolist() == np.bincount(roots)[np.unique(roots)].tolist()
        assert roots.tolist() == [min(np.flatnonzero(component == c)) for c in component]


def test_depth_counts_items() -> None:
    assert depth(np.array([-3, 0, 1, -1], np.int64)) == 3
    assert depth(np.zeros(0, np.int64)) == 0


def literal_fold(found: int, k: int) -> list[int]:
    """Figure 5, line by line: the adopter of each part, parts from the smallest to the largest."""
    adopter = list(range(found))
    extra = found - k
    adopting, extra_index = extra, extra - 1
    for _ in range(extra):
        adopter[extra_index] = adopting
        extra_index -= 1
        adopting += 1
        if adopting >= found:
            adopting = extra
    return [part - extra for part in (adopter[i] for i in range(found))]


@given(st.integers(0, 40), st.integers(1, 12))
def test_the_fold_is_the_figure(found: int, k: int) -> None:
    if found < k:
        assert _fold(np.arange(found), k).tolist() == list(range(found))
    else:
        assert _fold(np.arange(found), k).tolist() == literal_fold(found, k)


def test_phases_of_parcubed() -> None:
    graph, _ = delaunay(3000)
    plain = data_graph(graph)
    with ThreadPool(1, 3000) as pool:
        found = parcubed_phases(plain, 20, pool)
        small = parcubed_phases(plain, 20, pool, 0.1, 1.0)
    assert found.inflated >= found.joined >= 20 == found.folded
    assert small.inflated > found.inflated and small.joined < small.inflated / 2
    assert 2 <= found.depth <= 8 < small.depth + 8
    assert np.unique(found.labels).size == 20


def test_inflation_of_a_path_makes_runs() -> None:
    graph, _ = lattice(12, 1)
    with ThreadPool(1, 12) as pool:
        found = parcubed_phases(data_graph(graph), 3, pool)
    assert (found.inflated, found.joined, found.depth) == (3, 3, 2)
    assert sorted(np.bincount(found.labels).tolist()) == [4, 4, 4]
    assert (np.diff(found.labels) != 0).sum() == 2


def test_parcubed_on_threads_keeps_its_promises() -> None:
    """Labels may differ from run to run; the parts are there.

    Two threads that join at once may make a part of twice the limit. What is folded into it is smaller than the mean.
    """
    graph, _ = lattice(200)
    plain = data_graph(graph)
    for threads in (1, 2, 2, 2):
        with ThreadPool(threads, 200 * 200) as pool:
            found = parcubed_phases(plain, 16, pool)
        folded = -(-(found.joined - 16) // 16)
        assert np.unique(found.labels).size == 16
        assert over(found.labels, 16) <= pool.threads + folded


def test_inflation_on_threads_keeps_its_limit() -> None:
    graph, _ = lattice(200)
    plain = data_graph(graph)
    for _ in range(5):
        parents = np.full(plain.size, -1, np.int64)
        rows = (longs(plain.offsets), words(plain.neighbours))
        with ThreadPool(2, plain.size) as pool:
            half = plain.size // 2
            pool.each(_inflate, [(*rows, parents, 100, *part) for part in ((0, half), (half, plain.size))])
        sizes = -parents[parents < 0]
        assert sizes.max() <= 100 and sizes.sum() == plain.size
        assert np.bincount(np.where(parents < 0, np.arange(plain.size), parents), minlength=plain.size).max() <= 100


@pytest.mark.parametrize("k", [16, 64])
def test_gpart_finds_nearly_the_parts_that_were_asked_for(k: int) -> None:
    for graph, _ in (delaunay(6000), lattice(80), lattice(18, 3)):
        found = gpart_phases(data_graph(graph), k)
        assert found.joined >= 0.97 * k and found.folded >= 0.97 * k
        assert np.unique(found.labels).size == k
