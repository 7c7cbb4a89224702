"""Products of compressed rows against a loop over their entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr, value_type
from tracecut.codegen.sparse.csr_kernels import csr_times, csr_transposed_times
from tracecut.codegen.sparse.row_threads import row_blocks, run_blocks
from tracecut.support.errors import ArgumentError

from .matrices import dense, large, matrices, whole_numbers

pytestmark = pytest.mark.quick


@given(matrices(), st.sampled_from([None, 1, 3, 4, 8, 19]), st.sampled_from([(1, 0), (2, 0), (1, 1), (-2, 3), (0, 1)]))
def test_products_are_those_of_dense_matrices(matrix: Csr, count: int | None, scale: tuple[int, int]) -> None:
    alpha, beta = scale
    for turned in (False, True):
        whole = dense(matrix).T if turned else dense(matrix)
        side = () if count is None else (count,)
        x, y = whole_numbers(matrix, whole.shape[1], *side), whole_numbers(matrix, whole.shape[0], *side)
        times = csr_transposed_times if turned else csr_times
        out = y.copy()
        assert times(matrix, x, out=out, alpha=alpha, beta=beta) is out
        with np.errstate(invalid="ignore"):  # BLAS may compute with lanes that it then leaves out
            product = whole @ x
        np.testing.assert_array_equal(out, alpha * product + beta * y)
        np.testing.assert_array_equal(times(matrix, x), product)


@given(matrices())
def test_transposed_matrices_hold_the_same_entries(matrix: Csr) -> None:
    turned, places = matrix.transpose_with_places()
    np.testing.assert_array_equal(dense(turned), dense(matrix).T)
    np.testing.assert_array_equal(matrix.values[places], turned.values)
    assert matrix.transpose is matrix.transpose


@given(matrices())
def test_scipy_and_back(matrix: Csr) -> None:
    again = Csr.of(matrix.to_scipy())
    assert np.shares_memory(again.values, matrix.values) or not matrix.entries
    np.testing.assert_array_equal(dense(again), dense(matrix))
    assert again.columns.dtype == matrix.columns.dtype


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("count", [None, 5])
def test_bits_do_not_depend_on_threads(dtype: str, count: int | None) -> None:
    matrix = large(dtype)
    x = np.random.default_rng(2).random((5000, *([] if count is None else [count]))).astype(dtype)
    alone = csr_times(matrix, x, threads=1)
    for threads in (2, 3, 5, None):
        np.testing.assert_array_equal(csr_times(matrix, x, threads=threads).view("u1"), alone.view("u1"))
    np.testing.assert_allclose(alone, matrix.to_scipy() @ x, rtol=1e-4 if dtype in ("f4", "c8") else 1e-12)


def test_row_blocks_share_the_work() -> None:
    matrix = large()
    cuts = row_blocks(matrix.offsets, 4)
    assert len(cuts) == 5 and cuts[0] == 0 and cuts[-1] == 4000
    assert max(np.diff(matrix.offsets[list(cuts)])) < 1.02 * matrix.entries / 4
    giant = np.array([0, 1, 500_000, 500_001])
    assert row_blocks(giant, 4) == (0, 2, 2, 2, 3)
    assert row_blocks(np.array([0, 10, 20]), 8) == (0, 2)


def test_what_fails_in_a_thread_is_raised() -> None:
    def call(first: int, last: int) -> None:
        raise ValueError(f"{first} to {last}")

    with pytest.raises(ValueError, match=r"0 to 1|1 to 2"):
        run_blocks(call, (0, 1, 2))


def test_columns_beyond_31_bits() -> None:
    cols = 2**31 + 8
    at = np.array([0, 2**31 + 3, 2**31 + 7], np.int64)
    matrix = Csr(np.array([0, 2, 3], np.int64), at, np.array([1, 2, 3], np.float32), (2, cols))
    try:
        x = np.zeros(cols, np.float32)  # whose pages are never written but for three
    except MemoryError:
        pytest.skip("no address space for 8 GiB")
    x[at] = 1, 10, 100
    np.testing.assert_array_equal(csr_times(matrix, x), [21, 300])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_and_infinity_as_ieee_says(dtype: str) -> None:
    a = np.array([[np.nan, 1.0], [np.inf, 0.0], [1.0, -np.inf], [2.0, 3.0]])
    stored = sp.csr_array((a.ravel(), np.tile([0, 1], 4), np.arange(0, 9, 2)), shape=(4, 2))
    found = csr_times(Csr.of(stored, dtype), np.array([1.0, np.inf]))
    np.testing.assert_array_equal(found, [np.nan, np.nan, -np.inf, np.inf])
    not_stored = csr_times(Csr.of(sp.csr_array([[0.0, 1.0]])), np.array([np.nan, 2.0]))
    np.testing.assert_array_equal(not_stored, [2.0])


def test_strided_read_only_and_converted_vectors() -> None:
    matrix = large()
    wide = np.random.default_rng(4).random((5000, 6))
    wide.flags.writeable = False
    expected = matrix.to_scipy() @ np.ascontiguousarray(wide[:, 2])
    np.testing.assert_allclose(csr_times(matrix, wide[:, 2]), expected)
    np.testing.assert_allclose(csr_times(matrix, wide[::-1, ::2]), matrix.to_scipy() @ wide[::-1, ::2])
    np.testing.assert_array_equal(csr_times(matrix, np.ones(5000, np.int8)), csr_times(matrix, np.ones(5000)))
    unaligned = np.frombuffer(b"\0" + wide[:, 2].tobytes(), "f8", offset=1)
    np.testing.assert_allclose(csr_times(matrix, unaligned), expected)
    out = np.zeros((4000, 2))[:, 1]
    np.testing.assert_allclose(csr_times(matrix, wide[:, 2], out=out), expected)


def test_complex_numbers_of_half_alignment() -> None:
    """NumPy aligns them to their parts only."""
    matrix = large("c16")
    x = np.random.default_rng(5).random(10_001)[1:].view("c16")
    assert x.flags.aligned
    np.testing.assert_allclose(csr_times(matrix, x), matrix.to_scipy() @ x)


def test_out_that_overlaps_x() -> None:
    matrix = Csr.of(sp.random_array((500, 500), density=0.1, format="csr", rng=np.random.default_rng(6)))
    both = np.random.default_rng(7).random(600)
    expected = matrix.to_scipy() @ both[:500]
    assert csr_times(matrix, both[:500], out=both[100:]) is not None
    np.testing.assert_allclose(both[100:], expected)


def test_matrices_of_other_types() -> None:
    plain = sp.random_array((30, 20), density=0.2, rng=np.random.default_rng(8))
    for made in (plain, plain.tocsc(), plain.todense(), sp.csr_matrix(plain), plain.todia(), plain.tolil()):
        np.testing.assert_allclose(csr_times(Csr.of(made), np.ones(20)), plain.sum(axis=1))
    assert Csr.of(plain.astype(bool)).values.dtype == np.float64
    assert Csr.of(plain.astype("c8")).values.dtype == np.complex64
    assert Csr.of(Csr.of(plain), "f4").values.dtype == np.float32
    assert value_type("i2") == np.float64
    longer = sp.csr_array((np.ones(5), np.array([0, 1, 1, 9, 9]), np.array([0, 1, 3])), shape=(2, 2))
    np.testing.assert_array_equal(csr_times(Csr.of(longer), np.ones(2)), [1, 2])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Csr.of([[1.0]]), "A is a list"),
        (lambda: Csr.of(np.ones(3)), "A is a ndarray"),
        (lambda: Csr.of(np.ones((2, 2), np.float16)), "dtype is float16"),
        (lambda: Csr.of(np.ones((2, 2), object)), "dtype is object"),
        (lambda: Csr.of(np.ones((2, 2), np.longdouble)), "dtype is .*; there are kernels for float32"),
        (lambda: Csr.of(sp.eye_array(2, dtype="c16"), "f8"), "would drop their imaginary parts"),
        (lambda: Csr.of(sp.eye_array(2), "number"), "dtype is 'number'"),
        (lambda: Csr.of(sp.coo_array(np.ones(3))), r"A has the shape \(3,\)"),
        (lambda: changed("columns", 1, 7), r"columns\[1\] = 7 is outside \[0, 3\)"),
        (lambda: changed("columns", 2, -1), r"columns\[2\] = -1 is outside"),
        (lambda: changed("offsets", 1, 5), r"offsets\[2\] = 4 is below offsets\[1\] = 5"),
        (lambda: changed("offsets", 0, 1), "offsets must start with 0"),
        (lambda: changed("offsets", 2, 9), "offsets ends at 9, but 4 entries"),
        (lambda: Csr(*arrays()[:3], (3, 3)), "offsets has 3 entries, 4 for 3 rows"),
        (lambda: Csr(*arrays()[:3], (-1, 3)), "the shape is"),
        (lambda: Csr(*arrays()[:2], np.ones(4, "f2"), (2, 3)), "the matrix holds float16"),
        (lambda: Csr(*arrays()[:2], np.ones(5), (2, 3)), "columns has 4 entries, values 5"),
        (lambda: Csr(arrays()[0].astype("u4"), *arrays()[1:], (2, 3)), "offsets holds uint32"),
        (lambda: Csr(arrays()[0].astype("i8"), *arrays()[1:], (2, 3)), "offsets holds int64, columns int32"),
        (lambda: Csr.of(non_finite()), "A.indices holds float64, whole numbers"),
    ],
)
def test_refused_matrices(made: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        made()


def arrays() -> list[np.ndarray[Any, Any]]:
    return [np.array([0, 2, 4], np.int32), np.array([0, 2, 1, 0], np.int32), np.ones(4)]


def changed(name: str, place: int, value: int) -> Csr:
    offsets, columns, values = arrays()
    {"offsets": offsets, "columns": columns}[name][place] = value
    return Csr(offsets, columns, values, (2, 3))


def non_finite() -> sp.csr_array:
    found = sp.csr_array(np.eye(2))
    found.indices = np.array([0.0, np.nan])
    return found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": np.ones(3)}, r"x has the shape \(3,\), \(4,\) or \(4, k\)"),
        ({"x": np.ones((4, 2, 2))}, "x has the shape"),
        ({"x": np.ones(4) * 1j}, "x holds complex128, but the matrix float64"),
        ({"x": np.array(list("abcd"))}, "x holds <U1"),
        ({"x": np.ones(4), "alpha": 1j}, "alpha is 1j, but the matrix is real"),
        ({"x": np.ones(4), "alpha": "two"}, "alpha is 'two', a number"),
        ({"x": np.ones(4), "beta": 2}, "there is no out to take y from"),
        ({"x": np.ones(4), "out": np.ones(4)}, r"out is float64 \(4,\), an array float64 \(2,\)"),
        ({"x": np.ones(4), "out": np.ones(2, "f4")}, "out is float32"),
        ({"x": np.ones(4), "out": [0.0, 0.0]}, "out is list"),
        ({"x": np.ones(4), "out": np.broadcast_to(0.0, 2)}, "out is read-only"),
        ({"x": np.ones(4), "threads": 0}, "threads is 0"),
    ],
)
def test_refused_vectors(options: dict[str, Any], message: str) -> None:
    matrix = Csr.of(np.arange(8.0).reshape(2, 4))
    with pytest.raises(ArgumentError, match=message):
        csr_times(matrix, **options)
