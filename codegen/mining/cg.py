"""Conjugate gradients (Hestenes and Stiefel 1952)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.products.spmv import spmv
from tracecut.codegen.ranks.communicator import Communicator
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.ranks.split import Entries
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.estimate import making_seconds, misses_seconds
from tracecut.codegen.sparse.operator import SparseOperator
from tracecut.codegen.sparse.row_threads import run_blocks, usable
from tracecut.partition.inputs.on_disk.disk_matrix import DiskMatrix
from tracecut.support.argument_checks import whole_number
from tracecut.support.errors import ArgumentError, ConvergenceError

from .cg_steps import advance_step, dot_step, turn_step
from .in_links import BLOCKS, unsigned
from .iterations import check_device
from .on_disk.gathered_file import GatheredFile
from .on_ranks import Problem, hold
from .records import Solution, unless_converged

Vector = npt.NDArray[Any]
HUB = 8  # times the mean, entries of a row that no order brings near its neighbours
CALLS = 100  # products that a solution usually takes, against which making another form is weighed
SQUARED = 1e140  # whose square, times many entries, a float64 holds
LEAST = 1 << 13  # rows of a block: below that, another thread takes as long to wake


def cg(
    A: Any,
    b: npt.ArrayLike,
    *,
    x0: npt.ArrayLike | None = None,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Vector], None] | None = None,
    device: str | Ranks = "cpu",
) -> Solution:
    """Solves A x = b for a symmetric (Hermitian) positive definite A; arguments as of `scipy.sparse.linalg.cg`.

    Args:
        A: a square scipy.sparse matrix, a dense array of two dimensions, or a LinearOperator. Of a real matrix `spmv`
            chooses form and order for a hundred products, and vectors are moved into that order once; so they are with
            `tracecut.spmv(A, …)`. Or a real matrix on disk (`tracecut.stream_matrix`), without `M`.
        b: (n) or (n, 1).
        x0: the first iterate. None: zeros.
        rtol, atol: it ends when ‖b − A x‖₂ < max(rtol ‖b‖₂, atol).
        maxiter: the most iterations. None: 10 n.
        M: a preconditioner: a matrix or a LinearOperator that approximates the inverse of A.
        callback: called with x after each iteration; it must not change it.
        device: "cpu", or `tracecut.Ranks(…)`, which takes A, b and x0 from the first of several ranks, A and b real, A
            with entries, without `M` and `callback`.

    Returns:
        Solution, of float64 or complex128 values. A real sparse A without `M` takes three passes over the vectors and a
        product an iteration, on all cores that this process may use, and gives the same bits on any number of them.

    Raises ArgumentError, naming the argument, for shapes that do not fit and values of `b` or `x0` that are not finite;
    ConvergenceError, with the last Solution, after `maxiter` iterations, and where A turns out not to be positive
    definite. O(entries · iterations).
    """
    if isinstance(device, Ranks):
        return device.run(lambda comm: _rank_solution(comm, device, (A, b, x0), (rtol, atol, maxiter), (M, callback)))
    check_device(device)
    matrix, right, start, tolerances, most = _checked(A, b, x0, rtol, atol, maxiter)
    other = None if M is None else _operand("M", M, right.size)
    if callback is not None and not callable(callback):
        raise ArgumentError(f"callback is {callback!r}, a function was expected")
    largest = float(np.abs(right).max(initial=0.0))
    if largest == 0.0:
        return Solution(np.zeros_like(right), 0, 0.0)
    if not 1 / SQUARED < largest < SQUARED:
        scale = 2.0 ** min(1000, -int(np.frexp(largest)[1]))
        words: dict[str, Any] = {"rtol": rtol, "atol": tolerances[1] * scale, "maxiter": maxiter, "M": M}
        return _scaled(A, right, start, scale, callback, words)
    length = _length(right)
    kinds = {_kind(each) for each in (right, start, matrix, other) if each is not None}
    dtype = np.complex128 if "c" in kinds else np.float64
    problem = _Problem(right.astype(dtype), start.astype(dtype), max(tolerances[0] * length, tolerances[1]), most)
    if isinstance(matrix, DiskMatrix):
        if other is not None or dtype != np.float64:
            raise ArgumentError("A is on disk, where it has to be real, without M", hint="A.to_csr() is in memory.")
        return _on_disk(matrix, problem, callback)
    if other is None and dtype == np.float64:
        if isinstance(matrix, Csr):
            matrix = spmv(matrix, order=_order(matrix), expected_calls=CALLS)
        if isinstance(matrix, SparseOperator) and matrix.dtype == np.float64:
            return _fused(matrix, problem, callback)
    return _general(matrix, other, problem, callback)


def _checked(A: Any, b: Any, x0: Any, rtol: Any, atol: Any, maxiter: Any) -> tuple[Any, Vector, Vector, Any, int]:
    """The arguments as they are used: A, b, the first x, both tolerances, the most iterations."""
    right = _vector("b", b, None)
    matrix = _operand("A", A, right.size)
    start = np.zeros(right.size) if x0 is None else _vector("x0", x0, right.size)
    most = 10 * right.size if maxiter is None else whole_number("maxiter", maxiter, 1)
    return matrix, right, start, (_tolerance("rtol", rtol), _tolerance("atol", atol)), most


def _scaled(
    A: Any, b: Vector, x: Vector, scale: float, callback: Callable[[Vector], None] | None, words: dict[str, Any]
) -> Solution:
    """The solution for a `b` whose square no float64 holds, from that for `scale` times it."""
    own = None if callback is None else (lambda found: callback(found / scale))

    def back(found: Solution) -> Solution:
        return Solution(found.values / scale, found.iterations, found.residual / scale)

    try:
        return back(cg(A, b * scale, x0=x * scale, callback=own, **words))
    except ConvergenceError as error:
        if isinstance(error.last, Solution):
            error.last = back(error.last)
        raise


@dataclass(frozen=True, eq=False)
class _Problem:
    """b, the first x (both overwritten by none), the bound of the residual and the most iterations."""

    b: Vector
    x: Vector
    bound: float
    most: int


def _fused(operator: SparseOperator, problem: _Problem, callback: Callable[[Vector], None] | None) -> Solution:
    """In the order of the operator's plan, into which vectors are moved once."""
    product = operator.permuted
    x, r = operator.to_permuted(problem.x), operator.to_permuted(problem.b)
    if x.any():
        r -= product.times(x)
    step, back, bounds = _passes(x.size, usable(None)), operator.from_permuted, (problem.bound, problem.most)
    found = _iterate(lambda p, q: product.times(p, out=q), step, (x, r), bounds, back, callback)
    return _ended(back(x), *found, problem.bound)


