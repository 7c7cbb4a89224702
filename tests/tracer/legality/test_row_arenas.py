"""Rows behind pointers as one array: what is found there is what the pointers lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import NOWHERE, Nest, Read, Site, Write
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import HEAP, Memory, Object
from tracecut.tracer.legality.row_arenas import SharedRowsError, common_rows, flatten_memory, row_places
from tracecut.tracer.legality.row_checks import check_rows, check_written_rows, used_parts
from tracecut.tracer.legality.row_columns import FlatScope
from tracecut.tracer.legality.row_image import row_image
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.loops.row_numbers import read_at

from .test_evaluate import loop

pytestmark = pytest.mark.quick

TABLE, ROWS = 0x100000, 0x200000
LENGTHS = 0x180000
ONE = RowTable("@f", "@tc.rows0", 4, ("%p.row",))
NAMES = {"%rows": TABLE, "%lengths": LENGTHS}


@dataclass
class Case:
    """A loop over rows of 32-bit numbers: how many of each are read stands in an array."""

    pool: Pool
    nest: Nest
    address: Expr
    number: Expr

    @property
    def value(self) -> Expr:
        return self.pool.make("load", ("%c", "i32"), (self.address,))


def number(pool: Pool, name: str, offset: int, step: int) -> Expr:
    """The number that stands in the place of a pointer."""
    place = pool.op("mul", "i64", pool.counter(0), pool.const(step))
    at = pool.op("add", "ptr", pool.op("add", "ptr", pool.live("%rows", "ptr"), place), pool.const(offset))
    return pool.make("load", (f"{name}.row", "i64"), (read_at(pool, f"{name}.row", at),))


def read(name: str, address: Expr, inner: bool, *, type: str = "i64", size: int = 8, write: bool = False) -> Site:
    return Site(name, Write() if write else Read(), type, size, address, None, int(inner), ALWAYS, NOWHERE)


def case(rows: int, *further: Site, pool: Pool | None = None) -> Case:
    pool = pool or Pool()
    k = pool.counter(0)
    at = pool.op("add", "ptr", pool.live("%lengths", "ptr"), pool.op("mul", "i64", k, pool.const(8)))
    length = pool.make("load", ("%n", "i64"), (at,))
    row = number(pool, "%p", 0, 8)
    start = pool.op("add", "ptr", pool.live("@tc.rows0", "ptr"), pool.op("mul", "i64", row, pool.const(4)))
    address = pool.op("add", "ptr", start, pool.op("mul", "i64", pool.counter(1), pool.const(4)))

    def trip(bound: Expr) -> Expr:
        return pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), bound))

    sites = (
        read("%n", at, False),
        read("%p.row", row.args[0], False),
        read("%c", address, True, type="i32", size=4),
        *further,
    )
    loops = {0: loop(0, None, trip(pool.const(rows))), 1: loop(1, 0, trip(length))}
    return Case(pool, Nest("@f", 0, loops, sites, {}, {}, {}, pool), address, row)


def world(pointers: Sequence[int], lengths: Sequence[int], objects: dict[int, npt.NDArray[np.int32]]) -> Memory:
    parts: dict[int, npt.NDArray[np.uint8]] = {base: data.view(np.uint8) for base, data in objects.items()}
    parts[TABLE] = np.array(pointers, np.int64).view(np.uint8)
    parts[LENGTHS] = np.array(lengths, np.int64).view(np.uint8)
    return Memory([Object(base, data.size, HEAP) for base, data in parts.items()], parts)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[int], list[int], dict[int, npt.NDArray[np.int32]]]:
    """Pointers into objects, how many numbers are read from each, and the objects by address."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    order = draw(st.permutations(range(len(sizes))))
    bases = {place: ROWS + 64 * spot for spot, place in enumerate(order)}
    objects = {bases[place]: np.arange(size, dtype=np.int32) + 100 * place for place, size in enumerate(sizes)}
    pointers, lengths = [], []
    for _ in range(draw(st.integers(1, 8))):
        place = draw(st.integers(-1, len(sizes) - 1))
        first = draw(st.integers(0, sizes[place])) if place >= 0 else 0
        pointers.append(bases[place] + 4 * first if place >= 0 else 0)
        lengths.append(draw(st.integers(0, sizes[place] - first)) if place >= 0 else 0)
    return pointers, lengths, objects


