"""`spmv`: what it chooses, what its operators give, and what it refuses."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.products import spmv as module
from tracecut.codegen.sparse.choose import Wish, choose
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.forms import FORMATS
from tracecut.codegen.sparse.operator import SparseOperator
from tracecut.support.errors import ArgumentError

import tracecut

from .matrices import dense, matrices, whole_numbers
from .test_orders import grid, skewed
from .test_plans import same_plan

pytestmark = pytest.mark.quick
SCALES = st.sampled_from([(1, 0), (2, 0), (1, 1), (-2, 3)])


@given(
    matrices(longest=80),
    st.sampled_from(["auto", *FORMATS]),
    st.sampled_from(["auto", "natural", "degree", "rcm"]),
    st.sampled_from([None, 3]),
    SCALES,
)
def test_products_in_every_form_and_order(
    matrix: Csr, method: str, order: str, count: int | None, scale: tuple[int, int]
) -> None:
    if order == "rcm" and matrix.shape[0] != matrix.shape[1]:
        order = "degree"
    operator = tracecut.spmv(matrix.to_scipy(), method=method, order=order, threads=1)
    alpha, beta = scale
    side = () if count is None else (count,)
    for turned in (False, True):
        whole = dense(matrix).T if turned else dense(matrix)
        x, y = whole_numbers(matrix, whole.shape[1], *side), whole_numbers(matrix, whole.shape[0], *side)
        times = operator.transposed_times if turned else operator.times
        np.testing.assert_array_equal(times(x, out=y.copy(), alpha=alpha, beta=beta), alpha * (whole @ x) + beta * y)
        np.testing.assert_array_equal((operator.T if turned else operator) @ x, whole @ x)
    x, y = whole_numbers(matrix, matrix.shape[1], *side), whole_numbers(matrix, matrix.shape[0], *side)
    np.testing.assert_array_equal(operator.H @ y, dense(matrix).conj().T @ y)
    view = operator.permuted
    assert operator.nnz == view.nnz == matrix.entries
    np.testing.assert_array_equal(operator.toarray(), dense(matrix))
    if not side:
        np.testing.assert_array_equal(view.toarray() @ operator.to_permuted(x), view @ operator.to_permuted(x))
    there = view @ operator.to_permuted(x)
    np.testing.assert_array_equal(operator.from_permuted(there), operator @ x)
    values = matrix.values[::-1].copy()
    operator.update(values)
    np.testing.assert_array_equal(operator @ x, dense(matrix.with_values(values)) @ x)
    np.testing.assert_array_equal(operator.from_permuted(view @ operator.to_permuted(x)), operator @ x)


def test_values_of_one_kind_are_updated_to_any() -> None:
    matrix = Csr.of(sp.random_array((300, 200), density=0.1, format="csr", rng=np.random.default_rng(1)))
    ones, x = matrix.with_values(np.ones(matrix.entries)), np.arange(200.0)
    operator = tracecut.spmv(ones, method="tiled")
    assert operator.plan.bytes < 6 * matrix.entries
    for each in (ones, matrix, ones):
        operator.update(each.values)
        np.testing.assert_allclose(operator @ x, each.to_scipy() @ x, rtol=1e-14)
        np.testing.assert_allclose(operator.T @ np.ones(300), each.to_scipy().sum(axis=0), rtol=1e-13)


def test_a_mesh_in_order_is_sliced() -> None:
    plan = tracecut.spmv(grid(400).to_scipy()).plan
    assert plan.format in ("sliced", "tiled")
    assert plan.order == "natural"
    assert "x is found in caches" in plan.reason
    assert "the table that is shipped" in plan.explain()
    assert plan.bytes < 1.2 * grid(400).bytes
    assert plan.break_even is not None and plan.break_even > 0
    assert plan.inspect_seconds > 0
    assert {one.format for one in plan.candidates} == set(FORMATS)


def test_a_shuffled_mesh_and_a_skewed_matrix_are_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with small caches."""
    from tracecut.codegen.sparse import estimate

    costs = estimate.known_costs()
    slow = replace(costs, forms={name: replace(one, misses=(9, 9, 90)) for name, one in costs.forms.items()})
    monkeypatch.setattr(estimate, "cache_lines", lambda: (64, 256, 512))
    monkeypatch.setattr(estimate, "known_costs", lambda: slow)
    plan = tracecut.spmv(grid(200, seed=1).to_scipy()).plan
    assert plan.order == "rcm"
    assert plan.format in ("sliced", "tiled")
    assert tracecut.spmv(skewed().to_scipy()).plan.order == "degree"
    few = tracecut.spmv(grid(200, seed=1).to_scipy(), expected_calls=0).plan
    assert (few.format, few.order) == ("csr", "natural")
    assert "paid back in 0 calls" in few.reason
    poor = tracecut.spmv(grid(200, seed=1).to_scipy(), budget=0).plan
    assert poor.order == "natural"
    assert "of the budget" in poor.reason


