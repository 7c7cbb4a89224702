"""Kernels in every mode against what NumPy says that they compute."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

from .kernels import PRELOAD, kernel
from .launching import MODES, every_mode, preload_case, run


@every_mode
@pytest.mark.parametrize("block", [1, 7, 32, 33, 256, 1024])
def test_preload(how: dict[str, Any], block: int) -> None:
    arguments, shared, expected = preload_case(5, block)
    y = np.zeros(len(expected), np.float32)
    report = run(PRELOAD, [*arguments, y], 5, block, shared, **how)
    assert np.abs(y - expected).max() < 1e-5 * expected.max()
    assert (report.blocks, report.threads, report.barriers) == (5, 5 * block, 5)


def test_no_blocks_at_all() -> None:
    arguments, shared, expected = preload_case(0, 64)
    y = np.zeros(len(expected), np.float32)
    for how in MODES:
        report = run(PRELOAD, [*arguments, y], 0, 64, shared, **how)
        assert (report.blocks, report.threads, report.barriers) == (0, 0, 0) and not y.any()


WHERE = kernel(
    "ptr addrspace(1) %out",
    """
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %gy = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %warp = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %warps = call i32 @llvm.nvvm.read.ptx.sreg.nwarpid()
  %lower = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %q0 = mul i32 %tz, %ny
  %q1 = add i32 %q0, %ty
  %q2 = mul i32 %q1, %nx
  %q = add i32 %q2, %tx
  %p0 = mul i32 %bz, %gy
  %p1 = add i32 %p0, %by
  %p2 = mul i32 %p1, %gx
  %p = add i32 %p2, %bx
  %m0 = mul i32 %nx, %ny
  %m = mul i32 %m0, %nz
  %i0 = mul i32 %p, %m
  %i = add i32 %i0, %q
  {barrier}
  %w = mul i32 %i, 5
  %w64 = zext i32 %w to i64
  %at0 = getelementptr i32, ptr addrspace(1) %out, i64 %w64
  store i32 %tx, ptr addrspace(1) %at0
  %at1 = getelementptr i32, ptr addrspace(1) %at0, i64 1
  store i32 %bz, ptr addrspace(1) %at1
  %at2 = getelementptr i32, ptr addrspace(1) %at0, i64 2
  store i32 %lane, ptr addrspace(1) %at2
  %at3 = getelementptr i32, ptr addrspace(1) %at0, i64 3
  %pair = mul i32 %warp, 100
  %both = add i32 %pair, %warps
  store i32 %both, ptr addrspace(1) %at3
  %at4 = getelementptr i32, ptr addrspace(1) %at0, i64 4
  store i32 %lower, ptr addrspace(1) %at4
  ret void
""",
)


@every_mode
@pytest.mark.parametrize(
    ("grid", "block"), [((3, 2, 2), (5, 3, 4)), (6, 40), ((2, 3), (1, 9)), ((1, 1, 3), (2, 2, 64))]
)
def test_numbers_of_threads_in_three_dimensions(how: dict[str, Any], grid: Any, block: Any) -> None:
    gx, gy, gz = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
    bx, by, bz = (*((block,) if isinstance(block, int) else block), 1, 1)[:3]
    threads = bx * by * bz
    out = np.zeros((gz, gy, gx, threads, 5), np.int32)
    run(WHERE, [out], grid, block, **how)
    linear = np.arange(threads)
    assert (out[..., 0] == linear % bx).all()
    assert (out[..., 1] == np.arange(gz)[:, None, None, None]).all()
    assert (out[..., 2] == linear % 32).all()
    assert (out[..., 3] == linear // 32 * 100 + (threads + 31) // 32).all()
    assert (out[..., 4].view(np.uint32) == (1 << linear % 32) - 1).all()


# A sum over the block in shared memory: a loop with a barrier in each turn, and a loop around it.
TREE = kernel(
    "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %turns",
    """
entry:
  {numbers}
  %mine = getelementptr [256 x i64], ptr addrspace(3) @sums, i64 0, i64 %t
  br label %outer
