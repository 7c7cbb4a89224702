"""The accesses of each warp against those that the kernel's text says, access by access."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation.consumers import FUNCTION
from tracecut.codegen.emulation.run_kernel import CompiledConsumer, WarpAccesses, kernel_sites, run_kernel
from tracecut.ir.gpu.sites import Sites
from tracecut.support.errors import ArgumentError, UnsupportedError

from .kernels import PRELOAD, kernel
from .launching import preload_case
from .test_run_kernel import PRIVATE, TREE

MODES: list[dict[str, Any]] = [{"mode": "phases"}, {"mode": "strict"}, {"mode": "strict", "seed": 3, "races": True}]
every_mode = pytest.mark.parametrize("how", MODES, ids=["phases", "strict", "races"])
Events = dict[int, list[tuple[int, int]]]


def traced(text: str, arguments: list[Any], grid: Any, block: int, shared: int, **how: Any) -> tuple[Events, int]:
    """thread of the grid → its (site, address); and the number of events that the report has."""
    found: Events = {}

    def take(warps: Sequence[WarpAccesses]) -> None:
        assert len({warp.block for warp in warps}) == 1 and [w.warp for w in warps] == list(range(len(warps)))
        for warp in warps:
            assert warp.first[0] == 0 and warp.first[32] == len(warp.site) == len(warp.address)
            for lane in range(min(32, block - 32 * warp.warp)):
                part = slice(warp.first[lane], warp.first[lane + 1])
                events = list(zip(warp.site[part].tolist(), warp.address[part].tolist(), strict=True))
                found[warp.block * block + 32 * warp.warp + lane] = events

    report = run_kernel(text, "k", arguments, grid, block, shared, trace=take, **how)
    return found, report.events


@every_mode
@pytest.mark.parametrize("block", [1, 40, 64])
def test_preload(how: dict[str, Any], block: int) -> None:
    blocks = 3
    arguments, shared, expected = preload_case(blocks, block)
    n, value, local, row, start, ids, x = arguments
    y = np.zeros(len(expected), np.float32)
    found, events = traced(PRELOAD, [*arguments, y], blocks, block, shared, **how)
    assert sorted(found) == list(range(blocks * block)) and events == sum(map(len, found.values()))
    bases = {name: array.ctypes.data for name, array in zip("vcrfix", (value, local, row, start, ids, x), strict=True)}
    for thread, seen in found.items():
        b, t = divmod(thread, block)
        wanted = [(0, bases["f"] + 4 * b), (1, bases["f"] + 4 * b + 4)]
        for place in range(start[b] + t, start[b + 1], block):
            wanted += [
                (2, bases["i"] + 4 * place),
                (3, bases["x"] + 4 * int(ids[place])),
                (4, 4 * int(place - start[b])),
            ]
        if thread < n:
            wanted += [(5, bases["v"] + 4 * thread), (6, bases["c"] + 2 * thread), (7, bases["r"] + 4 * thread)]
            wanted += [(8, 4 * int(local[thread])), (9, y.ctypes.data + 4 * int(row[thread]))]
        assert seen == wanted


def test_sites_of_preload() -> None:
    sites = kernel_sites(PRELOAD, "k")
    assert sites.space.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert sites.kind.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 2]
    assert sites.bytes.tolist() == [4, 4, 4, 4, 4, 4, 2, 4, 4, 4]
    assert sites.hint.tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 0, 0]
    assert set(sites.where) == {""} and len(sites) == 10


@every_mode
def test_loops_of_barriers_keep_the_order_of_each_lane(how: dict[str, Any]) -> None:
    """Against the same kernel run with one thread after the other: the events of one thread do not depend on others."""
    out = np.zeros(64, np.int64)
    found, _ = traced(TREE, [np.arange(4000), out, 2], 2, 32, 0, **how)
    for thread, seen in found.items():
        sites = [site for site, _ in seen]
        turn = [0, 1]
        for half in (16, 8, 4, 2, 1):
            turn += [2, 3, 4] if thread % 32 < half else []
        assert sites == [*turn, 5, *turn, 5, 6]
        assert seen[0][1] == seen[len(turn) + 1][1] - 8000


def test_private_memory_is_no_event() -> None:
    found, events = traced(PRIVATE, [80, np.arange(80), np.zeros(80, np.int64)], 2, 40, 0)
    assert events == 2 * 80 and {site for seen in found.values() for site, _ in seen} == {0, 1}


def test_numbers_and_lines_of_the_emitter() -> None:
    """Stated numbers stay; accesses without one come behind them; hints of the text are seen."""
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        """
  %a = load i32, ptr addrspace(1) %in, align 4, !tc.site !{i32 2}, !nontemporal !{i32 1}
  %b = load i32, ptr addrspace(1) %in, align 4
  %c = add i32 %a, %b
  store i32 %c, ptr addrspace(1) %out, align 4, !tc.site !{i32 0}
  ret void
