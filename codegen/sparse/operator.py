"""A sparse matrix as a scipy `LinearOperator` that runs on the form and in the order of its plan."""

from __future__ import annotations

import contextlib
import threading
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator
from tracecut.support.errors import ArgumentError

from .csr import Array, Csr
from .csr_kernels import Product
from .forms import Form, make_form, take
from .orders import MatrixOrder, Words, inverse_order
from .plan import SpmvPlan


@dataclass(frozen=True, eq=False)
class Prepared:
    """A form, the order that it is in, and the plan that says why."""

    form: Form
    places: MatrixOrder
    plan: SpmvPlan

    @cached_property
    def back(self) -> Words | None:
        """The new places of rows."""
        return None if self.places.rows is None else inverse_order(self.places.rows)

    @cached_property
    def _spare(self) -> list[Array]:
        """Vectors that calls work in, two of each length: fresh memory would cost as much as moving them."""
        return []

    def __call__(self, product: Product, threads: int, *, turned: bool, moved: bool) -> None:
        """Run a product; with `moved` its vectors are in the caller's order."""
        count, scale, y = product.count, product.scale, product.y
        rows, columns = (self.places.rows, self.places.columns) if moved else (None, None)
        into, out, back = (rows, columns, self.places.numbers) if turned else (columns, rows, self.back)
        x = product.x if into is None else self._room(product.x)
        own = y if out is None else self._room(y)
        if into is not None:
            take(into, product.x, x, count)
        if out is not None and scale[1] != 0:
            take(out, y, own, count)
        if turned:
            self.form.transposed_times(x, own, scale, count)
        else:
            self.form.times(x, own, scale, count, threads)
        if out is not None:
            assert back is not None
            take(back, own, y, count)
        self._spare.extend(room for room in (x, own) if room is not product.x and room is not y)
        del self._spare[4:]

    def _room(self, like: Array) -> Array:
        """An array of the same shape. Several threads may ask at once: each gets its own."""
        for at in range(len(self._spare) - 1, -1, -1):
            with contextlib.suppress(IndexError):
                found = self._spare.pop(at)
                if found.shape == like.shape:
                    return found
        return np.empty_like(like)


class _Products(LinearOperator, metaclass=ABCMeta):
    """What scipy asks of an operator, by one method."""

    @abstractmethod
    def _any(self, x: Array, *, turned: bool) -> Array:
        """A x, or with `turned` the adjoint times x; one vector or several."""

    def _matvec(self, x: Array) -> Array:
        return self._any(np.asarray(x).reshape(-1), turned=False)

    def _rmatvec(self, x: Array) -> Array:
        return self._any(np.asarray(x).reshape(-1), turned=True)

    def _matmat(self, X: Array) -> Array:
        return self._any(X, turned=False)

    def _rmatmat(self, X: Array) -> Array:
        return self._any(X, turned=True)