def _on_disk(matrix: DiskMatrix, problem: _Problem, callback: Callable[[Vector], None] | None) -> Solution:
    """As `_fused`, in the order of the rows."""
    x, r, threads = problem.x.copy(), problem.b.copy(), usable(None)
    file = GatheredFile.of(matrix.file, np.zeros(0, np.int64))
    if x.any():
        product = np.empty_like(x)
        file.product(x, product, threads)
        r -= product
    step, bounds = _passes(x.size, threads), (problem.bound, problem.most)
    found = _iterate(lambda p, q: file.product(p, q, threads), step, (x, r), bounds, np.copy, callback)
    return _ended(x, *found, problem.bound)


def _passes(size: int, threads: int, whole: Callable[[float], float] = float) -> Callable[..., float]:
    """Runs a pass of `cg_steps`, and adds its sums up; whole: adds those of several ranks."""
    blocks = max(1, min(BLOCKS, size // LEAST))
    cuts = np.arange(blocks + 1) * size // blocks
    sums = np.zeros(blocks)

    def step(kernel: Any, *arguments: Any, summed: bool = True) -> float:
        many = max(1, min(threads, blocks))
        shares = [blocks * i // many for i in range(many + 1)]
        arguments = (*arguments, sums) if summed else arguments
        run_blocks(lambda first, last: kernel(first, last, cuts, *arguments), shares)
        return whole(sums.sum()) if summed else 0.0

    return step


def _iterate(
    times: Callable[[Vector, Vector], object],
    step: Callable[..., float],
    vectors: tuple[Vector, Vector],
    bounds: tuple[float, int],
    back: Callable[[Vector], Vector],
    callback: Callable[[Vector], None] | None = None,
) -> tuple[int, float]:
    """The iterations and the last residual.

    Args:
        vectors: x and its b − A x, which are overwritten. bounds: of the residual, and of the iterations.
        back: x in the order of the caller.
    """
    x, r = vectors
    q = np.empty_like(x)
    p, square, iteration = r.copy(), step(dot_step, r, r), 0
    while square and not np.sqrt(square) < bounds[0] and iteration < bounds[1]:
        times(p, q)
        alpha = _share(square, step(dot_step, p, q), iteration, lambda: back(x))
        before, square = square, step(advance_step, p, q, alpha, x, r)
        step(turn_step, r, square / before, p, summed=False)
        iteration += 1
        if callback is not None:
            callback(back(x))
    return iteration, float(np.sqrt(square))


def _rank_solution(
    comm: Communicator, device: Ranks, given: tuple[Any, ...], bounds: tuple[Any, ...], refused: tuple[Any, ...]
) -> Solution:
    """On several ranks, each with the entries of the vectors that it owns."""

    def prepare() -> Problem:
        for name, value in zip(("M", "callback"), refused, strict=True):
            if value is not None:
                raise ArgumentError(f"{name} is given, which several ranks do not take", hint='device="cpu" does.')
        matrix, right, start, (rtol, atol), most = _checked(*given, *bounds)
        if not isinstance(matrix, Csr) or "c" in {_kind(each) for each in (matrix, right, start)}:
            raise ArgumentError("several ranks need a real A with entries, and real vectors", hint='Or device="cpu".')
        if right.size >= 2**31:
            raise ArgumentError(f"A has {right.size} rows, fewer than 2**31 were expected")
        largest = float(np.abs(right).max(initial=0.0))
        scale = 1.0 if not largest or 1 / SQUARED < largest < SQUARED else 2.0 ** min(1000, -int(np.frexp(largest)[1]))
        right, start = right * scale, start * scale if largest else np.zeros_like(start)
        entries = Entries(unsigned(matrix.offsets), matrix.columns.astype(np.uint32), matrix.values)
        bound = max(rtol * _length(right), atol * scale)
        return Problem(entries, [right, start], (bound, most, scale), None, None)

    held = hold(comm, device, prepare, None, 2)
    (bound, most, scale), (r, x) = held.numbers, held.vectors
    product, before, fresh = held.product(), comm.sent.vectors, np.empty_like(r)
    if held.sum(float(x.any())):
        product.times(x, fresh)
        r -= fresh

    def back(own: Vector) -> Vector:
        return held.whole(own) / scale

    found = _iterate(product.times, _passes(x.size, held.threads, held.sum), (x, r), (bound, int(most)), back)
    told = held.communication([product], before)
    return replace(_ended(back(x), found[0], found[1] / scale, bound / scale), communication=told)


def _order(matrix: Csr) -> str:
    """`"rcm"` where what it saves of the misses of x is worth making it; else what `spmv` finds.

    `spmv` itself weighs an order against moving vectors in each call, which is not done here.
    """
    lengths = np.diff(matrix.offsets)
    if not matrix.entries or int(lengths.max()) * lengths.size > HUB * matrix.entries or max(matrix.shape) >= 2**31:
        return "auto"
    return "rcm" if CALLS * misses_seconds(matrix) > making_seconds(matrix, "sliced", "rcm") else "auto"


def _general(matrix: Any, other: Any, problem: _Problem, callback: Callable[[Vector], None] | None) -> Solution:
    x, r = problem.x.copy(), problem.b.copy()
    product, correct = _product(matrix), (lambda v: v) if other is None else _product(other)
    if x.any():
        r = r - product(x)
    p, iteration = np.zeros_like(r), 0
    before: Any = 1.0
    while r.any() and not _length(r) < problem.bound and iteration < problem.most:
        z = correct(r)
        square = np.vdot(r, z)
        p = z + (square / before if iteration else 0.0) * p
        q = product(p)
        alpha = _share(square, np.vdot(p, q), iteration, x.copy)
        x += alpha * p
        r = r - alpha * q
        before = square
        iteration += 1
        if callback is not None:
            callback(x)
    return _ended(x, iteration, _length(r), problem.bound)


def _length(vector: Vector) -> float:
    """‖vector‖₂, with the same bits on any number of threads, which BLAS does not promise."""
    return float(np.sqrt((np.abs(vector) ** 2).sum()))


def _ended(x: Vector, iterations: int, residual: float, bound: float) -> Solution:
    found = Solution(x, iterations, residual)
    if residual and not residual < bound:
        raise unless_converged("conjugate gradients", found, bound)
    return found


def _share(square: Any, curvature: Any, iteration: int, last: Callable[[], Vector]) -> Any:
    """How far to go along a direction. Raises ConvergenceError where that is no number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.asarray(square) / np.asarray(curvature)
    if not np.isfinite(share):
        raise ConvergenceError(
            f"conjugate gradients broke down in iteration {iteration + 1}: for its direction p, p · A p is {curvature}",
            last=Solution(last(), iteration, float(np.sqrt(abs(square)))),
            hint="A must be symmetric and positive definite, its values finite, the tolerance within reach.",
        )
    return share[()]


def _product(operand: Any) -> Callable[[Vector], Vector]:
    if isinstance(operand, Csr):
        own = operand.to_scipy()
        return lambda v: np.asarray(own @ v)
    return lambda v: np.asarray(operand @ v)


def _operand(name: str, given: Any, size: int) -> Any:
    shape = getattr(given, "shape", None)
    on_disk = isinstance(given, DiskMatrix) and name == "A"
    if shape is None or len(shape) != 2 or not (hasattr(given, "__matmul__") or on_disk):
        raise ArgumentError(f"{name} is a {type(given).__name__}, a matrix or a LinearOperator was expected")
    if shape[0] != shape[1]:
        raise ArgumentError(f"{name} has the shape {tuple(shape)}, a square one was expected")
    if shape[0] != size:
        raise ArgumentError(f"{name} has the shape {tuple(shape)}, b has {size} entries")
    if on_disk:
        return given
    if hasattr(given, "tocsr") or isinstance(given, np.ndarray):
        kind = np.dtype(given.dtype).kind
        if kind not in "biufc":
            raise ArgumentError(f"{name} holds {given.dtype}, numbers were expected")
        return Csr.of(given, np.complex128 if kind == "c" else np.float64)
    return given


def _kind(operand: Any) -> str:
    dtype = operand.values.dtype if isinstance(operand, Csr) else operand.dtype
    return np.dtype(np.float64 if dtype is None else dtype).kind


def _vector(name: str, given: npt.ArrayLike, size: int | None) -> Vector:
    values = np.asarray(given)
    if values.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} holds {values.dtype}, numbers were expected")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or (size is not None and values.size != size):
        expected = "one dimension" if size is None else f"({size},)"
        raise ArgumentError(f"{name} has the shape {values.shape}, {expected} was expected")
    values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ArgumentError(f"{name}[{bad[0]}] = {values[bad[0]]}, a finite number was expected")
    return values


def _tolerance(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise ArgumentError(f"{name} is {value!r}, a number of at least 0 was expected")
    return float(value)
