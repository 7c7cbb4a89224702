"""`spmv`: a sparse matrix made ready for many products."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
from tracecut.codegen.sparse.choose import Choice, Wish, choose
from tracecut.codegen.sparse.costs import known_costs
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.forms import CARD_FORMATS, FORMATS, CsrForm, make_form
from tracecut.codegen.sparse.native_code import load_kernels
from tracecut.codegen.sparse.operator import Prepared, SparseOperator, operator_by_plan
from tracecut.codegen.sparse.orders import NATURAL, ORDERS, make_order, structure_key
from tracecut.codegen.sparse.plan import CPU, SpmvPlan
from tracecut.codegen.sparse.row_threads import usable
from tracecut.support.argument_checks import MAX_SEED, whole_number
from tracecut.support.errors import ArgumentError, known_names

if TYPE_CHECKING:
    from tracecut.codegen.devices.device import Device

METHODS = ("auto", *FORMATS)
CARD_METHODS = ("auto", *CARD_FORMATS)


def spmv(
    A: Any,
    *,
    device: str | int = CPU,
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
        device: `"cpu"`; the number of a card (0, 1 …), on which A stays, while x and y are copied there and back in
            each call; or `"emulated"`, a card that this CPU stands for: the same kernels, slowly.
        dtype: float32, float64, complex64 or complex128: what products are computed in, whatever the type of x. None:
            A's own, float64 for whole numbers.
        method: `"auto"`, or the form to use: `"csr"` (compressed rows), `"csr-vector"` (several entries of a row at a
            time), `"sliced"` (rows of equal length side by side), `"tiled"` (the same in tiles of columns; where all
            values of A are the same, it holds one of them, and products have the same bits). On a card: `"csr-vector"`
            (a team of threads a row), or `"tile-composite"` (TileSpMV §3.1), which `"auto"` takes where the table of
            `tracecut tune --device` says that it is faster; transposed products go by rows.
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
        ArgumentError: a wrong argument or a damaged matrix. ArtefactError: a damaged file of a plan;
        FileNotFoundError: none. ToolchainError: there is no such card; KernelError: it has no room, or fails.
    """
    methods = METHODS if device == CPU else CARD_METHODS
    card = None if device == CPU else _card(device)
    if method not in methods:
        on = "" if card is None else " on a card"
        raise ArgumentError(f"there is no method {method!r} of products{on}", hint=known_names(method, methods))
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
        if not isinstance(plan, SpmvPlan | str | os.PathLike):
            raise ArgumentError(f"plan is a {type(plan).__name__}, a SpmvPlan or the path of one was expected")
        given = plan if isinstance(plan, SpmvPlan) else SpmvPlan.load(plan)
        given.check(matrix)
        if given.device != str(device):
            raise ArgumentError(f"the plan is of the device {given.device}, device is {device!r}")
        return operator_by_plan(matrix, given, count) if card is None else card_operator(matrix, given, count)
    kind = SparseOperator if card is None else CardOperator
    if background:
        found = kind(matrix, _plain(matrix), count)
        found.begin(lambda: _inspected(matrix, wish, perf_counter(), card))
        return found
    return kind(matrix, _inspected(matrix, wish, begun, card), count)


class CardOperator(SparseOperator):
    """A `SparseOperator` whose products run on a card."""

    def __reduce__(self) -> tuple[Callable[..., SparseOperator], tuple[Csr, SpmvPlan, int]]:
        """Another process opens the card, and makes the form again."""
        self.wait()
        return card_operator, (self._matrix, self.plan, self._threads)


def card_operator(matrix: Csr, plan: SpmvPlan, threads: int) -> CardOperator:
    """An operator whose card, form and order a plan of this matrix says. Raises as `spmv`."""
    from .card_forms import card_form

    form = card_form(_card(plan.device), matrix, plan.format, plan.places)
    return CardOperator(matrix, Prepared(form, plan.places, plan), threads)


def _card(number: str | int) -> Device:
    from .card_forms import opened  # what this process needs of LLVM takes longer to load than all else here

    return opened(number)


def _inspected(matrix: Csr, wish: Wish, begun: float, card: Device | None) -> Prepared:
    if card is not None:
        return _inspected_on_card(card, matrix, wish, begun)
    choice = choose(matrix, wish)
    form = make_form(matrix, choice.chosen.format, choice.order, choice.shape)
    return Prepared(form, choice.order, _plan(matrix, choice, form.bytes, perf_counter() - begun))


def _inspected_on_card(card: Device, matrix: Csr, wish: Wish, begun: float) -> Prepared:
    from .card_forms import card_form, name_of
    from .card_tiles import source_of
    from .choose_on_card import choose_on_card

    name, order, reason = choose_on_card(card, matrix, wish)
    places = make_order(matrix, order, wish.seed)
    form = card_form(card, matrix, name, places)
    return Prepared(form, places, SpmvPlan(
        format=name, order=places.name, bytes=form.bytes + places.bytes, inspect_seconds=perf_counter() - begun,
        break_even=None, reason=reason, candidates=(), costs=source_of(card, matrix), shape=matrix.shape,
        entries=matrix.entries, dtype=str(matrix.values.dtype), key=structure_key(matrix), places=places,
        device=name_of(card),
    ))  # fmt: skip


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
