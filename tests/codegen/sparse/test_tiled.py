"""Tiles of columns against loops over the entries of their matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.csr_kernels import csr_times
from tracecut.codegen.sparse.tiled import LONG, Tiled, block_entries, tile_shift
from tracecut.support.errors import ArgumentError

from .matrices import dense, large, matrices, same_entries, whole_numbers

pytestmark = pytest.mark.quick
SCALES = st.sampled_from([(1, 0), (2, 0), (1, 1), (-2, 3), (0, 1)])
BLOCKS = st.sampled_from([(1, 1), (3, 10), (1 << 16, 1 << 20)])


@given(st.data(), st.sampled_from([None, 1, 3]), SCALES, BLOCKS, st.sampled_from([0, 2, 16]))
def test_products(
    data: st.DataObject, count: int | None, scale: tuple[int, int], block: tuple[int, int], shift: int
) -> None:
    matrix = data.draw(matrices(longest=data.draw(st.sampled_from([3, LONG + 40])), largest=16))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    order, numbers = (
        random.permutation(size).astype(np.uint32) if data.draw(st.booleans()) else None for size in matrix.shape
    )
    tiled = Tiled.of(matrix, order, numbers, shift=shift, block=block)
    whole = np.zeros(matrix.shape, matrix.values.dtype)
    whole[:, slice(None) if numbers is None else numbers] = dense(matrix) if order is None else dense(matrix)[order]
    np.testing.assert_array_equal(dense(tiled.to_csr()), whole)
    alpha, beta = scale
    weights, side = np.array(scale, matrix.values.dtype), () if count is None else (count,)
    x, y = whole_numbers(matrix, matrix.shape[1], *side), whole_numbers(matrix, matrix.shape[0], *side)
    expected = alpha * (whole @ x) + beta * y
    tiled.times(x, y, weights, count or 1, 1)
    np.testing.assert_array_equal(y, expected)
    x, y = whole_numbers(matrix, matrix.shape[0], *side), whole_numbers(matrix, matrix.shape[1], *side)
    expected = alpha * (whole.T @ x) + beta * y
    tiled.transposed_times(x, y, weights, count or 1)
    np.testing.assert_array_equal(y, expected)


@given(matrices(longest=LONG + 20, largest=16), BLOCKS, st.sampled_from([0, 2, 16]))
def test_there_and_back(matrix: Csr, block: tuple[int, int], shift: int) -> None:
    tiled = Tiled.of(matrix, shift=shift, block=block, origin=True)
    assert same_entries(tiled.to_csr(), matrix)
    assert tiled.padding == 1
    assert tiled.bytes >= matrix.entries * (2 + matrix.values.itemsize)
    other = matrix.with_values(np.arange(matrix.entries).astype(matrix.values.dtype))
    assert same_entries(tiled.with_values(other).to_csr(), other)
    assert tiled.shift == shift
    if shift == 16:  # one tile: there is no other order of a row's entries
        assert same_entries(Tiled.of(matrix, block=block).to_csr(), matrix)


def test_rows_of_equal_length_share_slices() -> None:
    """Nine rows of 3 entries, ten of 1, a long one: a slice of each width; what is left over is single."""
    lengths = [3] * 9 + [1] * 10 + [LONG]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = np.concatenate([np.arange(length) for length in lengths]).astype(np.int32)
    tiled = Tiled.of(Csr(offsets, columns, np.ones(columns.size), (20, LONG)))
    # tile 0, one long row, two runs, 2 of the row of 3 and 3 of 1 as single entries; the ninth row of 3 lends one to 1
    assert tiled.heads.tolist() == [0, 1, 2, 5, LONG, 3, 1, 1, 1]
    assert tiled.rows[:9].tolist() == [19, *range(8)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_bits_do_not_depend_on_threads(dtype: str) -> None:
    tiled = Tiled.of(large(dtype), shift=10, block=(100, 1 << 20))
    for side in ((), (3,)):
        x = np.random.default_rng(2).random((5000, *side)).astype(dtype)
        found = []
        for threads in (1, 2, 5):
            y = np.full((4000, *side), np.nan, dtype)
            tiled.times(x, y, np.array([1, 0], dtype), side[0] if side else 1, threads)
            found.append(y.tobytes())
        assert found[0] == found[1] == found[2]
        np.testing.assert_allclose(y, large(dtype).to_scipy() @ x, rtol=1e-3 if dtype in ("f4", "c8") else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("value", [1.0, -0.3, 0.0, np.inf])
def test_one_value_for_all_has_the_same_bits(dtype: str, value: float) -> None:
    """Long rows, slices and single entries, one and several vectors, both ways; and values that differ again."""
    many = large(dtype)
    matrix = many.with_values(np.full_like(many.values, value))
    many = many.with_values(matrix.values.copy())
    many.__dict__["one_value"] = False
    assert matrix.one_value
    short, full = Tiled.of(matrix, shift=10), Tiled.of(many, shift=10)
    assert short.values.size == 1 and full.values.size == full.entries == short.entries
    assert full.bytes - short.bytes == (full.entries - 1) * full.values.itemsize
    assert same_entries(short.to_csr(), full.to_csr())
    random = np.random.default_rng(4)
    for side in ((), (3,)):
        x, y = random.random((5000, *side)).astype(dtype), random.random((4000, *side)).astype(dtype)
        x[::100] = np.inf
        found = []
        with np.errstate(all="ignore"):
            for tiled in (short, full):
                ahead, back, scale = y.copy(), x.copy(), np.array([0.7, 0.3], dtype)
                tiled.times(x, ahead, scale, side[0] if side else 1, 2)
                tiled.transposed_times(y, back, scale, side[0] if side else 1)
                found.append((ahead.tobytes(), back.tobytes()))
        assert found[0] == found[1]
    assert same_entries(short.with_values(large(dtype)).to_csr(), Tiled.of(large(dtype), shift=10).to_csr())


def test_which_values_are_one() -> None:
    def one(values: list[complex], dtype: str) -> bool:
        count = len(values)
        return Csr(np.array([0, count]), np.zeros(count, np.int64), np.array(values, dtype), (1, 1)).one_value

    for dtype in ("f4", "f8", "c8", "c16"):
        assert one([2, 2], dtype) and one([np.nan] * 3, dtype) and one([1] * 200, dtype)
        assert not one([], dtype) and not one([1], dtype) and not one([0.0, -0.0], dtype) and not one([1, 2], dtype)
        assert not one([1] * 200 + [2], dtype)
    assert not one([1 + 1j, 1 + 2j], "c16") and one([1 + 1j, 1 + 1j], "c8")


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_rows(dtype: str, bad: float) -> None:
    random = np.random.default_rng(9)
    matrix = Csr.of(sp.random_array((400, 400), density=0.02, format="csr", rng=random), dtype)
    x = random.random(400).astype(dtype)
    x[::7] = bad
    y = np.empty(400, dtype)
    with np.errstate(all="ignore"):
        expected = csr_times(matrix, x)
    Tiled.of(matrix, shift=6).times(x, y, np.array([1, 0], dtype), 1, 1)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(y.real), np.isinf(expected.real))


def test_blocks_end_with_many_rows_or_entries() -> None:
    matrix = large()
    by_rows, by_entries = Tiled.of(matrix, block=(1000, 1 << 30)), Tiled.of(matrix, block=(1 << 16, 100_000))
    assert by_rows.first_rows.tolist() == [0, 1000, 2000, 3000, 4000]
    sizes = np.diff(by_entries.starts)
    assert all(100_000 <= size < 101_000 for size in sizes[:-1])
    assert np.diff(Tiled.of(matrix).starts).min() > 0 and Tiled.of(matrix).starts.size - 1 == 7
    assert [block_entries(entries) for entries in (0, 1 << 22, 1 << 30)] == [1 << 16, 1 << 19, 1 << 21]
    assert tile_shift(np.dtype("f4")) == 16
    assert tile_shift(np.dtype("c16")) == 14


def test_larger_matrices_are_refused() -> None:
    matrix = Csr(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), (1, 2**31))
    with pytest.raises(ArgumentError, match=r"fewer than 2\*\*31 rows and columns"):
        Tiled.of(matrix)
