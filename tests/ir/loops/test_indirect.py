"""Which loops may gain by another order: those whose work is picked by what they load."""

from __future__ import annotations

import pytest
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.indirect import is_indirect
from tracecut.ir.loops.nest import NOWHERE, Nest, Read, Site
from tracecut.ir.loops.path_conditions import ALWAYS

from ...tracer.legality.test_evaluate import loop

pytestmark = pytest.mark.quick
POOL = Pool()


def plus(*parts: Expr) -> Expr:
    total, *rest = parts
    for part in rest:
        total = POOL.op("add", "ptr", total, part)
    return total


def times(factor: int, expr: Expr) -> Expr:
    return POOL.op("mul", "i64", expr, POOL.const(factor))


A, HERE, ALONG = POOL.live("%a", "ptr"), POOL.counter(0), POOL.counter(1)
POINTER = POOL.make("load", ("%p", "ptr"), (plus(A, times(16, HERE)),))
SAME = POOL.make("load", ("%q", "ptr"), (A,))
INDEX = POOL.make("load", ("%i", "i32"), (plus(A, times(4, HERE)),))
LONG = POOL.make("cast", ("sext", "i32", "i64"), (INDEX,))


def inner(many: int | None) -> Expr:
    bound = POOL.live("%n", "i64") if many is None else POOL.const(many)
    return POOL.make("trip", (64, "slt", False, 0), (POOL.const(0), POOL.const(1), bound))


@pytest.mark.parametrize(
    ("address", "many", "indirect"),
    [
        (plus(A, times(8, LONG)), None, True),  # x[index[i]]
        (POINTER, None, True),  # *p[i]
        (plus(POINTER, POOL.const(16)), None, True),  # p[i]->member
        (plus(POINTER, times(8, ALONG)), 3, True),  # p[i]->members[j]
        (plus(POINTER, times(8, ALONG)), 100, False),  # a[i][j]
        (plus(POINTER, times(8, ALONG)), None, False),
        (plus(SAME, times(8, HERE)), None, False),  # s->a[i]
        (plus(A, times(8, HERE)), None, False),
    ],
)
def test_records_that_pointers_pick_count_and_pieces_do_not(address: Expr, many: int | None, indirect: bool) -> None:
    site = Site("%x", Read(), "double", 8, address, None, 1, ALWAYS, NOWHERE)
    loops = {0: loop(0, None, inner(50)), 1: loop(1, 0, inner(many))}
    assert is_indirect(Nest("@f", 0, loops, (site,), {}, {}, {}, POOL), 0) == indirect
