"""The run-time support and the linker: what they do, and what they say when something is missing."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.support.errors import SourceError
from tracecut.tracer.runtime import binding, link
from tracecut.tracer.runtime.binding import OPERATORS, TYPES, Native, Plan, support, take_support
from tracecut.tracer.runtime.buffers import LARGE, Block
from tracecut.tracer.runtime.context import Context
from tracecut.tracer.runtime.hooks import MISMATCH, RegionState, Tables
from tracecut.tracer.runtime.link import executable, find_library, runtime_object, shared_library, take_runtime
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.toolchain.passes import emit_object

CPU = min(os.sched_getaffinity(0))
MAIN = "define i32 @main() {\n  ret i32 0\n}\n"
CALLS = """
declare i32 @nowhere_to_be_found(i32)
define i32 @main() {
  %x = call i32 @nowhere_to_be_found(i32 1)
  ret i32 %x
}
"""


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 70),
    size=st.sampled_from([1, 2, 3, 4, 8, 12, 16, 24, 32, 40]),
    threads=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_records_are_gathered_scattered_and_put_back(count: int, size: int, threads: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    source = draw.integers(0, 256, (count, size)).astype(np.uint8)
    index = draw.permutation(count).astype(np.int32)
    target = np.zeros_like(source)
    native = support()
    native.move(target.ctypes.data, source.ctypes.data, index, size, threads=threads)
    np.testing.assert_array_equal(target, source[index])
    back = np.zeros_like(source)
    native.move(back.ctypes.data, target.ctypes.data, index, size, threads=threads, scatter=True)
    np.testing.assert_array_equal(back, source)
    array, room = source.copy(), np.zeros_like(source)
    native.permute(array.ctypes.data, room.ctypes.data, index, size, threads=threads)
    np.testing.assert_array_equal(array, source[index])
    native.permute(array.ctypes.data, room.ctypes.data, index, size, threads=threads, scatter=True)
    np.testing.assert_array_equal(array, source)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_memory_that_was_never_written_is_permuted(threads: int) -> None:
    with contextlib.closing(mmap.mmap(-1, 5 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) as pages:
        array = np.frombuffer(pages, np.float64)[3:-5]  # begins and ends inside of a page
        array[[1, 1700]] = 1.0, 2.0
        index = np.arange(array.size, dtype=np.int32)[::-1].copy()
        room = np.full(array.size, -1.0)
        support().permute(array.ctypes.data, room.ctypes.data, index, 8, threads=threads)
        expected = np.zeros(array.size)
        expected[[-2, -1701]] = 1.0, 2.0
        np.testing.assert_array_equal(array, expected)
        del array


def test_no_room_is_an_error_of_memory() -> None:
    for count in (1 << 58, 1 << 62):  # more than the system maps, and more than can be asked for
        with pytest.raises(MemoryError, match="bytes for a copy"):
            Block.room(count, 8)


@pytest.mark.parametrize("size", [8, LARGE])
def test_a_child_of_the_program_does_not_write_into_the_rooms_of_its_parent(size: int) -> None:
    room = Block.room(size, 1)
    ctypes.memset(room.address, 1, size)
    child = os.fork()
    if not child:
        ctypes.memset(room.address, 2, size)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert set(ctypes.string_at(room.address, size)) == {1}


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 6), max_size=20),
    size=st.sampled_from([1, 4, 8, 20]),
    seed=st.integers(0, 99),
    threads=st.sampled_from([1, 2, 3, 70]),
)
def test_pieces_are_copied_one_behind_the_other(lengths: list[int], size: int, seed: int, threads: int) -> None:
    draw = np.random.default_rng(seed)
    length = np.array(lengths, np.int32)
    first = np.concatenate([[0], np.cumsum(length)])[: length.size].astype(np.int64)
    source = draw.integers(0, 256, (int(length.sum()), size)).astype(np.uint8)
    order = draw.permutation(length.size).astype(np.int32)
    target = np.zeros_like(source)
    with Context([CPU] * 3) as context:
        native = context.native
        native.move_pieces(target.ctypes.data, source.ctypes.data, order, first, length, size, threads=threads)
    expected = [source[first[row] : first[row] + length[row]] for row in order]
    np.testing.assert_array_equal(target, np.concatenate([np.zeros((0, size), np.uint8), *expected]))


@pytest.mark.parametrize("size", [0, 1, 7, 4096, LARGE + 5])
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_shares_of_threads_are_the_whole(size: int, threads: int) -> None:
    """What is copied is copied to its last byte, and nothing behind it; touching changes no byte."""
    source = np.random.default_rng(size).integers(0, 256, size + 1).astype(np.uint8)
    target = np.zeros_like(source)
    with Context([CPU] * 3) as context:
        context.native.copy(target.ctypes.data, source.ctypes.data, size, threads=threads)
        given = Block.of(source.astype("i4"), "i4")
        touched = context.native.touch(given, threads=threads)
    assert np.array_equal(target[:size], source[:size]) and target[size] == 0
    assert touched.numbers() == source.tolist()


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 6), max_size=20),
    more=st.integers(0, 1),
    width=st.sampled_from([2, 4, 8]),
    stride=st.integers(8, 12),
    seed=st.integers(0, 99),
)
def test_arithmetic_on_orders_and_pieces_is_that_of_numpy(
    lengths: list[int], more: int, width: int, stride: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    native, length = support(), np.array(lengths, np.int32)
    jobs = length.size
    order = draw.permutation(jobs).astype(np.int32)
    first = draw.integers(0, 100, jobs)
    room = np.zeros(jobs * stride, np.uint8)
    np.ndarray((jobs,), np.dtype(f"i{width}"), room.data, 0, (stride,))[:] = first - 50
    at, pieces = Block.of(order, "i4"), Block.of(length, "i4")
    starts = native.widened(room.ctypes.data, jobs, stride, width)
    assert starts.numbers() == (first - 50).tolist()
    assert native.inverse(at).numbers() == np.argsort(order).tolist()
    assert native.shifted(at, 3).numbers() == (order - 3).tolist()
    assert native.reversed(at).numbers() == (jobs - 1 - order)[::-1].tolist()
    busy = length > 0
    spans = [first[busy] - 50, first[busy] - 50 + length[busy]]
    expected = (int(spans[0].min()), int(spans[1].max()), int(length.sum())) if busy.any() else (0, 0, 0)
    assert native.piece_range(starts, pieces) == expected
    for ends in (False, True):
        sums = np.cumsum(length[order])
        new = sums if ends else np.concatenate([[0], sums])
        old = (first - 50 + ends * length)[order]
        beyond = old[-1:] + length[order[-1:]]
        count = jobs + (more if jobs else 0)
        written = [
            native.piece_offsets(at, pieces, min(count, new.size), width, ends=ends),
            native.piece_places(at, starts, pieces, count, width, ends=ends),
        ]
        for block, numbers in zip(written, [new, np.concatenate([old, beyond])], strict=True):
            kind: Any = np.ctypeslib.as_array((ctypes.c_uint8 * block.bytes).from_address(block.address))
            assert kind.view(f"i{width}").tolist() == numbers[: block.count].tolist()


def test_blocks_are_what_an_array_holds() -> None:
    """Without a copy where it lies in order; large ones begin at a page, small ones hold as much as was asked for."""
    array = np.arange(10, dtype=np.int32)
    block = Block.of(array, "i4")
    assert (block.address, block.count, block.width) == (array.ctypes.data, 10, 4)
    assert Block.of(array[::2], "i4").numbers() == [0, 2, 4, 6, 8] and Block.of(array, "i8").numbers() == [*range(10)]
    assert block.part(3, 2).numbers() == [3, 4]
    assert Block.of((ctypes.c_int32 * 3)(1, -2, 3), "i4").numbers() == [1, -2, 3]
    with pytest.raises(ValueError, match="items of 4 bytes, 8 were expected"):
        Block.of(block, "i8")
    large = Block.room(LARGE, 4)
    assert large.address % 4096 == 0 and large.bytes == 4 * LARGE and set(large.numbers()) == {0}


@settings(max_examples=40, deadline=None)
@given(
    width=st.sampled_from([1, 2, 4, 8]),
    stride=st.integers(8, 20),
    low=st.integers(-20, 5),
    span=st.integers(0, 30),
    threads=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_indices_inside_of_the_space_are_renumbered_and_no_others(
    width: int, stride: int, low: int, span: int, threads: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    count = 50
    room = draw.integers(0, 256, count * stride).astype(np.uint8)
    field = np.ndarray((count,), np.dtype(f"i{width}"), room.data, 0, (stride,))
    field[:] = draw.integers(-30, 40, count)
    before, others = field.copy(), room.copy()
    ranks = draw.permutation(span).astype(np.int32)
    support().renumber(room.ctypes.data, count, stride, width, ranks, low, low + span, threads=threads)
    expected = [ranks[v - low] + low if low <= v < low + span else v for v in before.tolist()]
    np.testing.assert_array_equal(field, expected)
    np.ndarray((count,), field.dtype, others.data, 0, (stride,))[:] = field
    np.testing.assert_array_equal(room, others)


def test_a_loop_is_declined_while_exceptions_trap() -> None:
    """A trap that is set inside of a scope: the host puts the data back, and the original loop runs."""
    library = support().library
    libm = ctypes.CDLL("libm.so.6")
    tables = Tables(library, 1)
    plan = Plan()  # is not run
    told: list[tuple[int, int, int]] = []
    call = MISMATCH(lambda region, slot: told.append((region, slot, libm.fegetexcept())))
    slots = (ctypes.c_uint64 * 1)()
    ctypes.c_void_p.in_dll(library, "tc_on_mismatch").value = ctypes.cast(call, ctypes.c_void_p).value
    tables.plans[0] = ctypes.addressof(plan)
    invalid = 1
    try:
        assert libm.feenableexcept(invalid) == 0
        taken = library.tc_region(0, slots, slots)
        assert libm.fegetexcept() == invalid, "it is the program's still"
    finally:
        libm.fedisableexcept(invalid)
        tables.set("tc_regions", 0)
    assert taken == 0
    assert told == [(0, -1, 0)]  # and none traps in the host's own work


@pytest.mark.parametrize(("align", "size"), [(1, 10), (3, 10), (24, 100), (4096, 1)])
def test_memory_is_given_as_the_c_library_gives_it(align: int, size: int) -> None:
    """Also for alignments that are no powers of two."""
    library, libc = support().library, ctypes.CDLL(None)
    library.tc_memalign.restype = library.tc_valloc.restype = libc.memalign.restype = ctypes.c_void_p
    theirs, ours = libc.memalign(align, size), library.tc_memalign(align, size)
    assert theirs and ours and (ours & -ours) >= align // 2
    page = library.tc_valloc(size)
    assert page % 4096 == 0
    for pointer in (ours, page):
        library.tc_free(ctypes.c_void_p(pointer))
    libc.free(ctypes.c_void_p(theirs))


def test_the_structures_are_as_large_as_those_of_the_c_code() -> None:
    for name, structure in (("tc_plan_bytes", Plan), ("tc_region_state_bytes", RegionState)):
        assert ctypes.c_int64.in_dll(support().library, name).value == ctypes.sizeof(structure)
    assert sorted(set(TYPES.values())) == list(range(6))
    assert set(OPERATORS.values()) == set(range(max(OPERATORS.values()) + 1))


def test_a_missing_function_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere_to_be_found"):
        shared_library([emit_object(CALLS, optimise=False), runtime_object()], Flags(), tmp_path / "a.so")
    assert not (tmp_path / "a.so").exists()


def test_a_program_without_main_is_named(tmp_path: Path) -> None:
    code = emit_object("define i32 @f() {\n  ret i32 0\n}\n", optimise=False)
    with pytest.raises(SourceError, match="no main function"):
        executable([code], Flags(), tmp_path / "a")


def test_a_damaged_object_is_an_error_with_a_name(tmp_path: Path) -> None:
    good = emit_object(MAIN, optimise=False)
    for data in (b"no object at all", good[: len(good) // 2], good[:16] + bytes(len(good) - 16)):
        with pytest.raises(SourceError):
            shared_library([data], Flags(), tmp_path / "a.so")


def test_libraries_are_found_in_their_folders_first(tmp_path: Path) -> None:
    mine = tmp_path / "libm.so"
    mine.write_bytes(b"\x7fELF")
    assert find_library("m", Flags(library_folders=(str(tmp_path),))) == mine
    assert find_library("m", Flags()) != mine
    with pytest.raises(SourceError, match="-lno_such_library_anywhere"):
        find_library("no_such_library_anywhere", Flags())


def test_linker_scripts_are_passed_over(tmp_path: Path) -> None:
    """`libm.so` of a development package may be a text; the library itself lies beside it."""
    found = find_library("m", Flags())
    assert found.read_bytes()[:4] == b"\x7fELF"


def test_a_linked_library_can_be_loaded_and_has_the_support(tmp_path: Path) -> None:
    path = shared_library([emit_object(MAIN, optimise=True), runtime_object()], Flags(), tmp_path / "sub" / "a.so")
    library = ctypes.CDLL(str(path))
    assert Native(library).library is library
    assert library.tc_execute is not None
    with pytest.raises(AttributeError):
        _ = library.tc_no_such_thing


def test_the_runtime_is_compiled_once_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is handed it does not make it again, and all that link it get what was handed in."""
    made: list[Path] = []
    monkeypatch.setattr(link, "_RUNTIME", [])
    monkeypatch.setattr(link, "support_object", lambda source, options: made.append(source) or b"made")
    assert runtime_object() == runtime_object() == b"made" and len(made) == 1
    take_runtime(b"handed in")
    assert runtime_object() == b"handed in" and len(made) == 1


def test_a_library_that_was_made_elsewhere_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared_library([runtime_object()], Flags(), tmp_path / "support.so")
    monkeypatch.setattr(binding, "_GIVEN", [])
    monkeypatch.setattr(link, "shared_library", None)  # nothing is linked here
    own = support()
    try:
        take_support(path)
        handed = support()
        assert handed is not own and handed is support()
        target, source = np.zeros((2, 8), np.uint8), np.arange(16, dtype=np.uint8).reshape(2, 8)
        handed.move(target.ctypes.data, source.ctypes.data, np.array([1, 0], np.int32), 8, threads=1)
        np.testing.assert_array_equal(target, source[::-1])
    finally:
        binding._GIVEN.clear()
        support.cache_clear()
