"""The table of objects: from an address to the allocation that holds it, or to none."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.tracer.capture.snapshot import NEAR, Capture
from tracecut.tracer.legality.evaluation.contents import LiveBytes
from tracecut.tracer.legality.evaluation.memory import (
    DTYPES,
    GLOBAL,
    HEAP,
    MANY,
    STACK,
    Memory,
    Object,
    Table,
)
from tracecut.tracer.legality.live_memory import LiveObjects, apart, stack_objects
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.hook_slots import decode, named_numbers

from ...codegen.harness import Program, trace

SOURCE = Path(__file__).parents[1] / "programs" / "objects.c"


@dataclass(frozen=True)
class Allocation:
    """What the program said of its own memory."""

    name: str
    base: int
    size: int


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("objects")
    lines = folder / "lines"
    lines.write_text("x" * 90 + "\n")
    return trace(SOURCE.read_text(), folder, stdin=lines)


@pytest.fixture(scope="module")
def said(program: Program) -> dict[str, list[Allocation]]:
    found: dict[str, list[Allocation]] = {}
    for line in program.traced.finished.stdout.read_text().splitlines():
        name, base, size = line.split()
        found.setdefault(name, []).append(Allocation(name, int(base), int(size)))
    return found


@pytest.fixture(scope="module")
def capture(program: Program) -> Capture:
    return program.capture(program.loop("loop"))


OWN = "heap index grown kept many aligned posix paged old pointed out".split()


@pytest.mark.parametrize("name", OWN)
def test_heap(capture: Capture, said: dict[str, list[Allocation]], name: str) -> None:
    (expected,) = said[name]
    found = capture.memory.find(expected.base)
    assert found == Object(expected.base, expected.size, HEAP)
    assert capture.memory.find(expected.base + expected.size - 1) is found
    assert capture.memory.find(expected.base + expected.size) is not found


@pytest.mark.parametrize("name", ["fixed", "common"])
def test_globals(capture: Capture, said: dict[str, list[Allocation]], name: str) -> None:
    (expected,) = said[name]
    assert capture.memory.find(expected.base + 8) == Object(expected.base, expected.size, GLOBAL, f"@{name}")


def test_stack(program: Program, capture: Capture, said: dict[str, list[Allocation]]) -> None:
    (expected,) = said["local"]
    found = capture.memory.find(expected.base + 399)
    assert found is not None
    assert (found.base, found.size, found.kind) == (expected.base, expected.size, STACK)
    values = np.frombuffer(capture.memory.contents[found.base].tobytes(), np.int64)
    assert values.tolist() == [i * i for i in range(50)]


@pytest.mark.parametrize("name", ["gone", "text", "line"])
def test_what_is_freed_or_comes_from_the_library_is_no_object(
    capture: Capture, said: dict[str, list[Allocation]], name: str
) -> None:
    assert capture.memory.find(said[name][0].base) is None


def test_memory_that_the_library_gave_back_has_its_new_size(
    capture: Capture, said: dict[str, list[Allocation]]
) -> None:
    """getline frees the buffer that it was given, which no hook sees; malloc hands it out again."""
    (found,) = said["again"]
    assert capture.memory.find(found.base) == Object(found.base, 20, HEAP)


def test_no_two_objects_overlap(capture: Capture) -> None:
    assert all(a.end <= b.base for a, b in itertools.pairwise(capture.memory.objects))


def test_what_the_loop_touches_is_kept(capture: Capture, said: dict[str, list[Allocation]]) -> None:
    kept = set(capture.memory.contents)
    assert {said[name][0].base for name in ("out", "index", "heap", "fixed", "common", "local")} <= kept
    # Nor anything else, but for what happens to lie beside the library's memory, where a pointer may count from.
    strangers = [said[name][0].base for name in ("text", "line")]
    beside = {item.base for address in strangers for item in capture.memory.beside(address, NEAR) if item is not None}
    others = {said[name][0].base for name in ("aligned", "many", "grown", "kept", "posix")} - beside
    assert others and not others & kept
    index = np.frombuffer(capture.memory.contents[said["index"][0].base].tobytes(), np.int32)
    assert index.tolist() == [(i * 7) % 30 for i in range(30)]


def test_a_traced_program_ends_as_the_native_one_does(program: Program) -> None:
    finished = program.traced.finished
    assert finished.returncode == 0
    assert finished.stderr.read_text() == "done\n"


# ---- overlapping entries ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8))
def test_what_overlaps_is_dropped(ranges: list[tuple[int, int]]) -> None:
    objects = [Object(base, size, HEAP) for base, size in ranges if size]
    kept = apart(*(np.array([pair[at] for pair in ranges], np.int64) for at in (0, 1)), kinds_of(ranges), {})
    alone = [
        item
        for place, item in enumerate(objects)
        if not any(other.base < item.end and item.base < other.end for at, other in enumerate(objects) if at != place)
    ]
    assert list(kept) == sorted(alone, key=lambda item: item.base)


def kinds_of(objects: Sequence[object]) -> npt.NDArray[np.uint8]:
    return np.full(len(objects), HEAP, np.uint8)


def test_a_table_makes_the_objects_that_are_asked_for() -> None:
    bases, sizes = np.array([8, 32, 64], np.int64), np.array([8, 16, 4], np.int64)
    table = Table(bases, sizes, np.array([HEAP, GLOBAL, STACK], np.uint8), {32: "@x", 64: "%y"})
    all_of_them = [Object(8, 8, HEAP), Object(32, 16, GLOBAL, "@x"), Object(64, 4, STACK, "%y")]
    assert list(table) == all_of_them and table[1:] == all_of_them[1:] and table[-1] == all_of_them[2]
    assert table[2] is table[-1] is next(reversed(table)) and Memory(table, {}).find(65) is table[2]
    with pytest.raises(IndexError):
        table[3]


def test_live_bytes_are_read_where_they_are() -> None:
    data = np.arange(6, dtype=np.int64)
    base = data.ctypes.data
    table = apart(np.array([base + 16, base]), np.array([32, 16]), kinds_of("ab"), {})
    live = LiveBytes(table.bases, table.sizes, support().library)
    assert list(live) == [base, base + 16] and len(live) == 2
    data[2] = 77
    assert live[base].view(np.int64).tolist() == [0, 1] and live[base + 16].view(np.int64).tolist() == [77, 3, 4, 5]
    assert base + 8 not in live and base + 48 not in live
    some = live.only(np.array([1]))
    assert list(some) == [base + 16] and some[base + 16].view(np.int64).tolist() == [77, 3, 4, 5]
    memory = Memory(table, live)
    assert memory.read(base + 40, 8) == bytes([5, *[0] * 7]) and memory.read(base + 12, 8) is None


# ---- memory -------------------------------------------------------------------------------------------------


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    objects, contents = [], {}
    at = 0x1000
    for _ in range(draw(st.integers(0, 4))):
        at += draw(st.integers(0, 9))
        size = draw(st.integers(1, 40))
        objects.append(Object(at, size, HEAP))
        if draw(st.booleans()):
            contents[at] = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
        at += size
    if draw(st.booleans()):
        columns = (np.array([getattr(item, name) for item in objects], np.int64) for name in ("base", "size"))
        return Memory(Table(*columns, kinds_of(objects)), contents)
    return Memory(draw(st.permutations(objects)), contents)


def slow(memory: Memory, address: int, size: int) -> bytes | None:
    """Bytes at an address, byte by byte."""
    for item in memory.objects:
        if item.base <= address and address + size <= item.end and item.base in memory.contents:
            return bytes(memory.contents[item.base][address - item.base + byte] for byte in range(size))
    return None


@pytest.mark.parametrize("many", [1, MANY])
@settings(max_examples=150, deadline=None)
@given(
    memory=memories(),
    addresses=st.lists(st.integers(0xFF0, 0x10A0), max_size=12),
    type=st.sampled_from(sorted(DTYPES)),
)
def test_gathering_is_reading_one_after_the_other(memory: Memory, addresses: list[int], type: str, many: int) -> None:
    """With the compiled loop for many addresses and without."""
    dtype = DTYPES[type]
    with patch("tracecut.tracer.legality.evaluation.memory.MANY", many):
        values, ok = memory.gather(np.array(addresses, np.int64), type)
    inside = memory.inside(np.array(addresses, np.int64))
    for place, address in enumerate(addresses):
        expected = slow(memory, address, dtype.itemsize)
        assert bool(ok[place]) == (expected is not None)
        assert (values[place].tobytes() if ok[place] else None) == expected
        assert memory.read(address, dtype.itemsize) == expected
        holder = [item for item in memory.objects if item.base <= address < item.end]
        assert bool(inside[place]) == bool(holder)
        assert memory.find(address) is (holder[0] if holder else None)


@settings(max_examples=150, deadline=None)
@given(
    memories(),
    st.integers(0xFF0, 0x10A0),
    st.integers(-12, 12),
    st.integers(0, 6),
    st.sampled_from(sorted(DTYPES)),
)
def test_a_walk_is_reading_one_after_the_other(memory: Memory, start: int, step: int, count: int, type: str) -> None:
    size = DTYPES[type].itemsize
    found = memory.strided(start, step, count, type)
    expected = [slow(memory, start + step * place, size) for place in range(count)]
    places = [start + step * place for place in range(count)]
    homes = {memory.find(address) for address in places}
    readable = None not in expected and len(homes) <= 1
    assert (found is not None) == readable
    if found is not None:
        assert [value.tobytes() for value in found] == expected


@pytest.mark.parametrize(
    ("type", "raw", "number"),
    [
        ("i1", 0xFF, -1),
        ("i1", 2, 0),
        ("i8", 0x1FF, -1),
        ("i16", 0x8000, -32768),
        ("i32", 0xFFFFFFFF_00000007, 7),
        ("i64", (1 << 64) - 2, -2),
        ("ptr", 0x7FFF12345678, 0x7FFF12345678),
        ("double", 0x3FF8000000000000, 1.5),
        ("float", 0x3FC00000, 1.5),
    ],
)
def test_numbers_of_reported_slots(type: str, raw: int, number: float) -> None:
    assert decode([raw], [type]) == [number]
    assert named_numbers([("%a", type), ("%b", "<2 x i32>")], [raw, 5]) == {"%a": number}


@dataclass
class Lending:
    """As much of a nest as says what may be on the stack of a caller."""

    stack: dict[str, int]
    lent: tuple[tuple[Expr, int], ...]


def test_loaded_pointers_lead_to_variables_of_callers() -> None:
    """`this->function->problem`: a function on the heap, whose problem is on the stack again; and a pointer to none."""
    pool = Pool()
    this = pool.live("%this", "ptr")

    def behind(pointer: Expr, offset: int) -> Expr:
        return pool.make("load", ("%a", "ptr"), (pool.op("add", "ptr", pointer, pool.const(offset)),))

    function = behind(this, 8)
    nest = Lending({"%this": 16}, ((function, 24), (behind(function, 16), 32), (behind(this, 0), 8)))
    memory = {1008: 7000, 7016: 1040, 1000: 0}

    def found(known: dict[int, int], lives: dict[str, int]) -> list[tuple[int, int]]:
        def read(address: int) -> bytes | None:
            return known[address].to_bytes(8, "little") if address in known else None

        made = stack_objects([(nest, lives)], lambda: (900, 1100), read)  # type: ignore[list-item]
        assert {item.kind for item in made} <= {STACK}
        return [(item.base, item.size) for item in made]

    assert found(memory, {"%this": 1000}) == [(1000, 16), (1040, 32)]
    assert found(memory | {7016: 1008}, {"%this": 1000}) == [(1000, 40)]  # they share bytes
    assert found(memory | {7016: 1080}, {"%this": 1000}) == [(1000, 16)]  # more than the stack has
    assert found({1008: 7000}, {"%this": 1000}) == [(1000, 16)]
    assert found(memory, {"%this": 8000}) == found(memory, {}) == []


def test_objects_are_listed_again_only_after_one_came_or_went() -> None:
    library = support().library
    library.tc_malloc.restype = ctypes.c_void_p
    objects = LiveObjects(library, [])
    before = objects.all()
    assert objects.all() is before
    base = library.tc_malloc(ctypes.c_size_t(40))
    after = objects.all()
    assert objects.all() is after
    assert {(item.base, item.size) for item in after} - {(item.base, item.size) for item in before} == {(base, 40)}
    library.tc_free(ctypes.c_void_p(base))
    assert all(item.base != base for item in objects.all())
