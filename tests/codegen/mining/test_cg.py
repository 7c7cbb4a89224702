"""Conjugate gradients: SciPy's iterations and solutions, every argument, and typed errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from tracecut.codegen.mining import cg as module
from tracecut.codegen.mining.cg import cg
from tracecut.codegen.products.spmv import spmv
from tracecut.codegen.sparse import estimate
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.estimate import XMisses
from tracecut.support.errors import ArgumentError, ConvergenceError

import tracecut

pytestmark = pytest.mark.quick


def grid(side: int) -> sp.csr_array[Any]:
    line = sp.diags_array([-1.0, 2.05, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    one = sp.eye_array(side)
    return sp.csr_array(sp.kron(line, one) + sp.kron(one, line))


def scipy_cg(matrix: Any, b: Any, **options: Any) -> tuple[Any, int]:
    steps: list[int] = []
    x, info = sl.cg(matrix, b, callback=lambda _: steps.append(1), **options)
    assert info == 0
    return x, len(steps)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dense", "operator", "float32"])
@pytest.mark.parametrize("options", [{}, {"rtol": 1e-10}, {"rtol": 0.0, "atol": 1e-6}, {"x0": np.arange(900.0)}])
def test_like_scipy(form: str, options: dict[str, Any]) -> None:
    matrix = grid(30)
    b = np.random.default_rng(0).random(900)
    expected, iterations = scipy_cg(matrix, b, **options)
    given: Any = {
        "dense": matrix.toarray,
        "operator": lambda: sl.aslinearoperator(matrix),
        "float32": lambda: matrix.astype(np.float32),
    }.get(form, lambda: matrix.asformat(form))()
    found = cg(given, b, **options)
    assert found.iterations == iterations
    assert np.abs(found.values - expected).max() < (1e-5 if form == "float32" else 1e-8)
    bound = max(options.get("rtol", 1e-5) * np.linalg.norm(b), options.get("atol", 0.0))
    assert found.residual < bound and isinstance(found, tracecut.Solution)


def test_a_preconditioner_and_complex_values() -> None:
    matrix, b = grid(20), np.random.default_rng(1).random(400)
    scale = sp.diags_array(1.0 / np.linspace(1, 50, 400)).tocsr()
    scaled = sp.csr_array(scale @ matrix @ scale)
    inverse = sp.diags_array(1.0 / scaled.diagonal()).tocsr()
    expected, iterations = scipy_cg(scaled, b, M=inverse, rtol=1e-9)
    for correct in (inverse, sl.aslinearoperator(inverse)):
        found = cg(scaled, b, M=correct, rtol=1e-9)
        assert found.iterations == iterations and np.allclose(found.values, expected, rtol=1e-6)
    draw = np.random.default_rng(2)
    turn = np.linalg.qr(draw.normal(size=(30, 30)) + 1j * draw.normal(size=(30, 30)))[0]
    hermitian = turn @ np.diag(np.linspace(1, 9, 30)) @ turn.conj().T
    right = draw.random(30) + 1j * draw.random(30)
    found = cg(sp.csr_array(hermitian), right, rtol=1e-10)
    assert np.allclose(hermitian @ found.values, right, atol=1e-8)
    assert np.allclose(hermitian @ cg(hermitian, right.real, rtol=1e-10).values, right.real, atol=1e-8)


def test_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = grid(150)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(module, "usable", lambda _, threads=threads: threads)
        results.append(cg(spmv(matrix, threads=threads), np.ones(22_500)).values)
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


@pytest.mark.parametrize("order", ["natural", "rcm", "degree"])
@pytest.mark.parametrize("method", ["csr", "sliced"])
def test_an_operator_in_another_order(order: str, method: str) -> None:
    """Vectors are moved into its order once; the callback sees them in the caller's."""
    places = np.random.default_rng(0).permutation(900)
    matrix = grid(30)[places][:, places].tocsr()
    b, seen = np.random.default_rng(1).random(900), list[Any]()
    expected, iterations = scipy_cg(matrix, b, rtol=1e-9)
    operator = spmv(matrix, method=method, order=order)
    found = cg(operator, b, rtol=1e-9, x0=np.zeros(900), callback=lambda x: seen.append(x.copy()))
    assert found.iterations == iterations == len(seen) and np.array_equal(seen[-1], found.values)
    assert np.abs(found.values - expected).max() < 1e-7
    start = cg(operator, b, x0=expected, rtol=1e-6)
    assert start.iterations == 0 and np.array_equal(start.values, expected)
    with pytest.raises(ConvergenceError) as caught:
        cg(operator, b, maxiter=2)
    last: Any = caught.value.last
    assert np.allclose(last.values, seen[1], rtol=1e-12)