@given(worlds())
@settings(deadline=None)
def test_rows_are_what_the_pointers_lead_to(
    made: tuple[list[int], list[int], dict[int, npt.NDArray[np.int32]]],
) -> None:
    pointers, lengths, objects = made
    if not any(pointers):
        return
    subject, memory = case(len(pointers)), world(pointers, lengths, objects)
    flat = flatten_memory(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False))
    everything = {at + 4 * k: int(v) for at, data in objects.items() for k, v in enumerate(data)}
    wanted = [everything[p + 4 * j] for p, n in zip(pointers, lengths, strict=True) for j in range(n)]
    lives = {**NAMES, **flat.lives}
    found = Evaluation(subject.nest, flat.memory, lives).at(subject.value, 1)
    assert found.all_known and np.array_equal(np.broadcast_to(found.data, len(wanted)), wanted)
    numbers = Evaluation(subject.nest, flat.memory, lives).at(subject.number, 0)
    assert [int(n) == 0 for n in np.broadcast_to(numbers.data, len(pointers))] == [p == 0 for p in pointers]
    reached = {base for base in objects if any(base <= p <= base + objects[base].nbytes for p in pointers if p)}
    kept = {item.base for item in memory.objects} - reached
    assert kept == {item.base for item in flat.memory.objects if item not in flat.memory.rows}
    asked, names = row_places(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False))
    assert {item.base for item, row in zip(memory.objects, asked, strict=True) if row} == reached
    again = row_places(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False), names)
    assert names and not again[0].any() and not again[1]


@given(worlds())
@settings(deadline=None)
def test_what_is_not_read_is_nothing(made: tuple[list[int], list[int], dict[int, npt.NDArray[np.int32]]]) -> None:
    pointers, lengths, objects = made
    if not any(lengths):
        return
    subject, memory = case(len(pointers)), world(pointers, lengths, objects)
    flat = flatten_memory(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False))
    lives = {**NAMES, **flat.lives}
    before = Evaluation(subject.nest, flat.memory, lives).at(subject.value, 1).data
    used = used_parts(Accesses(subject.nest, flat.memory, lives, single=False))
    assert np.array_equal(Evaluation(subject.nest, flat.memory, lives).at(subject.value, 1).data, before)
    reach = {p + 4 * n for p, n in zip(pointers, lengths, strict=True) if n}
    last = [
        max([r - base for r in reach if base < r <= base + data.nbytes], default=0) for base, data in objects.items()
    ]
    assert sorted(used["@tc.rows0"][used["@tc.rows0"] > 0]) == sorted(n for n in last if n)
    again = flatten_memory(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False), used=used)
    (here,), (there,) = flat.memory.rows.arenas, again.memory.rows.arenas
    one, other = flat.memory.bytes_of(here), again.memory.bytes_of(there)
    assert one is not None and other is not None and np.array_equal(one, other)


def test_null_is_told_from_other_pointers_to_nothing() -> None:
    pointers, checked = [ROWS, 0, 0x900000], replace(ONE, null_checked=True)
    subject, memory = case(3), world(pointers, [4, 0, 0], {ROWS: np.arange(4, dtype=np.int32)})
    for table, nothing in ((ONE, [0, 0]), (checked, [0, -1])):
        flat = flatten_memory(FlatScope(subject.nest, (table,), memory, NAMES, single=False))
        found = Evaluation(subject.nest, flat.memory, {**NAMES, **flat.lives}).at(subject.number, 0).data
        assert found[0] > 0 and found[1:].tolist() == nothing


def test_an_image_has_rows_at_their_distances() -> None:
    objects = {ROWS: np.arange(4, dtype=np.int32), ROWS + 256: np.arange(10, 14, dtype=np.int32)}
    pointers, lengths = [ROWS + 256, 0, ROWS + 4], [4, 0, 3]
    subject, memory = case(3), world(pointers, lengths, objects)

    def fill(data: npt.NDArray[np.uint8], bases: object, sizes: object, starts: npt.NDArray[np.int64]) -> None:
        for base, start in zip((ROWS, ROWS + 256), starts.tolist(), strict=True):
            data[start : start + 16] = objects[base].view(np.uint8)

    image = row_image(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False), fill)
    assert image is not None
    (numbers,) = (data.view(np.int64) for data in image.tables.values())
    assert numbers[1] == 0 and 4 * (numbers[0] - numbers[2]) == 252
    assert np.array_equal(image.data[4 * numbers[0] :][:16].view(np.int32), objects[ROWS + 256])


ROW = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize(
    ("pointers", "why"),
    [
        ([0x900000, 0], "lie in memory that is not known"),
        ([ROWS, ROWS + 2], "begin in the middle of an element"),
        ([ROWS, TABLE], "hold pointers to rows"),
    ],
)
def test_refused(pointers: list[int], why: str) -> None:
    subject, memory = case(2), world(pointers, [1, 1], {ROWS: ROW})
    with pytest.raises(UnsupportedError, match=why):
        flatten_memory(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False))


