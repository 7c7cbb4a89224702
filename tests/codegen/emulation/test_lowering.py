"""The pieces of lowering by themselves: points, pieces between them, what threads keep, copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracecut.codegen.emulation.faults import FATAL, KINDS, Fault, Place
from tracecut.codegen.emulation.lowering.cut import count_rounds, cut, type_of
from tracecut.codegen.emulation.lowering.kernel_text import read_kernel
from tracecut.codegen.emulation.lowering.memory_copies import expand_copies
from tracecut.codegen.emulation.lowering.memory_sites import Base, find_accesses
from tracecut.codegen.emulation.lowering.points import AT_BLOCK, AT_WARP, OPERATIONS, YIELDED, point_of
from tracecut.ir.llvm import Block, Instruction, TypeTable
from tracecut.support.errors import UnsupportedError

from .kernels import BARRIER, kernel

pytestmark = pytest.mark.quick
MACHINE = Path(__file__).parents[3] / "codegen" / "emulation" / "machine.h"


def test_operations_and_faults_are_numbered_as_in_the_machine() -> None:
    text = MACHINE.read_text()
    names = text[text.index("OP_START") : text.index("};", text.index("OP_START"))].replace(",", " ").split()
    assert [name.removeprefix("OP_").lower() for name in names] == [
        name.replace(".", "_").replace("barrier_sync", "barrier") for name in OPERATIONS
    ]
    kinds = text[text.index("FAULT_SHARED_RACE") :].split("}")[0].replace(",", " ").split()
    assert len(kinds) == len(KINDS) and kinds[FATAL] == "FAULT_DIVERGENT_BARRIER"


@pytest.mark.parametrize(
    ("line", "operation", "waits"),
    [
        (BARRIER, "barrier", AT_BLOCK),
        ("call void @llvm.nvvm.barrier.cta.sync.all(i32 3)", "barrier", AT_BLOCK),
        ("%r = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %x)", "barrier.or", AT_BLOCK),
        ("call void @llvm.nvvm.bar.warp.sync(i32 %m)", "warp.sync", AT_WARP),
        ("%r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %v, i32 %l, i32 31)", "shuffle.idx", AT_WARP),
        ("%r = call {float, i1} @llvm.nvvm.shfl.sync.up.f32p(i32 -1, float %v, i32 1, i32 0)", "shuffle.up", AT_WARP),
        ("%r = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 %x)", "vote.ballot", AT_WARP),
        ("%r = call i32 @llvm.nvvm.match.any.sync.i64(i32 %m, i64 %x)", "match.any", AT_WARP),
        ("%r = call i32 @llvm.nvvm.redux.sync.umax(i32 %x, i32 %m)", "redux.umax", AT_WARP),
        ("call void @emu.yield()", "yield", YIELDED),
    ],
)
def test_points(line: str, operation: str, waits: int) -> None:
    point = point_of(Instruction(line))
    assert point is not None and (point.operation, point.waits) == (operation, waits)
    assert OPERATIONS[point.code] == operation


@pytest.mark.parametrize(
    "line", ["%x = add i32 %a, %b", "call void @llvm.nvvm.membar.gl()", "%x = call i32 @llvm.ctpop.i32(i32 %a)"]
)
def test_what_is_no_point(line: str) -> None:
    assert point_of(Instruction(line)) is None


def test_a_barrier_with_a_computed_number() -> None:
    with pytest.raises(UnsupportedError, match="the number of a barrier is computed"):
        point_of(Instruction("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %n)"))


def test_what_is_kept_and_what_is_computed_again() -> None:
    """A loaded value is kept over the barrier, what depends on arguments alone is not, and a dead value neither."""
    lines = """%twice = mul i64 %n, 2