@pytest.mark.parametrize(("misses", "hub", "order"), [(0.0, False, "auto"), (0.9, False, "rcm"), (0.9, True, "auto")])
def test_an_order_where_it_pays(misses: float, hub: bool, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuthill and McKee's where x is found late, but not with rows that are near to nothing."""
    monkeypatch.setattr(estimate, "x_misses", lambda _: XMisses((misses,) * 3))
    matrix = grid(30).tolil()
    if hub:
        matrix[0, :] = matrix[:, 0] = 1e-3
        matrix[0, 0] = 9.0
    given = Csr.of(matrix.tocsr())
    assert module._order(given) == order and module._order(Csr.of(sp.csr_array((3, 3)))) == "auto"
    b = np.random.default_rng(0).random(900)
    assert np.allclose(matrix @ cg(matrix, b, rtol=1e-11).values, b, atol=1e-6)


def test_callback_zero_and_shapes() -> None:
    matrix, seen = grid(5), list[Any]()
    b = np.arange(25.0)
    found = cg(matrix, b[:, None], callback=lambda x: seen.append(x.copy()))
    assert len(seen) == found.iterations and np.array_equal(seen[-1], found.values)
    assert cg(matrix, np.zeros(25), x0=b).values.tolist() == [0.0] * 25
    start = cg(matrix, b, rtol=1e-12).values
    assert cg(matrix, b, x0=start).iterations == 0
    assert b.tolist() == list(range(25)) and repr(found).startswith("<Solution 25, ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": sp.csr_array((2, 3))}, r"A has the shape \(2, 3\), a square one"),
        ({"A": sp.eye_array(3).tocsr()}, r"A has the shape \(3, 3\), b has 2 entries"),
        ({"A": 3}, "A is a int, a matrix or a LinearOperator"),
        ({"A": np.eye(2).astype(object)}, "A holds object, numbers"),
        ({"b": [1.0, np.nan]}, r"b\[1\] = nan, a finite number"),
        ({"b": ["x", "y"]}, "b holds <U1, numbers"),
        ({"b": np.ones((2, 2))}, r"b has the shape \(2, 2\), one dimension"),
        ({"x0": [1.0]}, r"x0 has the shape \(1,\), \(2,\) was expected"),
        ({"rtol": -1}, "rtol is -1"),
        ({"atol": np.nan}, "atol is nan"),
        ({"maxiter": 0}, "maxiter is 0"),
        ({"M": sp.eye_array(3).tocsr()}, r"M has the shape \(3, 3\)"),
        ({"callback": 3}, "callback is 3, a function"),
    ],
)
def test_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"A": sp.eye_array(2).tocsr(), "b": [1.0, 2.0]} | changes
    with pytest.raises(ArgumentError, match=message):
        cg(given.pop("A"), given.pop("b"), **given)


def test_without_convergence() -> None:
    with pytest.raises(ConvergenceError, match="conjugate gradients did not converge: after 3 iterations") as caught:
        cg(grid(20), np.random.default_rng(0).random(400), maxiter=3)
    last: Any = caught.value.last
    assert last.iterations == 3 and last.values.any()
    for matrix in (sp.csr_array((2, 2)), sl.aslinearoperator(np.zeros((2, 2)))):
        with pytest.raises(ConvergenceError, match="broke down in iteration 1: for its direction p, p · A p is 0"):
            cg(matrix, [1.0, 2.0])


@pytest.mark.parametrize("exponent", [-320, -170, 160, 300])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_right_hand_sides_whose_square_is_no_float(exponent: int, preconditioned: bool) -> None:
    matrix = sp.diags_array([-np.ones(49), 4 * np.ones(50), -np.ones(49)], offsets=[-1, 0, 1]).tocsr()
    b = np.arange(1.0, 51.0)
    plain = tracecut.cg(matrix, b, rtol=1e-10)
    seen = []
    words: dict[str, Any] = {"M": sp.eye_array(50).tocsr()} if preconditioned else {}
    small = b * 10.0**exponent if exponent > -300 else np.arange(1.0, 51.0) * 1e-160 * 1e-160
    found = tracecut.cg(matrix, small, rtol=1e-10, callback=seen.append, **words)
    assert found.iterations == len(seen) > 5
    np.testing.assert_allclose(found.values / small.max(), plain.values / 50.0, rtol=1e-2 if exponent < -300 else 1e-9)
    np.testing.assert_array_equal(seen[-1], found.values)


def test_a_tolerance_of_zero() -> None:
    b = np.arange(1.0, 9.0)
    assert tracecut.cg(2 * sp.eye_array(8).tocsr(), b, rtol=0).residual == 0.0
    assert tracecut.cg(2 * sp.eye_array(8).tocsr(), b, rtol=0, M=sp.eye_array(8).tocsr()).residual == 0.0
