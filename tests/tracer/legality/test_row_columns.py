"""Row pointers before there is an arena: what their numbers stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Pool
from tracecut.ir.loops.nest import NOWHERE, Nest, Read, Site
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import HEAP, Memory, Object
from tracecut.tracer.legality.row_columns import FlatScope, _evaluations, places_of
from tracecut.tracer.loops.flatten_rows import RowTable

from .test_evaluate import loop

pytestmark = pytest.mark.quick


BASE = 0x5000
UNITS = st.sampled_from([1, 4, 12, 24, 32, 48])


@given(st.lists(st.integers(1, 1 << 46), min_size=2, max_size=2), UNITS, st.sampled_from(["slt", "sle", "eq"]))
def test_rows_lie_where_their_pointers_lead(pointers: list[int], unit: int, word: str) -> None:
    """Whatever the unit is that their numbers will count: a pointer is no multiple of it."""
    pool = Pool()
    first, second = (pool.make("load", (f"%p{k}.row", "i64"), (pool.const(BASE + 8 * k),)) for k in range(2))
    arena, scale = pool.live("@tc.rows0", "ptr"), pool.const(unit)
    address = pool.op("add", "ptr", arena, pool.op("mul", "i64", first, scale))
    way = pool.op("mul", "i64", pool.op("sub", "i64", first, second), scale)
    compared = pool.make("cmp", (f"icmp {word}", "i64"), (first, second))
    others = [
        pool.op("mul", "i64", first, pool.const(5)),
        pool.op("sub", "i64", first, pool.const(5)),
        pool.make("cmp", ("icmp slt", "i64"), (pool.op("sub", "i64", first, second), pool.const(3))),
    ]
    table = RowTable("@f", "@tc.rows0", unit, ("%p0.row", "%p1.row"))
    site = Site("%x", Read(), "i64", 8, pool.const(BASE), None, 0, ALWAYS, NOWHERE)
    nest = Nest("@f", 0, {0: loop(0, None, None)}, (site,), {}, {}, {}, pool)
    memory = Memory([Object(BASE, 16, HEAP)], {BASE: np.array(pointers, np.int64).view(np.uint8)})
    a, b = pointers
    for found in _evaluations(FlatScope(nest, (table,), memory, {}, single=True)):
        assert found.alone(address) == a and found.alone(way) == a - b
        assert found.alone(compared) == -{"slt": a < b, "sle": a <= b, "eq": a == b}[word]
        assert unit == 1 or [found.alone(other) for other in others] == [None] * 3


@pytest.mark.parametrize(
    ("step", "offset", "places"),
    [(8, 0, range(0, 80, 8)), (16, 8, range(8, 80, 16)), (24, 16, range(16, 80, 24)), (4, 0, None), (12, 0, None)],
)
def test_places_of_what_a_search_finds(step: int, offset: int, places: range | None) -> None:
    """All of a field of the records; none where they might lie across each other."""
    pool = Pool()
    found = pool.make("cast", ("sext", "i32", "i64"), (pool.opaque("found"),))
    way = pool.op("mul", "i64", found, pool.const(step))
    address = pool.op("add", "ptr", pool.op("add", "ptr", pool.live("%rows", "ptr"), way), pool.const(offset))
    site = Site("%x", Read(), "i64", 8, address, None, 0, ALWAYS, NOWHERE)
    nest = Nest("@f", 0, {0: loop(0, None, None)}, (site,), {}, {}, {}, pool)
    memory = Memory([Object(BASE, 80, HEAP)], {BASE: np.zeros(80, np.uint8)})
    evaluation = Evaluation(nest, memory, {"%rows": BASE}, single=True)
    if places is None:
        with pytest.raises(UnsupportedError, match="not known where pointers"):
            places_of(evaluation, address)
    else:
        assert places_of(evaluation, address).tolist() == [BASE + place for place in places]