%at = getelementptr i64, ptr %p, i64 %twice
%v = load i64, ptr %at
%dead = load i64, ptr %p
{barrier}
%sum = add i64 %v, %twice
store i64 %sum, ptr %at
ret void""".replace("{barrier}", BARRIER).splitlines()
    made = cut([Block.of("entry", lines)], {"%n": "i64", "%p": "ptr"}, TypeTable({}))
    assert made.kept == {1: ["%v"]} and made.types == {"%v": "i64"}
    assert [one.result for one in made.hoisted] == ["%twice", "%at"]
    assert [block.name for block in made.blocks] == ["entry", "emu.after1"]


def test_phis_follow_the_pieces_of_their_block() -> None:
    blocks = [
        Block.of("entry", ["br label %loop"]),
        Block.of("loop", ["%k = phi i64 [ 0, %entry ], [ %next, %loop ]", BARRIER, "%next = add i64 %k, 1",
                          "%more = icmp ult i64 %next, %n", "br i1 %more, label %loop, label %exit"]),
        Block.of("exit", ["ret void"]),
    ]  # fmt: skip
    made = cut(blocks, {"%n": "i64"}, TypeTable({}))
    assert made.kept == {1: ["%k"]}
    assert made.blocks[1].instructions[0].text == "%k = phi i64 [ 0, %entry ], [ %next, %emu.after1 ]"


def test_loops_that_look_at_memory_are_counted_in_phases_and_all_in_strict_runs() -> None:
    def loop(line: str) -> list[Block]:
        return [
            Block.of("entry", ["br label %spin"]),
            Block.of("spin", [line, "%c = icmp eq i32 %v, 0", "br i1 %c, label %spin, label %exit"]),
            Block.of("exit", ["ret void"]),
        ]

    plain, atomic = "%v = load i32, ptr %p", "%v = load atomic i32, ptr %p monotonic, align 4"
    found = {
        (line, strict): [block.name for block in count_rounds(loop(line), strict=strict)[0]][3:]
        for line in (plain, atomic)
        for strict in (False, True)
    }
    assert found[plain, False] == [] and all(found[key] == ["emu.round0.0"] for key in found if key != (plain, False))
    (waiting,) = count_rounds(loop(atomic), strict=True)[0][3:]
    assert [made.text for made in waiting.instructions] == ["call void @emu.yield()", "br label %spin"]


@pytest.mark.parametrize(
    ("line", "type"),
    [
        ("%x = extractvalue { i32, i1 } %p, 1", "i1"),
        ("%x = extractvalue { i32, [2 x float] } %p, 1, 0", "float"),
        ("%x = insertvalue { i32, i1 } %p, i32 %a, 0", "{ i32, i1 }"),
        ("%x = extractelement <4 x double> %v, i32 2", "double"),
        ("%x = insertelement <2 x i16> %v, i16 %a, i32 0", "<2 x i16>"),
        ("%x = shufflevector <2 x i16> %v, <2 x i16> %w, <3 x i32> <i32 0, i32 1, i32 2>", "<3 x i16>"),
        ("%x = freeze float %y", "float"),
    ],
)
def test_types_of_values(line: str, type: str) -> None:
    assert type_of(Instruction(line), TypeTable({})) == type


def test_copies_of_unknown_size_stay() -> None:
    lines = [
        "call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a, ptr align 8 %b, i64 %n, i1 false)",
        "call void @llvm.memset.p0.i64(ptr align 8 %a, i8 %v, i64 16, i1 false)",
        "call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a, ptr align 8 %b, i64 129, i1 false)",
    ]
    block = Block.of("b", lines)
    expand_copies([block])
    assert [made.text for made in block.instructions] == lines
    moved = Block.of("b", ["call void @llvm.memmove.p0.p0.i64(ptr align 4 %a, ptr align 2 %b, i64 5, i1 false)"])
    expand_copies([moved])
    assert [made.op for made in moved.instructions if made.op != "getelementptr"] == ["load"] * 3 + ["store"] * 3


def test_bases_and_spaces_of_addresses() -> None:
    """Through casts, choices and loops; an address that is loaded, or may be one of two arrays, has none."""
    text = kernel(
        "ptr addrspace(1) %a, ptr addrspace(1) %b, i1 %c, ptr %g",
        """
  %one = select i1 %c, ptr addrspace(1) %a, ptr addrspace(1) %b
  %x0 = load i32, ptr addrspace(1) %one
  %same = select i1 %c, ptr addrspace(1) %a, ptr addrspace(1) %a
  %x1 = load i32, ptr addrspace(1) %same
  %cast = addrspacecast ptr addrspace(1) %b to ptr
  %x2 = load i32, ptr %cast
  %x3 = load i32, ptr addrspacecast (ptr addrspace(3) @tc.shared to ptr)
  %far = load ptr, ptr %g
  %x4 = load i32, ptr %far
  %own = alloca [4 x i32]
  %place = getelementptr i32, ptr %own, i32 %x4
  store i32 %x3, ptr %place
  ret void
""",
    )
    found = [one.base for one in find_accesses(read_kernel(text, "k"), None).of.values()]
    assert found == [
        None,
        Base("parameter", "%a", 0),
        Base("parameter", "%b", 1),
        Base("variable", "@tc.shared"),
        Base("parameter", "%g", 3),
        None,
    ]
    assert find_accesses(read_kernel(text, "k"), None).sites.space.tolist() == [0, 0, 0, 1, 0, 0]


def test_a_fault_says_both_places() -> None:
    places = (Place("a.cu:3", 1, 0, 5, "stores"), Place("a.cu:9", 2, 7, 8, "loads"))
    fault = Fault("global race", "k", "%y", 16, places, 3)
    assert str(fault) == (
        "global race in k, byte 16 of %y: two threads touch one word of global memory without atomics, and nothing "
        "orders them: thread 5 of block 0 stores at a.cu:3; thread 8 of block 7 loads at a.cu:9"
    )
    assert not fault.is_fatal and Fault("deadlock", "k", "", 0, places, 1).is_fatal
    assert np.unique(KINDS).size == len(KINDS)