def test_two_tables_of_the_same_rows_are_refused() -> None:
    pool = Pool()
    other = number(pool, "%q", 8, 16)
    to = pool.op("add", "ptr", pool.live("@tc.rows1", "ptr"), pool.op("mul", "i64", other, pool.const(4)))
    site = read("%d", to, False, type="i32", size=4)
    subject, memory = case(2, site, pool=pool), world([ROWS, ROWS, 0, ROWS], [1, 1], {ROWS: ROW})
    tables = ONE, RowTable("@f", "@tc.rows1", 4, ("%q.row",))
    with pytest.raises(SharedRowsError, match="through two tables"):
        flatten_memory(FlatScope(subject.nest, tables, memory, NAMES, single=False))
    assert common_rows(FlatScope(subject.nest, tables, memory, NAMES, single=False)) == {
        frozenset({"%p.row", "%q.row"})
    }
    alone = world([ROWS, ROWS + 64, 0, ROWS], [1, 1], {ROWS: ROW, ROWS + 64: ROW})
    assert common_rows(FlatScope(subject.nest, (ONE,), alone, NAMES, single=False)) == frozenset()


@pytest.mark.parametrize("length", [0, 1])
def test_pointers_to_nothing_may_not_be_followed(length: int) -> None:
    subject, memory = case(2), world([ROWS, 0x900000], [4, length], {ROWS: ROW})
    flat = flatten_memory(FlatScope(subject.nest, (ONE,), memory, NAMES, single=False))
    accesses = Accesses(subject.nest, flat.memory, {**NAMES, **flat.lives}, single=False)
    if length:
        with pytest.raises(UnsupportedError, match="memory that is not known"):
            check_rows(accesses)
    else:
        check_rows(accesses)


@pytest.mark.parametrize("good", [True, False])
def test_ends_are_of_the_same_row(good: bool) -> None:
    pool = Pool()
    end = number(pool, "%e", 8, 8)
    to = pool.op("add", "ptr", pool.live("@tc.rows0", "ptr"), pool.op("mul", "i64", end, pool.const(4)))
    site = read("%d", to, False, type="i32", size=4)
    table = RowTable("@f", "@tc.rows0", 4, ("%p.row", "%e.row"), (("%p.row", "%e.row"),))
    pointers = [ROWS, ROWS + 8, ROWS + 12] if good else [ROWS, ROWS + 64, ROWS + 12]
    subject = case(2, site, pool=pool)
    memory = world(pointers, [2, 1], {ROWS: ROW, ROWS + 64: ROW})
    if good:
        flatten_memory(FlatScope(subject.nest, (table,), memory, NAMES, single=False))
    else:
        for bad, why in ((pointers, "different rows are compared"), ([8, 16, 24], "memory that is not known")):
            with pytest.raises(UnsupportedError, match=why):
                there = world(bad, [2, 1], {ROWS: ROW, ROWS + 64: ROW})
                flatten_memory(FlatScope(subject.nest, (table,), there, NAMES, single=False))


@pytest.mark.parametrize(
    ("write", "why"),
    [
        ("row", "a loop that runs as it is reaches them"),
        ("table", "are written"),
        ("beside", ""),
        ("read", "something else"),
    ],
)
def test_nobody_else_reaches_them(write: str, why: str) -> None:
    pool = Pool()
    row = number(pool, "%p", 0, 16)
    start = pool.op("add", "ptr", pool.live("@tc.rows0", "ptr"), pool.op("mul", "i64", row, pool.const(4)))
    table = row.args[0].args[0]
    field = pool.op("add", "ptr", table, pool.const(8))
    site = {
        "row": read("store:a:0", start, False, type="i32", size=4, write=True),
        "table": read("store:a:0", table, False, write=True),
        "beside": read("store:a:0", field, False, write=True),
        "read": read("%w", table, False),
    }[write]
    pointers = [ROWS, 5, ROWS, 6]
    nest = Nest(
        "@f",
        0,
        {0: loop(0, None, pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.const(2))))},
        (read("%p.row", row.args[0], False), read("%c", start, False, type="i32", size=4), site),
        {},
        {},
        {},
        pool,
    )
    memory = world(pointers, [1, 1], {ROWS: ROW})
    flat = flatten_memory(FlatScope(nest, (ONE,), memory, NAMES, single=False))
    accesses = Accesses(nest, flat.memory, {**NAMES, **flat.lives}, single=False)
    if why:
        with pytest.raises(UnsupportedError, match=why):
            check_rows(accesses)
            check_written_rows(accesses, [])
    else:
        check_rows(accesses)
        check_written_rows(accesses, [])
    check_written_rows(accesses, [0])