def test_plain_rows_are_kept_where_nothing_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecut.codegen.sparse import choose as chooser

    monkeypatch.setattr(chooser, "GAIN", 0.0)
    plan = tracecut.spmv(grid(30).to_scipy()).plan
    assert (plan.format, plan.order, plan.break_even) == ("csr", "natural", None)
    assert "no other form is predicted to take less" in plan.reason


@pytest.mark.parametrize("method", FORMATS)
@pytest.mark.parametrize("order", ["natural", "degree", "rcm", "spac"])
def test_what_is_asked_for_is_done(method: str, order: str) -> None:
    matrix = grid(12, seed=4)
    plan = tracecut.spmv(matrix.to_scipy(), method=method, order=order, budget=0, expected_calls=0).plan
    assert (plan.format, plan.order) == (method, order)
    assert plan.reason.startswith("asked for")
    lines = plan.explain().splitlines()
    assert lines[0].startswith(f"{method}, {order} order: ")
    assert len([line for line in lines if line.startswith("*")]) == 1


@pytest.mark.parametrize("method", FORMATS)
@pytest.mark.parametrize("order", ["natural", "rcm"])
def test_solvers(method: str, order: str) -> None:
    matrix = sp.csr_array(5 * sp.eye_array(900) - grid(30, seed=1).to_scipy())
    operator = tracecut.spmv(matrix, method=method, order=order)
    b = np.random.default_rng(1).random(900)
    for solver in (spl.cg, spl.gmres, spl.bicgstab):
        found, failed = solver(operator, b, rtol=1e-10)
        assert not failed
        np.testing.assert_allclose(matrix @ found, b, rtol=1e-7)
    largest = spl.eigsh(operator, k=2, v0=b, return_eigenvectors=False)
    np.testing.assert_allclose(largest, spl.eigsh(matrix, k=2, v0=b, return_eigenvectors=False))
    found = spl.lsqr(operator, b, atol=1e-12, btol=1e-12)[0]
    np.testing.assert_allclose(matrix @ found, b, rtol=1e-6)
    held, _ = spl.cg(operator.permuted, operator.to_permuted(b), rtol=1e-10)
    np.testing.assert_allclose(matrix @ operator.from_permuted(held), b, rtol=1e-7)


def test_complex_vectors_with_a_real_matrix() -> None:
    matrix = grid(12, seed=2).to_scipy()
    operator = tracecut.spmv(matrix, order="rcm")
    x = np.random.default_rng(2).random(144) + 1j * np.random.default_rng(3).random(144)
    np.testing.assert_allclose(operator @ x, matrix @ x)
    np.testing.assert_allclose(operator.H @ x, matrix.T @ x)
    np.testing.assert_allclose(operator.permuted @ operator.to_permuted(x), operator.to_permuted(matrix @ x))


def test_dtype() -> None:
    matrix = grid(5).to_scipy()
    assert tracecut.spmv(matrix, dtype="float32").dtype == np.float32
    assert (tracecut.spmv(matrix, dtype="float32") @ np.ones(25)).dtype == np.float32
    assert tracecut.spmv(matrix.astype(np.int64)).dtype == np.float64
    assert (tracecut.spmv(matrix.astype("c8")) @ np.ones(25)).dtype == np.complex64


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 3)])
def test_empty_matrices(shape: tuple[int, int]) -> None:
    operator = tracecut.spmv(sp.csr_array(shape))
    np.testing.assert_array_equal(operator @ np.ones(shape[1]), np.zeros(shape[0]))
    np.testing.assert_array_equal(operator.T @ np.ones(shape[0]), np.zeros(shape[1]))