""",
    )
    given = Sites.of(
        [("global", "store", 4, "", "a.c:1"), ("shared", "atomic", 8, "", "a.c:2"), ("global", "load", 4, "", "a.c:3")]
    )
    sites = kernel_sites(text, "k", given)
    assert sites.where == ("a.c:1", "a.c:2", "a.c:3", "")
    assert (sites.kind.tolist(), sites.hint.tolist()) == ([1, 2, 0, 0], [0, 0, 2, 0])
    assert (sites.space.tolist(), sites.bytes.tolist()) == ([0, 1, 0, 0], [4, 8, 4, 4]), "1 is not in the text"
    found, _ = traced(text, [np.zeros(1, np.int32), np.zeros(1, np.int32)], 1, 1, 0, sites=given)
    assert [site for site, _ in found[0]] == [2, 3, 0]


def test_lines_of_debug_information() -> None:
    text = kernel("ptr addrspace(1) %in", "  %a = load i32, ptr addrspace(1) %in, align 4, !dbg !9\n  ret void")
    text = (
        text.replace("@k(ptr addrspace(1) %in) {", "@k(ptr addrspace(1) %in) !dbg !5 {")
        + """
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!3}
!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: FullDebug)
!2 = !DIFile(filename: "kernel.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "k", file: !2, line: 1, type: !6, unit: !1, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !7)
!7 = !{null}
!9 = !DILocation(line: 12, column: 3, scope: !5)
"""
    )
    assert kernel_sites(text, "k").where == ("kernel.c:12",)


def test_compiled_consumers_count() -> None:
    """Machine code with a state of its own."""
    counted = np.zeros(3, np.int64)

    def count(state: int, block: int, warp: int, first: Any, site: Any, address: Any) -> None:
        cells = np.ctypeslib.as_array(ctypes.cast(state, ctypes.POINTER(ctypes.c_int64)), (3,))
        cells[0] += 1
        cells[1] += first[32]
        cells[2] = block

    function = FUNCTION(count)
    consumer = CompiledConsumer(
        ctypes.cast(function, ctypes.c_void_p).value or 0, counted.ctypes.data, (function, counted)
    )
    arguments, shared, expected = preload_case(2, 64)
    y = np.zeros(len(expected), np.float32)
    report = run_kernel(PRELOAD, "k", [*arguments, y], 2, 64, shared, trace=consumer)
    assert counted.tolist() == [4, report.events, 1]


def test_what_a_consumer_raises_comes_out() -> None:
    blocks: list[int] = []

    def fail(warps: Sequence[WarpAccesses]) -> None:
        blocks.append(warps[0].block)
        if len(blocks) == 2:
            raise ZeroDivisionError("second block")

    arguments, shared, expected = preload_case(9, 32)
    with pytest.raises(ZeroDivisionError, match="second block"):
        run_kernel(PRELOAD, "k", [*arguments, np.zeros(len(expected), np.float32)], 9, 32, shared, trace=fail)
    assert blocks == [0, 1]


def test_many_events_of_one_block_find_room() -> None:
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        """
entry:
  {numbers}
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %at = getelementptr i64, ptr addrspace(1) %in, i64 %k
  %v = load i64, ptr addrspace(1) %at
  %o = getelementptr i64, ptr addrspace(1) %out, i64 %t
  store i64 %v, ptr addrspace(1) %o
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, 500
  br i1 %more, label %loop, label %exit
exit:
  ret void
""",
    )
    given, out = np.arange(500), np.zeros(256, np.int64)
    found, events = traced(text, [given, out], 1, 256, 0)
    assert events == 256 * 1000
    for thread in (0, 100, 255):
        assert [address for _, address in found[thread][::2]] == [given.ctypes.data + 8 * k for k in range(500)]


def test_bad_consumers() -> None:
    arguments, shared, expected = preload_case(1, 32)
    given = [*arguments, np.zeros(len(expected), np.float32)]
    with pytest.raises(ArgumentError, match="trace is int"):
        run_kernel(PRELOAD, "k", given, 1, 32, shared, trace=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="trace has the address 0"):
        run_kernel(PRELOAD, "k", given, 1, 32, shared, trace=CompiledConsumer(0))


def test_too_many_sites() -> None:
    text = kernel("ptr addrspace(1) %in", "  %a = load i32, ptr addrspace(1) %in, !tc.site !{i32 70000}\n  ret void")
    with pytest.raises(UnsupportedError, match="70001 accesses"):
        kernel_sites(text, "k")


def test_copies_are_loads_and_stores() -> None:
    """A record of 20 bytes at a multiple of 4, a fill of 16 bytes at a multiple of 8; a longer one is refused."""
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n",
        """
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 4 %out, ptr addrspace(1) align 8 %in, i64 22, i1 false)
  %more = getelementptr i8, ptr addrspace(1) %out, i64 24
  call void @llvm.memset.p1.i64(ptr addrspace(1) align 8 %more, i8 -1, i64 16, i1 false)
  ret void
""",
        "declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)\n"
        "declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)\n",
    )
    for how in MODES:
        given, out = np.arange(40, dtype=np.uint8), np.zeros(40, np.uint8)
        found, _ = traced(text, [given, out, 0], 1, 1, 0, **how)
        assert out.tolist() == [*range(22), 0, 0, *[255] * 16]
        to, places = out.ctypes.data, [0, 4, 8, 12, 16, 20]
        wanted = [given.ctypes.data + place for place in places] + [to + place for place in [*places, 24, 32]]
        assert [address for _, address in found[0]] == wanted
        assert kernel_sites(text, "k").bytes.tolist() == [4, 4, 4, 4, 4, 2] * 2 + [8, 8]
    long = text.replace("i64 22", "i64 %n")
    out = np.zeros(40, np.uint8)
    run_kernel(long, "k", [given, out, 30], 1, 1)
    assert out[:24].tolist() == list(range(24))
    with pytest.raises(UnsupportedError, match="no single access"):
        traced(long, [given, out, 30], 1, 1, 0)
