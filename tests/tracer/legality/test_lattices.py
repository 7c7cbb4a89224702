"""Where in each element an access falls, against every element that there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.legality.lattices import Lattice, lattice_of, meets

from .test_evaluate import loop

pytestmark = pytest.mark.quick

BASE = 0x1000


def element(pool: Pool, size: int, *, narrow: bool = True) -> Expr:
    """The offset of an element of unknown number."""
    number = pool.opaque("a value that a loop leaves behind")
    number = pool.make("cast", ("sext", "i32", "i64"), (number,)) if narrow else number
    return pool.op("mul", "i64", number, pool.const(size))


def lattice(pool: Pool, address: Expr) -> Lattice:
    nest = Nest("@f", 0, {0: loop(0, None, None)}, (), {}, {}, {}, pool)
    return lattice_of(Evaluation(nest, Memory([], {}), {"%node": BASE}), address)


@pytest.mark.parametrize(
    ("size", "narrow", "step"),
    [(16, True, 16), (24, True, 24), (24, False, 8), (7, False, 1)],
    ids=["two", "three", "may-wrap", "odd-may-wrap"],
)
def test_a_field_of_an_unknown_record(size: int, narrow: bool, step: int) -> None:
    pool = Pool()
    address = pool.op("add", "ptr", pool.live("%node", "ptr"), element(pool, size, narrow=narrow))
    found = lattice(pool, pool.op("add", "ptr", address, pool.const(4)))
    assert ((found.start - BASE - 4) % step, found.step) == (0, step)


def test_two_unknown_numbers_share_the_step() -> None:
    pool = Pool()
    address = pool.op("add", "ptr", pool.live("%node", "ptr"), element(pool, 36))
    found = lattice(pool, pool.op("sub", "ptr", address, element(pool, 24)))
    assert (found.start, found.step) == (BASE, 12)


def test_a_shift_is_a_product() -> None:
    pool = Pool()
    number = pool.make("cast", ("zext", "i32", "i64"), (pool.opaque("unknown"),))
    assert lattice(pool, pool.op("shl", "i64", number, pool.const(5))).step == 32


@pytest.mark.parametrize("opcode", ["and", "xor", "udiv", "ashr"])
def test_of_other_operations_nothing_is_known(opcode: str) -> None:
    pool = Pool()
    assert lattice(pool, pool.op(opcode, "i64", element(pool, 16), pool.const(48))).step == 1


def test_a_product_that_wraps_at_32_bits_says_nothing() -> None:
    pool = Pool()
    product = pool.op("mul", "i32", pool.opaque("unknown"), pool.const(24))
    assert lattice(pool, pool.make("cast", ("sext", "i32", "i64"), (product,))).step == 1


@given(
    st.integers(-40, 40),
    st.integers(0, 12),
    st.integers(1, 9),
    st.lists(st.integers(-60, 60), max_size=6),
    st.integers(1, 9),
)
def test_meeting_is_what_trying_all_elements_finds(
    start: int, step: int, width: int, places: list[int], other: int
) -> None:
    elements = [start + step * n for n in range(-140, 141)]
    expected = any(at < place + other and place < at + width for at in elements for place in places)
    assert meets(Lattice(start, step), width, np.array(places, np.int64), other) == expected
