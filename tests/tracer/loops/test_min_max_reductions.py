"""Least and greatest values behind a test in a wider type: which operator it is, and what it does to every number."""

from __future__ import annotations

import itertools

import pytest
from tracecut.ir.llvm import TypeTable, parse_module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.tracer.loops.updates.min_max_reductions import limits
from tracecut.tracer.loops.updates.reductions import Uses, guarded_reduction

from ..reference import arithmetic, cast, compare

pytestmark = pytest.mark.quick

TEXT = """
define void @f(ptr %p, ptr %q) {{
entry:
  br label %loop
loop:
  %old = load i8, ptr %p
  %x = load i16, ptr %q
  {made}
  %low = trunc i16 %wide to i8
  %w = {way} i8 %old to i16
  %less = icmp {word} i16 {operands}
  br i1 %less, label %take, label %loop
take:
  store i8 %low, ptr %p
  br label %loop
}}
"""


def view_of(made: str, way: str = "sext", word: str = "slt", operands: str = "%wide, %w") -> FunctionView:
    text = TEXT.format(made=made, way=way, word=word, operands=operands)
    return FunctionView(parse_module(text).functions["@f"], TypeTable({}))


def operator_of(made: str, way: str, word: str, operands: str = "%wide, %w") -> str | None:
    view = view_of(made, way, word, operands)
    block = view.function.block("take")
    found = guarded_reduction(Uses(view), block, block.instructions[0])
    return None if found is None else found[1].operator


FITS = "%wide = srem i16 %x, 100"
BITS = "%wide = and i16 %x, 255"
CASES = [
    (FITS, "sext", "slt", "smin"),
    (FITS, "sext", "sgt", "smax"),
    (FITS, "sext", "ult", None),  # as numbers without a sign
    (FITS, "zext", "slt", None),  # may be negative
    (BITS, "zext", "slt", "umin"),
    (BITS, "zext", "ugt", "umax"),
    (BITS, "sext", "slt", None),  # 255 is −1 in one byte
    ("%wide = srem i16 %x, 1000", "sext", "slt", None),
    ("%wide = lshr i16 %x, 9", "sext", "slt", "smin"),
    ("%wide = lshr i16 %x, 7", "sext", "slt", None),
    ("%wide = add i16 %x, 0", "sext", "slt", None),
]


@pytest.mark.parametrize(("made", "way", "word", "operator"), CASES)
def test_what_is_compared_in_a_wider_type(made: str, way: str, word: str, operator: str | None) -> None:
    assert operator_of(made, way, word) == operator
    swapped = word.replace("l", "#").replace("g", "l").replace("#", "g")
    assert operator_of(made, way, swapped, "%w, %wide") == operator
    if operator is None:
        return
    op, first, constant = made.split()[2], "%x", int(made.split()[-1])
    wider = [int(arithmetic(op, "i16", x, constant)) for x in range(-(1 << 15), 1 << 15, 77)]  # type: ignore[call-overload]
    assert first in made
    for wide, old in itertools.product(wider, range(-128, 128, 5)):
        low = cast("trunc", "i16", "i8", wide)
        taken = compare(f"icmp {word}", "i16", wide, cast(way, "i8", "i16", old))
        assert (low if taken else old) == arithmetic(operator, "i8", low, old)


def test_limits_hold() -> None:
    for made in (FITS, BITS, *(case[0] for case in CASES)):
        low, high = limits(view_of(made), "%wide")
        op, constant = made.split()[2], int(made.split()[-1])
        assert all(low <= int(arithmetic(op, "i16", x, constant)) <= high for x in range(-(1 << 15), 1 << 15, 77))  # type: ignore[call-overload]
