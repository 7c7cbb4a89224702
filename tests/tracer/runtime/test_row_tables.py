"""Rows of a running program, looked up in machine code: against loops in Python, and what is refused."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.row_arenas import PAGE, CopiedRows, ranges_of
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.buffers import Block
from tracecut.tracer.runtime.row_tables import Column, RowTables

pytestmark = pytest.mark.quick


@dataclass
class World:
    """Objects in a room of this process, one of them a table of pointers."""

    room: npt.NDArray[np.uint64]
    objects: list[tuple[int, int]]  # offset in the room, bytes
    pointers: list[int]
    copy: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self.table = np.array(self.pointers, np.uint64)
        self.copy = np.full(len(self.pointers), -5, np.int64)

    @property
    def places(self) -> list[tuple[int, int]]:
        start = int(self.room.ctypes.data)
        table = (int(self.table.ctypes.data), int(self.table.nbytes))
        return [*((start + offset, size) for offset, size in self.objects), table]

    def column(self, first: int, stride: int, count: int, pair: int = -1) -> Column:
        at, copy = int(self.table.ctypes.data), int(self.copy.ctypes.data)
        return Column(at, self.table.nbytes, copy, first, stride, count, None, pair)

    def listed(self, offsets: npt.NDArray[np.int64]) -> Column:
        at, copy = int(self.table.ctypes.data), int(self.copy.ctypes.data)
        return Column(at, self.table.nbytes, copy, 0, 0, offsets.size, int(offsets.ctypes.data), -1)


ROOM = np.zeros(4096, np.uint64)
START = int(ROOM.ctypes.data)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, list[list[int]]]:
    """Objects, pointers into them or to nothing, and which of these each column names."""
    slots = draw(st.lists(st.integers(0, 400), min_size=1, max_size=12, unique=True))
    objects = [(64 * slot, 4 * draw(st.integers(1, 16))) for slot in slots]
    pointers = []
    for _ in range(draw(st.integers(1, 12))):
        place = draw(st.integers(-1, len(objects) - 1))
        inside = 4 * draw(st.integers(0, 16)) if place >= 0 else 0
        pointers.append(0 if place < 0 else START + objects[place][0] + min(inside, objects[place][1]))
    columns = draw(st.lists(st.lists(st.integers(0, len(pointers) - 1), max_size=12), min_size=1, max_size=3))
    return World(ROOM, objects, pointers), columns


def row_of(pointer: int, objects: Sequence[tuple[int, int]]) -> int | None:
    """The object that begins last at or before a pointer, if it lies there or ends it."""
    before = [(base, size) for base, size in objects if base <= pointer]
    base, size = max(before, default=(0, -1))
    return base if pointer <= base + size else None


@settings(deadline=None, max_examples=300)
@given(made=worlds(), unit=st.sampled_from([1, 2, 4, 12]), part=st.booleans())
def test_rows_are_numbered_as_they_are_named(made: tuple[World, list[list[int]]], unit: int, part: bool) -> None:
    world, named = made
    offsets = [np.array(places, np.int64) * 8 for places in named]
    order: dict[int, int] = {}
    for place in (place for places in named for place in places):
        base = row_of(world.pointers[place], world.places)
        if base is not None:
            order.setdefault(base, len(order))
    sizes = dict(world.places)
    step, starts, at = int(np.lcm(16, unit)), {}, int(np.lcm(16, unit))
    for base in order:
        starts[base], at = at, at + -(-sizes[base] // step) * step
    used = np.arange(len(order), dtype=np.int64) * 4
    tables = RowTables(support().library, world.places)
    given_used = Block.of(used, "i8") if part else None
    columns = [world.listed(found) for found in offsets]
    numbers = {}
    for place in {place for places in named for place in places}:
        base = row_of(world.pointers[place], world.places)
        numbers[place] = 0 if base is None else world.pointers[place] - base + starts[base]
    if not order or any(number % unit for number in numbers.values()):
        with pytest.raises(UnsupportedError, match="not known" if not order else "middle of an element"):
            tables.arena(columns, unit, step, step, given_used)
        return
    found = tables.arena(columns, unit, step, step, given_used)
    assert found.size == at
    assert found.places.numbers() == list(order) and found.starts.numbers() == list(starts.values())
    copied = [min(sizes[base], int(most)) if part else sizes[base] for base, most in zip(order, used, strict=True)]
    assert found.parts.numbers() == copied
    for place in range(len(world.pointers)):
        assert world.copy[place] == (numbers[place] // unit if place in numbers else -5)
    rows = CopiedRows("", 0, np.array(list(order)), np.array(copied), np.array(list(starts.values())))
    assert tables.ranges(found) == ranges_of(rows)
    inside = tables.find([base for base, _ in world.places])
    assert inside == [(0, 0) if base in order else (base, size) for base, size in world.places]


@settings(deadline=None, max_examples=200)
@given(made=worlds(), unit=st.sampled_from([1, 4, 8, 12]))
def test_pointers_into_one_array_are_numbered_where_it_lies(made: tuple[World, list[list[int]]], unit: int) -> None:
    world, named = made
    pointers = [world.pointers[place] for places in named for place in places]
    rows = {row_of(pointer, world.places) for pointer in pointers}
    tables = RowTables(support().library, world.places)
    offsets = [np.array(places, np.int64) * 8 for places in named]
    columns = [world.listed(found) for found in offsets]
    base = next(iter(rows)) if len(rows) == 1 else None
    if base is None or any((pointer - pointers[0]) % unit for pointer in pointers):
        with pytest.raises(UnsupportedError, match=r"one array|middle of an element|memory that is not known"):
            tables.in_place(columns, unit)
        return
    found, size, start = tables.in_place(columns, unit)
    assert (found, size) in world.places and found == base and start == (pointers[0] - base) % unit
    for places in named:
        for place in places:
            assert base + start + unit * int(world.copy[place]) == world.pointers[place]
    assert tables.find([base]) == [(base, size)]  # it is an array as any other one
    with pytest.raises(UnsupportedError, match="through two tables"):
        tables.arena(columns, 1, 16, 16, None)
    assert tables.in_place(columns, unit) == (found, size, start)


def test_null_is_told_from_other_pointers_to_nothing() -> None:
    for checked, nothing in ((False, 0), (True, -1)):
        world = World(ROOM, [(64, 64)], [START + 64, 0, 8])
        tables = RowTables(support().library, world.places)
        tables.arena([world.column(0, 8, 3)], 4, 16, 16, None, null_checked=checked)
        assert world.copy.tolist() == [4, 0, nothing]


ONE, OTHER = START + 64, START + 256
OBJECTS = [(64, 64), (256, 64)]


def refused(pointers: list[int], *columns: tuple[int, int, int, int], unit: int = 4) -> None:
    world = World(ROOM, OBJECTS, pointers)
    RowTables(support().library, world.places).arena([world.column(*column) for column in columns], unit, 16, 16, None)


@pytest.mark.parametrize(
    ("pointers", "columns", "why"),
    [
        ([ONE, ONE], [(0, 8, 3, -1)], "loaded from several objects"),
        ([ONE, ONE], [(-8, 8, 2, -1)], "loaded from several objects"),
        ([8, 16], [(0, 8, 2, -1)], "memory that is not known"),
        ([ONE, ONE + 2], [(0, 8, 2, -1)], "middle of an element"),
        ([ONE, OTHER], [(0, 16, 1, -1), (8, 16, 1, 0)], "different rows are compared"),
        ([ONE, 8, ONE, 16], [(0, 8, 2, -1), (16, 8, 2, 0)], "memory that is not known"),
    ],
)
def test_refused(pointers: list[int], columns: list[tuple[int, int, int, int]], why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        refused(pointers, *columns)


def test_ends_of_the_same_rows_may_be_compared() -> None:
    refused([ONE, ONE + 64, OTHER + 4, OTHER + 8, 24, 24], (0, 16, 3, -1), (8, 16, 3, 0))


def test_no_two_tables_have_a_row_and_none_is_one() -> None:
    world = World(ROOM, OBJECTS, [ONE, OTHER])
    tables = RowTables(support().library, world.places)
    first = tables.arena([world.column(0, 8, 1)], 4, 16, 16, None)
    tables.require_no_row([OTHER, int(world.table.ctypes.data)])
    with pytest.raises(UnsupportedError, match="hold pointers to rows"):
        tables.require_no_row([ONE])
    second = tables.arena([world.column(8, 8, 1)], 4, 16, 16, None)
    assert (first.places.numbers(), second.places.numbers()) == ([ONE], [OTHER])
    with pytest.raises(UnsupportedError, match="through two tables"):
        tables.arena([world.column(8, 8, 1)], 4, 16, 16, None)


def test_what_was_copied_is_no_array_that_stays() -> None:
    world = World(ROOM, OBJECTS, [ONE, ONE + 8])
    tables = RowTables(support().library, world.places)
    tables.arena([world.column(0, 8, 2)], 4, 16, 16, None)
    with pytest.raises(UnsupportedError, match="through two tables"):
        tables.in_place([world.column(0, 8, 2)], 4)


def test_many_objects_in_distant_stretches_are_found() -> None:
    """By addresses alone: nothing of them is read."""
    draw = np.random.default_rng(5)
    stretches = [int(low) << 30 for low in draw.choice(1 << 12, 24, replace=False)]
    places = {low + 48 * int(at): 16 for low in stretches for at in draw.integers(0, 1 << 16, 200)}
    tables = RowTables(support().library, list(places.items()))
    asked = [base + shift for base in places for shift in (-1, 0, 15, 16)]
    holding = [
        next(((base, 16) for base in (at, at - 15, at + 1) if base in places and base <= at), (0, 0)) for at in asked
    ]
    assert tables.find(asked) == holding
    assert tables.find([0, (1 << 48) - 1]) == [(0, 0), (0, 0)]


def test_rows_over_pages_are_one_range() -> None:
    room = np.zeros(6 * PAGE, np.uint8)
    low = -(-int(room.ctypes.data) // PAGE) * PAGE
    world = World(ROOM, [], [low + 3 * PAGE, low, low + PAGE - 8])
    places = [(low, 8), (low + PAGE - 8, 16), (low + 3 * PAGE, 8), *world.places]
    tables = RowTables(support().library, places)
    rows = tables.arena([world.column(0, 8, 3)], 4, 16, 16, None)
    assert tables.ranges(rows) == [(low, 2 * PAGE), (low + 3 * PAGE, PAGE)]


def test_the_table_counts_its_changes() -> None:
    """So that what was found in it is known to be as it was."""
    library = support().library
    library.tc_malloc.restype = ctypes.c_void_p

    def generation() -> int:
        return ctypes.c_uint64.in_dll(library, "tc_generation").value

    before = generation()
    base = library.tc_malloc(ctypes.c_size_t(24))
    after = generation()
    library.tc_free(ctypes.c_void_p(base))
    assert before < after < generation()
