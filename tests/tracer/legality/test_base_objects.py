"""The object that an address lies in, when no more of it is known than its base pointer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import NOWHERE, Nest, Read, Site
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.tracer.legality.base_objects import object_of_base, unknown_base
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import HEAP, Memory, Object

from .test_evaluate import loop

pytestmark = pytest.mark.quick

ONE, TWO = Object(0x1000, 64, HEAP, "one"), Object(0x1040, 64, HEAP, "two")
FAR = Object(0x9000, 8192, HEAP, "far")
LIVES = {"%one": 0x1000, "%inside": 0x1008, "%end": 0x1040, "@two": 0x1040, "%nowhere": 0x8000, "%loose": 0x1010}
LIVES |= {"%far": 0x9000, "%middle": 0x9800, "%before": 0x1020}


def somewhere(pool: Pool, base: Expr) -> Expr:
    return pool.op(
        "add", "ptr", base, pool.op("mul", "i64", pool.opaque("a value that a loop leaves behind"), pool.const(4))
    )


def live(name: str) -> Callable[[Pool], Expr]:
    return lambda pool: somewhere(pool, pool.live(name, "ptr"))


def either(first: str, second: str) -> Callable[[Pool], Expr]:
    return lambda pool: pool.make("choice", (), (pool.opaque("test"), live(first)(pool), live(second)(pool)))


def rows(pool: Pool) -> Expr:
    """A pointer that each iteration loads from another place."""
    place = pool.op("add", "ptr", pool.live("%one", "ptr"), pool.op("mul", "i64", pool.counter(0), pool.const(8)))
    return somewhere(pool, pool.make("load", ("%row", "ptr"), (place,)))


def carried(pool: Pool) -> Expr:
    return somewhere(pool, pool.opaque("carried from one iteration to the next"))


def found(make: Callable[[Pool], Expr]) -> tuple[Object | None, str]:
    pool = Pool()
    address = make(pool)
    site = Site("%v", Read(), "i32", 4, address, None, 0, ALWAYS, NOWHERE)
    nest = Nest("@f", 0, {0: loop(0, None, None)}, (site,), {}, {}, {}, pool, loose=frozenset({"%loose"}))
    memory = Memory([ONE, TWO, FAR], {})
    return object_of_base(Evaluation(nest, memory, LIVES), address), unknown_base(nest, address)


@pytest.mark.parametrize(
    ("make", "item"),
    [(live("%one"), ONE), (live("@two"), TWO), (live("%middle"), FAR), (either("%far", "%middle"), FAR)],
)
def test_an_access_stays_in_the_object_of_its_base(make: Callable[[Pool], Expr], item: Object) -> None:
    assert found(make)[0] is item


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (live("%end"), ""),  # the end of one, or the beginning of the other
        (live("%before"), ""),  # of `two`, if that is counted from 1
        (live("%inside"), ""),
        (live("%nowhere"), ""),
        (live("%unknown"), ""),
        (either("%one", "@two"), ""),
        (live("%loose"), "may lie outside of its array"),
        (rows, "loaded anew in each iteration"),
        (carried, "carried from one iteration to the next"),
    ],
)
def test_what_is_not_certain_is_no_object(make: Callable[[Pool], Expr], why: str) -> None:
    item, said = found(make)
    assert item is None and said.endswith(why)