def test_one_giant_row() -> None:
    """It is compressed as it was: nothing is padded to its length."""
    rows = np.concatenate([np.zeros(5000, int), np.arange(1, 3000)])
    columns = np.random.default_rng(1).permutation(8000)[: rows.size]
    matrix = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(3000, 8000))
    for method in ("auto", *FORMATS):
        operator = tracecut.spmv(matrix, method=method)
        x = np.random.default_rng(2).random(8000)
        np.testing.assert_allclose(operator @ x, matrix @ x)
        assert operator.plan.bytes < 1.3 * (matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


def test_x_that_is_y_strided_and_read_only() -> None:
    matrix = grid(12, seed=2).to_scipy()
    operator = tracecut.spmv(matrix, order="rcm", method="sliced")
    x = np.random.default_rng(1).random(144)
    expected = matrix @ x
    both = x.copy()
    assert operator.times(both, out=both) is both
    np.testing.assert_allclose(both, expected)
    np.testing.assert_allclose(operator @ np.repeat(x, 2)[::2], expected)
    fixed = x.copy()
    fixed.flags.writeable = False
    np.testing.assert_allclose(operator @ fixed, expected)


def test_several_threads_call_one_operator() -> None:
    matrix = grid(60, seed=2).to_scipy()
    operator = tracecut.spmv(matrix, order="rcm")
    wrong: list[int] = []

    def call(seed: int) -> None:
        for turn in range(20):
            x = np.random.default_rng(100 * seed + turn).random((3600, 2) if turn % 3 == 0 else 3600)
            if not np.allclose(operator @ x, matrix @ x):
                wrong.append(seed)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_background(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = grid(30, seed=1).to_scipy()
    go, inspected = threading.Event(), module._inspected

    def later(*given: Any) -> Any:
        go.wait()
        return inspected(*given)

    monkeypatch.setattr(module, "_inspected", later)
    operator = tracecut.spmv(matrix, method="sliced", order="rcm", background=True)
    x = np.random.default_rng(1).random(900)
    assert operator.plan.format == "csr"
    np.testing.assert_allclose(operator @ x, matrix @ x)
    go.set()
    operator.wait()
    assert (operator.plan.format, operator.plan.order) == ("sliced", "rcm")
    np.testing.assert_allclose(operator @ x, matrix @ x)
    operator.update(2 * matrix.data)
    np.testing.assert_allclose(operator @ x, 2 * matrix @ x)


def test_the_order_of_the_background_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector that was moved before the order is known would be in another one."""
    matrix = grid(30, seed=1).to_scipy()
    inspected, begun = module._inspected, threading.Event()

    def slowly(*given: Any) -> Any:
        begun.wait(0.2)
        return inspected(*given)

    x = np.random.default_rng(1).random(900)
    monkeypatch.setattr(module, "_inspected", slowly)
    operator = tracecut.spmv(matrix, method="sliced", order="rcm", background=True)
    moved = operator.to_permuted(x)
    np.testing.assert_allclose(operator.from_permuted(operator.permuted @ moved), matrix @ x)
    operator = tracecut.spmv(matrix, method="sliced", order="rcm", background=True)
    view = operator.permuted
    np.testing.assert_allclose(operator.from_permuted(view @ operator.to_permuted(x)), matrix @ x)


@pytest.mark.parametrize("order", ["natural", "rcm"])
def test_operators_are_copied_as_for_other_processes(order: str) -> None:
    matrix = grid(30, seed=1).to_scipy()
    operator = tracecut.spmv(matrix, method="sliced", order=order)
    x = np.random.default_rng(1).random(900)
    other, view = copy.deepcopy((operator, operator.permuted))
    assert same_plan(other.plan, operator.plan)
    np.testing.assert_array_equal(other @ x, operator @ x)
    np.testing.assert_array_equal(view @ x, operator.permuted @ x)


def test_matrices_of_numpy_as_scipy_takes_them() -> None:
    matrix = sp.random_array((4, 3), density=0.5, rng=1, format="csr")
    operator = tracecut.spmv(matrix)
    with pytest.warns(PendingDeprecationWarning):
        x, y = np.asmatrix(np.arange(3.0)).T, np.asmatrix(np.arange(4.0)).T
    np.testing.assert_allclose(operator.matvec(x), matrix @ np.asarray(x))
    np.testing.assert_allclose(operator.rmatvec(y), matrix.T @ np.asarray(y))


@pytest.mark.parametrize("format", ["csc", "coo"])
@pytest.mark.parametrize("index", [77, -3, 10**9])
def test_damaged_indices_of_other_formats(format: str, index: int) -> None:
    matrix = sp.random_array((50, 50), density=0.1, rng=1, format=format)
    (matrix.indices if format == "csc" else matrix.coords[0])[0] = index
    with pytest.raises(ArgumentError, match=rf"\[0\].*{index}|entry.* {index} "):
        tracecut.spmv(matrix)


def test_another_byte_order() -> None:
    dense = np.arange(6, dtype=">i4").reshape(2, 3)
    np.testing.assert_array_equal(tracecut.spmv(dense) @ np.ones(3), [3, 12])
    rows = sp.csr_array(dense.astype("f8"))
    rows.data = rows.data.astype(">f8")
    for matrix in (dense.astype(">f8"), rows):
        np.testing.assert_array_equal(tracecut.spmv(matrix) @ np.ones(3), [3, 12])


def test_what_fails_in_the_background_is_raised_by_wait() -> None:
    operator = tracecut.spmv(sp.csr_array((2, 3)), order="rcm", background=True)
    with pytest.raises(ArgumentError, match="takes a square matrix"):
        operator.wait()
    np.testing.assert_array_equal(operator @ np.ones(3), [0, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: tracecut.spmv(a, device="cuda"), "there is no device 'cuda' for products(?s:.*)cpu"),
        (lambda a: tracecut.spmv(a, method="ell"), "there is no method 'ell'"),
        (lambda a: tracecut.spmv(a, order="amd"), "there is no order 'amd'"),
        (lambda a: tracecut.spmv(a, expected_calls=-1), "expected_calls is -1"),
        (lambda a: tracecut.spmv(a, budget=-1.0), "budget is -1.0"),
        (lambda a: tracecut.spmv(a, budget=float("nan")), "budget is nan"),
        (lambda a: tracecut.spmv(a, threads=0), "threads is 0"),
        (lambda a: tracecut.spmv(a, seed=-1), "seed is -1"),
        (lambda a: tracecut.spmv(a, dtype="float16"), "dtype is float16"),
        (lambda a: tracecut.spmv("mesh.mtx"), "A is a str"),
        (lambda a: tracecut.spmv(a[:3], order="rcm"), "'rcm' takes a square matrix"),
        (lambda a: tracecut.spmv(a).update(np.ones(3)), r"data has the shape \(3,\)"),
        (lambda a: tracecut.spmv(a).update(a.data * 1j), "data holds complex128"),
        (lambda a: tracecut.spmv(a).times(np.ones(3)), r"x has the shape \(3,\)"),
        (lambda a: tracecut.spmv(a).to_permuted(np.ones(3)), r"x has the shape \(3,\)"),
        (lambda a: tracecut.spmv(a).from_permuted(np.ones(3)), r"y has the shape \(3,\)"),
    ],
)
def test_refused(call: Callable[[sp.csr_array], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(grid(4).to_scipy())


def test_matrices_too_large_for_slices() -> None:
    wide = Csr(np.array([0, 2], np.int64), np.array([0, 2**31], np.int64), np.ones(2), (1, 2**31 + 1))
    with pytest.raises(ArgumentError, match="fewer than 2"):
        choose(wide, Wish(method="sliced"))
    with pytest.raises(ArgumentError, match="fewer than 2"):
        choose(wide, Wish(order="degree"))


def test_a_matrix_with_more_columns_than_32_bits_say() -> None:
    at = np.array([0, 2**31], np.int64)
    wide = sp.csr_array((np.ones(2, np.float32), at, np.array([0, 1, 2])), shape=(2, 2**31 + 1))
    operator = tracecut.spmv(wide)
    assert (operator.plan.order, operator.plan.format) in {("natural", form) for form in ("csr", "csr-vector")}
    try:
        x = np.zeros(2**31 + 1, np.float32)  # whose pages are never written but for two
    except MemoryError:
        pytest.skip("no address space for 8 GiB")
    x[at] = 3, 4
    np.testing.assert_array_equal(operator @ x, [3, 4])


def test_the_operator_says_what_it_is() -> None:
    operator = tracecut.spmv(grid(4).to_scipy(), method="sliced", order="rcm")
    assert isinstance(operator, SparseOperator)
    assert repr(operator) == "<SparseOperator 16 × 16, float64, sliced, rcm order>"
