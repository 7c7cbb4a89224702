"""Orders of matrices, and the lines of x that caches miss."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse import estimate
from tracecut.codegen.sparse.csr import Csr, permuted_rows
from tracecut.codegen.sparse.estimate import estimates, x_misses
from tracecut.codegen.sparse.orders import (
    NATURAL,
    ORDERS,
    degree_order,
    inverse_order,
    make_order,
    rcm_order,
    structure_key,
)
from tracecut.codegen.sparse.sliced import Sliced, sliced_shape
from tracecut.codegen.sparse.tiled import Tiled
from tracecut.support.errors import ArgumentError

from .matrices import dense, matrices

pytestmark = pytest.mark.quick


def grid(side: int, seed: int | None = None) -> Csr:
    """A square grid of side² points with their four neighbours, numbered line by line or at random."""
    line = sp.diags_array([np.ones(side - 1), np.ones(side - 1)], offsets=[-1, 1])
    whole = sp.kronsum(line, line).tocsr()
    if seed is not None:
        order = np.random.default_rng(seed).permutation(side**2)
        whole = whole[order][:, order].tocsr()
    return Csr.of(whole)


def bandwidth(matrix: Csr) -> int:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.offsets))
    return int(np.abs(rows - matrix.columns).max())


def skewed(seed: int = 0) -> Csr:
    """2000 rows, most of whose entries are in few columns."""
    random = np.random.default_rng(seed)
    place = random.permutation(2000)
    columns = place[np.minimum(random.zipf(1.3, 40_000) - 1, 1999)]
    return Csr.of(sp.coo_array((np.ones(40_000), (random.integers(0, 2000, 40_000), columns)), shape=(2000, 2000)))


@given(matrices(largest=12, longest=4), st.sampled_from(["rcm", "degree"]))
def test_orders_are_permutations(matrix: Csr, name: str) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        matrix = Csr.of(matrix.to_scipy().T @ matrix.to_scipy())
    order = make_order(matrix, name)
    assert order.rows is order.columns
    assert order.rows is not None and order.numbers is not None
    np.testing.assert_array_equal(np.sort(order.rows), np.arange(matrix.shape[0]))
    np.testing.assert_array_equal(order.numbers[order.rows], np.arange(matrix.shape[0]))
    moved = permuted_rows(matrix, order.rows, order.numbers)
    np.testing.assert_array_equal(dense(moved), dense(matrix)[order.rows][:, order.rows])


def test_neighbours_stand_near_each_other_in_rcm_order() -> None:
    shuffled = grid(40, seed=5)
    order = rcm_order(shuffled)
    assert bandwidth(shuffled) > 1000
    assert bandwidth(permuted_rows(shuffled, order.rows, order.numbers)) <= 2 * 40


def test_rcm_of_parts_and_hubs() -> None:
    parts = Csr.of(sp.block_diag([grid(9, seed=1).to_scipy(), sp.csr_array((3, 3)), grid(9, seed=2).to_scipy()]))
    order = rcm_order(parts)
    assert bandwidth(permuted_rows(parts, order.rows, order.numbers)) <= 20
    star = sp.lil_array((4000, 4000))
    star[7, :] = star[:, 7] = 1
    assert rcm_order(Csr.of(star)).rows[-1] == 7


@given(st.integers(0, 10_000), st.floats(0, 0.3))
def test_rcm_follows_edges_of_one_direction(seed: int, density: float) -> None:
    matrix = sp.random_array((30, 30), density=density, format="csr", rng=np.random.default_rng(seed))
    order = rcm_order(Csr.of(matrix)).rows
    np.testing.assert_array_equal(np.sort(order), np.arange(30))


def test_degrees_fall_and_ties_keep_their_order() -> None:
    matrix = skewed()
    counts = np.bincount(matrix.columns, minlength=2000)
    np.testing.assert_array_equal(degree_order(matrix).columns, np.argsort(-counts, kind="stable"))
    wide = Csr.of(np.array([[0.0, 1, 1], [0, 0, 1]]))
    assert degree_order(wide).rows is None
    assert degree_order(wide).columns.tolist() == [2, 1, 0]


def test_spac_of_square_and_other_matrices() -> None:
    for matrix in (grid(6, seed=1), Csr.of(grid(6).to_scipy()[:, :20])):
        order = make_order(matrix, "spac")
        for part, size in zip((order.rows, order.columns), matrix.shape, strict=True):
            np.testing.assert_array_equal(np.sort(part), np.arange(size))


def test_refused_orders() -> None:
    with pytest.raises(ArgumentError, match="'rcm' takes a square matrix, this one is 2 × 3"):
        rcm_order(Csr.of(np.ones((2, 3))))
    with pytest.raises(ArgumentError, match="there is no order 'rmc'"):
        make_order(grid(2), "rmc")
    assert list(ORDERS) == ["natural", "rcm", "degree", "spac"]


@given(matrices())
def test_structure_keys_see_places_and_not_values(matrix: Csr) -> None:
    assert structure_key(matrix) == structure_key(matrix.with_values(matrix.values * 2))
    if matrix.entries and matrix.shape[1] > 1:
        columns = matrix.columns.copy()
        columns[-1] = (columns[-1] + 1) % matrix.shape[1]
        assert structure_key(Csr(matrix.offsets, columns, matrix.values, matrix.shape)) != structure_key(matrix)


def misses_by_hand(matrix: Csr, order: np.ndarray, numbers: np.ndarray, lines: int) -> float:
    """New lines an entry while what was touched and read fills the second half of `lines`, from the first row on."""
    seen: set[int] = set()
    entries = warm = begun = 0
    for row in order:
        for k in range(matrix.offsets[row], matrix.offsets[row + 1]):
            seen.add(int(numbers[matrix.columns[k]]) * 8 // 64)
        entries += int(matrix.offsets[row + 1] - matrix.offsets[row])
        filled = len(seen) + entries * 12 // 64
        if 2 * filled <= lines:
            warm, begun = entries, len(seen)
        if filled >= lines:
            return (len(seen) - begun) / (entries - warm)
    return 0.0


def test_misses_are_counted_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "WINDOWS", (1, 1, 1))
    monkeypatch.setattr(estimate, "cache_lines", lambda: (64, 128, 8192))
    matrix = grid(64, seed=3)
    every = np.arange(64**2)
    for order in (NATURAL, rcm_order(matrix)):
        rows = every if order.rows is None else order.rows
        numbers = every if order.numbers is None else order.numbers
        found = x_misses(matrix, order).per_entry
        np.testing.assert_allclose(found[0], misses_by_hand(matrix, rows, numbers, 64))
        np.testing.assert_allclose(found[1], min(found[0], misses_by_hand(matrix, rows, numbers, 128)))
        assert found[2] == 0
    natural, ordered = x_misses(matrix).per_entry, x_misses(matrix, rcm_order(matrix)).per_entry
    assert ordered[0] < natural[0] / 2


def test_estimates_know_the_bytes() -> None:
    for matrix in (grid(50), grid(50, seed=1), skewed()):
        for order in (NATURAL, rcm_order(matrix)):
            shape = sliced_shape(matrix, order.rows)
            found = {one.format: one for one in estimates(matrix, order, x_misses(matrix, order), shape)}
            sliced = Sliced.of(matrix, order.rows, order.numbers, shape=shape)
            assert found["sliced"].padding == pytest.approx(sliced.padding)
            assert found["sliced"].bytes == pytest.approx(sliced.bytes + order.bytes, rel=0.05)
            tiled = Tiled.of(matrix, order.rows, order.numbers)
            assert found["tiled"].bytes == pytest.approx(tiled.bytes + order.bytes, rel=0.05)
            assert found["csr"].bytes == matrix.bytes + order.bytes
    assert [one.format for one in estimates(grid(3), NATURAL, x_misses(grid(3)), None)] == ["csr", "csr-vector"]


def test_inverse() -> None:
    assert inverse_order(np.array([2, 0, 1], np.uint32)).tolist() == [1, 2, 0]