class SparseOperator(_Products):
    """A @ x, A.T @ x, A.H @ x for vectors and (n, k) arrays, in scipy's solvers and on its own; see `spmv`.

    It refers to the arrays of A, whose structure must stay; new values go through `update`. Calls from several threads
    at once are fine.

    Attributes:
        plan: the `SpmvPlan`: form, order, why. With `background=True` that of plain compressed rows until the other
            form is ready.
    """

    def __init__(self, matrix: Csr, prepared: Prepared, threads: int) -> None:
        super().__init__(matrix.values.dtype, matrix.shape)  # type: ignore[call-arg]
        self._matrix, self._prepared, self._threads = matrix, prepared, threads
        self._coming: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., SparseOperator], tuple[Csr, SpmvPlan, int]]:
        """Another process makes the form again, by the plan."""
        self.wait()
        return operator_by_plan, (self._matrix, self.plan, self._threads)

    def __repr__(self) -> str:
        plan = self.plan
        return f"<SparseOperator {self.shape[0]} × {self.shape[1]}, {self.dtype}, {plan.format}, {plan.order} order>"

    @property
    def plan(self) -> SpmvPlan:
        return self._prepared.plan

    @property
    def nnz(self) -> int:
        """Stored entries, duplicates and zeros among them."""
        return self._matrix.entries

    def toarray(self) -> Array:
        """The matrix as a dense array, duplicates added up. O(rows · columns)."""
        return np.asarray(self._matrix.to_scipy().toarray())

    def times(self, x: npt.ArrayLike, *, out: Array | None = None, alpha: complex = 1.0, beta: complex = 0.0) -> Array:
        """α A x + β y, for the arguments see `csr_kernels.csr_times`. Raises ArgumentError."""
        return self._product(x, out, alpha, beta, turned=False)

    def transposed_times(
        self, x: npt.ArrayLike, *, out: Array | None = None, alpha: complex = 1.0, beta: complex = 0.0
    ) -> Array:
        """α Aᵀ x + β y, not conjugated; on one thread."""
        return self._product(x, out, alpha, beta, turned=True)

    def update(self, data: npt.ArrayLike) -> None:
        """New values for the entries of A, in the order of `A.data` of compressed rows, without a new inspection.

        Raises ArgumentError for another number of them, and for complex values of a real matrix. O(entries).
        """
        values = np.asarray(data)
        dtype = self._matrix.values.dtype
        if values.shape != self._matrix.values.shape:
            raise ArgumentError(f"data has the shape {values.shape}, {self._matrix.values.shape} was expected")
        if values.dtype.kind not in ("biuf" if dtype.kind == "f" else "biufc"):
            raise ArgumentError(f"data holds {values.dtype}, which {dtype} values cannot be made of")
        self.wait()
        with self._lock:
            self._matrix = self._matrix.with_values(np.ascontiguousarray(values, dtype))
            held = self._prepared
            places = held.places
            form = held.form.with_values(self._matrix, places.rows, places.numbers)
            self._prepared = Prepared(form, places, held.plan)

    def wait(self) -> None:
        """Return when the form that is made in the background is in use. Raises what went wrong there."""
        coming = self._coming
        if coming is not None:
            coming.join()
            self._coming = None
        if self._failure is not None:
            raise self._failure

    def begin(self, prepare: Callable[[], Prepared]) -> None:
        """Make a form in the background, and use it once it is there. Left alone when the process ends."""

        def run() -> None:
            try:
                found = prepare()
            except BaseException as error:
                self._failure = error
                return
            with self._lock:
                self._prepared = found

        self._coming = threading.Thread(target=run, name="tracecut-inspection", daemon=True)
        self._coming.start()

    @property
    def permuted(self) -> PermutedOperator:
        """The same matrix with rows and columns in the order of the plan: its vectors are not moved in each call.

        Waits, as `to_permuted` and `from_permuted` do, for a form that is made in the background: there is one order.
        """
        self.wait()
        return PermutedOperator(self, self._prepared)

    def to_permuted(self, x: npt.ArrayLike) -> Array:
        """`x` (columns) or (columns, k) with its entries where `permuted` expects them."""
        self.wait()
        return self._moved("x", x, self._prepared.places.columns, self.shape[1])

    def from_permuted(self, y: npt.ArrayLike) -> Array:
        """What `permuted` gave, (rows) or (rows, k), with its entries back in their places."""
        self.wait()
        return self._moved("y", y, self._prepared.back, self.shape[0])

    def _moved(self, name: str, x: npt.ArrayLike, order: Words | None, size: int) -> Array:
        given = np.asarray(x)
        if given.ndim not in (1, 2) or given.shape[0] != size:
            raise ArgumentError(f"{name} has the shape {given.shape}, ({size},) or ({size}, k) was expected")
        return given.copy() if order is None else given[order]

    def _product(
        self,
        x: npt.ArrayLike,
        out: Array | None,
        alpha: complex,
        beta: complex,
        *,
        turned: bool,
        prepared: Prepared | None = None,
    ) -> Array:
        height, length = self.shape[::-1] if turned else self.shape
        held = self._prepared if prepared is None else prepared
        product = Product(self.dtype, x, out, alpha, beta, length, height)
        held(product, self._threads, turned=turned, moved=prepared is None)
        return product.finish()

    def _any(self, x: Array, *, turned: bool) -> Array:
        return self._one_or_two(x, turned, None)

    def _one_or_two(self, x: Array, turned: bool, prepared: Prepared | None) -> Array:
        """A product of scipy's, which may come with complex vectors for a real matrix."""
        if x.dtype.kind == "c" and self.dtype.kind != "c":
            real = self._product(x.real, None, 1.0, 0.0, turned=turned, prepared=prepared)
            return real + 1j * self._product(x.imag, None, 1.0, 0.0, turned=turned, prepared=prepared)
        if turned and self.dtype.kind == "c":  # scipy asks for the adjoint
            return self._product(np.conj(x), None, 1.0, 0.0, turned=True, prepared=prepared).conj()
        return self._product(x, None, 1.0, 0.0, turned=turned, prepared=prepared)


def operator_by_plan(matrix: Csr, plan: SpmvPlan, threads: int) -> SparseOperator:
    """An operator whose form and order a plan of this matrix says."""
    return SparseOperator(matrix, Prepared(make_form(matrix, plan.format, plan.places), plan.places, plan), threads)


class PermutedOperator(_Products):
    """A `SparseOperator` in the order of its plan, P A Pᵀ for a square matrix; see `SparseOperator.permuted`.

    It follows `SparseOperator.update`, and keeps its order when another form is ready in the background.
    """

    def __init__(self, whole: SparseOperator, prepared: Prepared) -> None:
        super().__init__(whole.dtype, whole.shape)  # type: ignore[call-arg]
        self._whole, self._first = whole, prepared

    def __reduce__(self) -> tuple[Callable[..., PermutedOperator], tuple[SparseOperator, str]]:
        return getattr, (self._whole, "permuted")

    @property
    def _prepared(self) -> Prepared:
        now = self._whole._prepared
        return now if now.places is self._first.places else self._first

    @property
    def nnz(self) -> int:
        """Stored entries, duplicates and zeros among them."""
        return self._whole.nnz

    def toarray(self) -> Array:
        """The matrix in the order of the plan as a dense array, duplicates added up. O(rows · columns)."""
        rows, columns = self._first.places.rows, self._first.places.columns
        found = self._whole.toarray()
        found = found if rows is None else found[rows]
        return found if columns is None else found[:, columns]

    def times(self, x: npt.ArrayLike, *, out: Array | None = None, alpha: complex = 1.0, beta: complex = 0.0) -> Array:
        """α A x + β y of vectors in the order of the plan. Raises ArgumentError."""
        return self._whole._product(x, out, alpha, beta, turned=False, prepared=self._prepared)

    def _any(self, x: Array, *, turned: bool) -> Array:
        return self._whole._one_or_two(x, turned, self._prepared)
