"""Slices of rows against loops over the entries of their matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.csr_kernels import csr_times
from tracecut.codegen.sparse.native_code import fast_gathers
from tracecut.codegen.sparse.sliced import LONG, Sliced, lanes_of, sliced_shape
from tracecut.support.errors import ArgumentError

from .matrices import dense, large, matrices, same_entries, whole_numbers

pytestmark = pytest.mark.quick
SCALES = st.sampled_from([(1, 0), (2, 0), (1, 1), (-2, 3), (0, 1)])


@st.composite
def orders(draw: st.DrawFn, matrix: Csr) -> tuple[np.ndarray | None, np.ndarray | None]:
    random = np.random.default_rng(draw(st.integers(0, 99)))
    given_both = [random.permutation(size).astype(np.uint32) for size in matrix.shape]
    return tuple(part if draw(st.booleans()) else None for part in given_both)


@given(st.data(), st.sampled_from([None, 1, 3, 19]), SCALES, st.sampled_from([1, 4, 64]))
def test_products(data: st.DataObject, count: int | None, scale: tuple[int, int], window: int) -> None:
    matrix = data.draw(matrices(longest=data.draw(st.sampled_from([3, LONG + 40]))))
    order, numbers = data.draw(orders(matrix))
    sliced = Sliced.of(matrix, order, numbers, shape=sliced_shape(matrix, order, window=window))
    whole = np.zeros(matrix.shape, matrix.values.dtype)
    found = dense(matrix) if order is None else dense(matrix)[order]
    whole[:, slice(None) if numbers is None else numbers] = found
    np.testing.assert_array_equal(dense(sliced.to_csr()), whole)
    alpha, beta = scale
    weights, side = np.array(scale, matrix.values.dtype), () if count is None else (count,)
    x, y = whole_numbers(matrix, matrix.shape[1], *side), whole_numbers(matrix, matrix.shape[0], *side)
    expected = alpha * (whole @ x) + beta * y
    sliced.times(x, y, weights, count or 1, 1)
    np.testing.assert_array_equal(y, expected)
    x, y = whole_numbers(matrix, matrix.shape[0], *side), whole_numbers(matrix, matrix.shape[1], *side)
    expected = alpha * (whole.T @ x) + beta * y
    sliced.transposed_times(x, y, weights, count or 1)
    np.testing.assert_array_equal(y, expected)


@given(matrices(longest=LONG + 20))
def test_there_and_back(matrix: Csr) -> None:
    sliced = Sliced.of(matrix)
    assert same_entries(sliced.to_csr(), matrix)
    assert sliced.entries == matrix.entries
    assert sliced.values.size == sliced_shape(matrix).slots(lanes_of(matrix.values.dtype))
    other = matrix.with_values(np.arange(matrix.entries).astype(matrix.values.dtype))
    again = sliced.with_values(other)
    assert same_entries(again.to_csr(), other)
    assert again.columns is sliced.columns


def test_wide_slices_have_wide_columns() -> None:
    """One slice spans more than 16 bits, the other does not."""
    columns = np.array([*range(8), *range(100_000, 100_008), *[5, 99_999] * 8], np.int32)
    matrix = Csr(np.arange(17, dtype=np.int32) * 2, columns, np.arange(32.0), (16, 100_010))
    sliced = Sliced.of(matrix)
    assert np.diff(sliced.column_starts).tolist() == [32, 32]
    assert same_entries(sliced.to_csr(), matrix)
    near = Sliced.of(matrix.with_values(matrix.values), numbers=(np.arange(100_010) // 2).astype(np.uint32))
    assert np.diff(near.column_starts).tolist() == [16, 16]


def test_rows_of_equal_length_share_slices() -> None:
    lengths = np.tile([1, 9], 64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    matrix = Csr(offsets, np.zeros(offsets[-1], np.int32), np.ones(offsets[-1]), (128, 3))
    assert Sliced.of(matrix).padding == 1
    assert Sliced.of(matrix, shape=sliced_shape(matrix, window=1)).padding == 1.8
    assert Sliced.of(matrix).rows[:8].tolist() == list(range(1, 17, 2))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_bits_do_not_depend_on_threads(dtype: str) -> None:
    sliced = Sliced.of(large(dtype))
    assert 0 < sliced.count < 4000
    for side in ((), (3,)):
        x = np.random.default_rng(2).random((5000, *side)).astype(dtype)
        found = []
        for threads in (1, 2, 5):
            y = np.full((4000, *side), np.nan, dtype)
            sliced.times(x, y, np.array([1, 0], dtype), side[0] if side else 1, threads)
            found.append(y.tobytes())
        assert found[0] == found[1] == found[2]
        np.testing.assert_allclose(y, large(dtype).to_scipy() @ x, rtol=1e-3 if dtype in ("f4", "c8") else 1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_padding_makes_no_nan(dtype: str, bad: float) -> None:
    random = np.random.default_rng(9)
    matrix = Csr.of(sp.random_array((400, 400), density=0.02, format="csr", rng=random), dtype)
    x = random.random(400).astype(dtype)
    x[::7] = bad
    y = np.empty(400, dtype)
    with np.errstate(all="ignore"):
        expected = csr_times(matrix, x)
    Sliced.of(matrix, shape=sliced_shape(matrix, window=1)).times(x, y, np.array([1, 0], dtype), 1, 1)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(y.real), np.isinf(expected.real))


def test_larger_matrices_are_refused() -> None:
    matrix = Csr(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), (1, 2**31))
    with pytest.raises(ArgumentError, match=r"fewer than 2\*\*31 rows and columns"):
        Sliced.of(matrix)


def test_gathers_where_they_are_fast(tmp_path: Path) -> None:
    said = tmp_path / "gather_data_sampling"
    assert not fast_gathers(said)
    for text, fast in (("Not affected\n", True), ("Mitigation: Microcode\n", False), ("Vulnerable\n", False)):
        said.write_text(text)
        assert fast_gathers(said) is fast
