"""`spmv`: a sparse matrix made ready for many products."""

from __future__ import annotations

import math
import os
from time import perf_counter
from typing import Any

import numpy.typing as npt
from tracecut.support.argument_checks import MAX_SEED, whole_number
from tracecut.support.errors import ArgumentError, known_names

from .choose import Choice, Wish, choose
from .costs import known_costs
from .csr import Csr
from .forms import FORMATS, CsrForm, make_form
from .native_code import load_kernels
from .operator import Prepared, SparseOperator, operator_by_plan
from .orders import NATURAL, ORDERS, structure_key
from .plan import SpmvPlan
from .row_threads import usable

METHODS = ("auto", *FORMATS)
DEVICES = ("cpu",)


def spmv(
    A: Any,
    *,
    device: str = "cpu",
    dtype: npt.DTypeLike | None = None,
    method: str = "auto",
    order: str = "auto",
    expected_calls: int | None = None,
    budget: float = 2.0,
    threads: int | None = None,
    background: bool = False,
    plan: SpmvPlan | str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> SparseOperator:
    """A sparse matrix as a scipy `LinearOperator` whose products are fast: form and order chosen by a model.

    Nothing is timed: the model reckons with the table of `tracecut tune`, where there is one, else with a shipped one.

    Args:
        A: scipy.sparse in any format, or a dense array of two dimensions. The operator refers to its arrays where they
            are compressed rows: their structure must stay, new values go through `SparseOperator.update`.
        device: `"cpu"`.
        dtype: float32, float64, complex64 or complex128: what products are computed in, whatever the type of x. None:
            A's own, float64 for whole numbers.
        method: `"auto"`, or the form to use: `"csr"` (compressed rows), `"csr-vector"` (several entries of a row at a
            time), `"sliced"` (rows of equal length side by side), `"tiled"` (the same in tiles of columns; where all
            values of A are the same, it holds one of them, and products have the same bits).
        order: `"auto"`, or the order of rows and columns: `"natural"`, `"rcm"` (square matrices), `"degree"`, `"spac"`
            (seconds for a million entries). In another order each call moves x and y; `SparseOperator.permuted` takes
            vectors that stay in it.
        expected_calls: products to come: what making a form takes is weighed against what it saves in so many calls.
            None: many.
        budget: seconds that inspection may take, by the model; asked for by name, a form takes what it takes.
        threads: at most this many; None: one per usable core. Results do not depend on it.
        background: return at once, with plain compressed rows until the other form is ready; last bits of products may
            then differ before and after.
        plan: a plan of a matrix of the same structure and type, or the file of one: nothing is decided again.
        seed: of orders that draw.

    Returns:
        A SparseOperator; its `plan` says what was chosen and why.

    Raises:
        ArgumentError: a wrong argument or a damaged matrix. ArtefactError: a damaged file of a plan.
    """
    if device not in DEVICES:
        raise ArgumentError(f"there is no device {device!r} for products", hint=known_names(device, DEVICES))
    if method not in METHODS:
        raise ArgumentError(f"there is no method {method!r} of products", hint=known_names(method, METHODS))
    if order not in ("auto", *ORDERS):
        raise ArgumentError(f"there is no order {order!r} of matrices", hint=known_names(order, ("auto", *ORDERS)))
    calls = None if expected_calls is None else whole_number("expected_calls", expected_calls, 0)
    if not isinstance(budget, int | float) or not budget >= 0:
        raise ArgumentError(f"budget is {budget!r}, a number of seconds of at least 0 was expected")
    wish = Wish(method, order, calls, float(budget), whole_number("seed", seed, 0, MAX_SEED))
    count = usable(threads)
    load_kernels()
    begun = perf_counter()
    matrix = Csr.of(A, dtype)
    if plan is not None:
        if method != "auto" or order != "auto":
            raise ArgumentError("plan is given, and so is a method or an order: the plan has both")
        given = plan if isinstance(plan, SpmvPlan) else SpmvPlan.load(plan)
        given.check(matrix)
        return operator_by_plan(matrix, given, count)
    if background:
        found = SparseOperator(matrix, _plain(matrix), count)
        found.begin(lambda: _inspected(matrix, wish, perf_counter()))
        return found
    return SparseOperator(matrix, _inspected(matrix, wish, begun), count)


def _inspected(matrix: Csr, wish: Wish, begun: float) -> Prepared:
    choice = choose(matrix, wish)
    form = make_form(matrix, choice.chosen.format, choice.order, choice.shape)
    return Prepared(form, choice.order, _plan(matrix, choice, form.bytes, perf_counter() - begun))


def _plan(matrix: Csr, choice: Choice, held: int, seconds: float) -> SpmvPlan:
    saved = (choice.plain.us - choice.chosen.us) * 1e-6
    return SpmvPlan(
        format=choice.chosen.format,
        order=choice.order.name,
        bytes=held + choice.order.bytes,
        inspect_seconds=seconds,
        break_even=math.ceil(seconds / saved) if saved > 0 else None,
        reason=choice.reason,
        candidates=choice.candidates,
        costs=known_costs().source,
        shape=matrix.shape,
        entries=matrix.entries,
        dtype=str(matrix.values.dtype),
        key=structure_key(matrix),
        places=choice.order,
    )


def _plain(matrix: Csr) -> Prepared:
    """What runs while the other form is made."""
    plan = SpmvPlan(
        *("csr", "natural", matrix.bytes, 0.0, None, "another form is being made", (), ""),
        *(matrix.shape, matrix.entries, str(matrix.values.dtype), structure_key(matrix), NATURAL),
    )
    return Prepared(CsrForm(matrix), NATURAL, plan)