outer:
  %turn = phi i32 [ 0, %entry ], [ %turn.next, %outer.end ]
  %total = phi i64 [ 0, %entry ], [ %total.next, %outer.end ]
  %turn64 = zext i32 %turn to i64
  %far = mul i64 %turn64, 1000
  %place = add i64 %far, %i
  %in.at = getelementptr i64, ptr addrspace(1) %in, i64 %place
  %v = load i64, ptr addrspace(1) %in.at, align 8
  store i64 %v, ptr addrspace(3) %mine, align 8
  {barrier}
  %half0 = lshr i64 %nt, 1
  br label %inner
inner:
  %half = phi i64 [ %half0, %outer ], [ %half.next, %joined ]
  %done = icmp eq i64 %half, 0
  br i1 %done, label %outer.end, label %fold
fold:
  %below = icmp ult i64 %t, %half
  br i1 %below, label %add, label %joined
add:
  %other = add i64 %t, %half
  %other.at = getelementptr [256 x i64], ptr addrspace(3) @sums, i64 0, i64 %other
  %theirs = load i64, ptr addrspace(3) %other.at, align 8
  %ours = load i64, ptr addrspace(3) %mine, align 8
  %sum = add i64 %theirs, %ours
  store i64 %sum, ptr addrspace(3) %mine, align 8
  br label %joined
joined:
  {barrier}
  %half.next = lshr i64 %half, 1
  br label %inner
outer.end:
  %first.sum = load i64, ptr addrspace(3) getelementptr ([256 x i64], ptr addrspace(3) @sums, i64 0, i64 0), align 8
  %total.next = add i64 %total, %first.sum
  {barrier}
  %turn.next = add i32 %turn, 1
  %more = icmp ult i32 %turn.next, %turns
  br i1 %more, label %outer, label %exit
exit:
  %out.at = getelementptr i64, ptr addrspace(1) %out, i64 %i
  store i64 %total.next, ptr addrspace(1) %out.at, align 8
  ret void
""",
    "@sums = internal addrspace(3) global [256 x i64] undef, align 8",
)


@every_mode
@pytest.mark.parametrize("block", [1, 2, 64, 256])
def test_barriers_in_nested_loops(how: dict[str, Any], block: int) -> None:
    rng = np.random.default_rng(2)
    turns, blocks = 3, 3
    given = rng.integers(-1000, 1000, 4000)
    out = np.zeros(blocks * block, np.int64)
    report = run(TREE, [given, out, turns], blocks, block, **how)
    for b in range(blocks):
        expected = sum(given[1000 * turn + b * block :][:block].sum() for turn in range(turns))
        assert (out[b * block : (b + 1) * block] == expected).all()
    assert report.barriers == blocks * turns * (2 + block.bit_length() - 1)


# Threads past the end leave before anyone waits; each of the others has an array of its own across a barrier.
PRIVATE = kernel(
    "i64 %n, ptr addrspace(1) %in, ptr addrspace(1) %out",
    """
entry:
  {numbers}
  %own = alloca [5 x i64], align 8
  %whole = udiv i64 %n, %nt
  %over = icmp uge i64 %b, %whole
  br i1 %over, label %exit, label %fill
fill:
  %j = phi i64 [ 0, %entry ], [ %j.next, %fill ]
  %at = getelementptr [5 x i64], ptr %own, i64 0, i64 %j
  %made = mul i64 %j, %i
  store i64 %made, ptr %at, align 8
  %j.next = add i64 %j, 1
  %more = icmp ult i64 %j.next, 5
  br i1 %more, label %fill, label %filled
filled:
  %in.at = getelementptr i64, ptr addrspace(1) %in, i64 %i
  %v = load i64, ptr addrspace(1) %in.at
  {barrier}
  %k = urem i64 %v, 5
  %k.at = getelementptr [5 x i64], ptr %own, i64 0, i64 %k
  %got = load i64, ptr %k.at, align 8
  %sum = add i64 %got, %v
  %out.at = getelementptr i64, ptr addrspace(1) %out, i64 %i
  store i64 %sum, ptr addrspace(1) %out.at
  br label %exit
exit:
  ret void
""",
)


@every_mode
def test_private_arrays_and_blocks_that_return_early(how: dict[str, Any]) -> None:
    given = np.random.default_rng(3).integers(0, 1000, 400)
    out = np.full(400, -1, np.int64)
    run(PRIVATE, [320, given, out], 10, 40, **how)
    thread = np.arange(320)
    assert (out[:320] == given[:320] % 5 * thread + given[:320]).all() and (out[320:] == -1).all()


@every_mode
def test_divisions_do_not_trap(how: dict[str, Any]) -> None:
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        """
  {numbers}
  %a.at = getelementptr {i32, i32}, ptr addrspace(1) %in, i64 %i, i32 0
  %b.at = getelementptr {i32, i32}, ptr addrspace(1) %in, i64 %i, i32 1
  %a = load i32, ptr addrspace(1) %a.at
  %bb = load i32, ptr addrspace(1) %b.at
  %q = sdiv i32 %a, %bb
  %m = srem i32 %a, %bb
  %u = udiv i32 %a, %bb
  %w = urem exact.i32 %a, %bb
  %x = mul i32 %m, 3
  %y = add i32 %q, %x
  %z = xor i32 %y, %u
  %r = add i32 %z, %w
  %out.at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %out.at
  ret void
""".replace("urem exact.i32", "urem i32"),
    )
    pairs = np.array([[7, 2], [-7, 2], [7, -1], [-(2**31), -1], [5, 0], [0, 0]], np.int32)
    out = np.zeros(6, np.int32)
    run(text, [pairs, out], 1, 6, **how)
    for (a, b), found in list(zip(pairs.tolist(), out.tolist(), strict=True))[:3]:
        quotient = int(a / b)
        rest, u, w = a - quotient * b, (a % 2**32) // (b % 2**32), (a % 2**32) % (b % 2**32)
        assert (((quotient + 3 * rest) ^ u) + w - found) % 2**32 == 0


@every_mode
def test_one_of_two_private_arrays_and_tables(how: dict[str, Any]) -> None:
    """Of an address that may be in either, nothing is checked that would be an alarm."""
    text = kernel(
        "ptr addrspace(1) %out",
        """
  {numbers}
  %p = alloca [2 x i32]
  %q = alloca [2 x i32]
  %odd = trunc i64 %t to i1
  %own = select i1 %odd, ptr %p, ptr %q
  %at = getelementptr i32, ptr %own, i64 1
  store i32 %t32, ptr %at
  %p1 = getelementptr i32, ptr %p, i64 1
  %q1 = getelementptr i32, ptr %q, i64 1
  %again = select i1 %odd, ptr %p1, ptr %q1
  %v = load i32, ptr %again
  %two = getelementptr i8, ptr addrspacecast (ptr addrspace(1) @two to ptr), i64 0
  %tables = select i1 %odd, ptr addrspacecast (ptr addrspace(4) @one to ptr), ptr %two
  %w.at = getelementptr i32, ptr %tables, i64 1
  %w = load i32, ptr %w.at
  %r = add i32 %v, %w
  %out.at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %out.at
  ret void
""",
        "@one = internal addrspace(4) constant [2 x i32] [i32 0, i32 100], align 4\n"
        "@two = internal addrspace(1) constant [2 x i32] [i32 0, i32 200], align 4\n",
    )
    out = np.zeros(10, np.int32)
    run(text, [out], 1, 10, **how)
    assert out.tolist() == [t + (100 if t % 2 else 200) for t in range(10)]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors fuse products and sums, as their loops do")
def test_products_and_sums_round_as_on_the_host() -> None:
    text = kernel(
        "ptr addrspace(1) %a, ptr addrspace(1) %out",
        """
  {numbers}
  %at = getelementptr double, ptr addrspace(1) %a, i64 %i
  %v = load double, ptr addrspace(1) %at
  %square = fmul double %v, %v
  %minus = fneg double %square
  %r = call double @llvm.fmuladd.f64(double %v, double %v, double %minus)
  %o = getelementptr double, ptr addrspace(1) %out, i64 %i
  store double %r, ptr addrspace(1) %o
  ret void
""",
        "declare double @llvm.fmuladd.f64(double, double, double)\n",
    )
    for how in MODES:
        out = np.ones(64)
        run(text, [np.random.default_rng(1).random(64), out], 1, 64, **how)
        assert not out.any()
