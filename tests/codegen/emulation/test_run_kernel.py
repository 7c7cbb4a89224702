"""Kernels in both modes against what NumPy says that they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation.run_kernel import RunReport, run_kernel

from .kernels import HEAD, PRELOAD, kernel

MODES: list[dict[str, Any]] = [
    {"mode": "phases"},
    {"mode": "strict"},
    {"mode": "strict", "seed": 7},
    {"mode": "strict", "races": True},
]
every_mode = pytest.mark.parametrize("how", MODES, ids=lambda how: "-".join(map(str, how.values())))


def run(text: str, arguments: list[Any], grid: Any, block: Any, shared: int = 0, **how: Any) -> RunReport:
    report = run_kernel(text, "k", arguments, grid, block, shared, **how)
    assert report.completed and report.faults == (), [str(fault) for fault in report.faults]
    return report


def preload_case(blocks: int, block: int, seed: int = 1) -> tuple[list[Any], int, np.ndarray]:
    """Arguments of the preload kernel but for y, bytes of shared memory, and the right y."""
    rng = np.random.default_rng(seed)
    n, rows, cols = max(0, blocks * block - 3), 57, 91
    row, col = np.sort(rng.integers(0, rows, n)), rng.integers(0, cols, n)
    value, x = rng.random(n).astype(np.float32), rng.random(cols).astype(np.float32)
    local, ids, starts = np.zeros(n, np.uint16), [], [0]
    for b in range(blocks):
        part = slice(b * block, min(n, (b + 1) * block))
        found, local[part] = np.unique(col[part], return_inverse=True)
        ids.append(found)
        starts.append(starts[-1] + len(found))
    y = np.zeros(rows)
    np.add.at(y, row, value.astype(float) * x[col])
    listed = np.concatenate([*ids, [0]]).astype(np.int32)
    shared = 4 * int(np.diff(starts).max(initial=0))
    return [n, value, local, row.astype(np.int32), np.array(starts, np.int32), listed, x], shared, y


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
@pytest.mark.parametrize(("grid", "block"), [((3, 2, 2), (5, 3, 4)), (6, 40), ((2, 3), (1, 9)), ((1, 1, 3), (2, 2, 64))])
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


def warp_kernel(lines: str, type: str = "i32") -> str:
    """out[i] = what the lines make of `%v`, the i-th input."""
    body = f"""
entry:
  {{numbers}}
  %at = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %at
  {lines}
  %out.at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store {type} %r, ptr addrspace(1) %out.at, align 4
  ret void
"""
    return kernel("ptr addrspace(1) %in, ptr addrspace(1) %out", body)


def by_warp(values: np.ndarray, block: int) -> list[tuple[int, np.ndarray]]:
    """(first thread, values of its threads) of every warp."""
    warps = []
    for first in range(0, len(values), block):
        part = values[first : first + block]
        warps += [(first + w, part[w : w + 32]) for w in range(0, block, 32)]
    return warps


SHUFFLES = {
    "up": ("i32 -1, i32 %v, i32 3, i32 0", lambda lane, n: lane - 3 if lane >= 3 else lane),
    "down": ("i32 -1, i32 %v, i32 5, i32 31", lambda lane, n: lane + 5 if lane + 5 < 32 else lane),
    "bfly": ("i32 -1, i32 %v, i32 6, i32 31", lambda lane, n: lane ^ 6),
    "idx": ("i32 -1, i32 %v, i32 %t32, i32 6175", lambda lane, n: lane // 8 * 8 + lane % 8),  # segments of 8: 24 << 8 | 31
}


@every_mode
@pytest.mark.parametrize("way", SHUFFLES)
@pytest.mark.parametrize("block", [64, 40])
def test_shuffles(how: dict[str, Any], way: str, block: int) -> None:
    arguments, source = SHUFFLES[way]
    text = warp_kernel(f"%r = call i32 @llvm.nvvm.shfl.sync.{way}.i32({arguments})")
    values = np.random.default_rng(4).integers(0, 1 << 30, 2 * block).astype(np.int32)
    out = np.zeros_like(values)
    run(text, [values, out], 2, block, **how)
    for first, warp in by_warp(values, block):
        for lane, _ in enumerate(warp):
            found = source(lane, len(warp))
            expected = warp[found] if found < len(warp) else 0x5A5A5A5A
            assert out[first + lane] == expected


@every_mode
def test_shuffles_of_floats_and_with_their_validity(how: dict[str, Any]) -> None:
    down = "%f = bitcast i32 %v to float\n%r = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %f, i32 1, i32 31)"
    values = np.random.default_rng(5).random(64).astype(np.float32)
    out = np.zeros_like(values)
    run(warp_kernel(down, "float"), [values.view(np.int32), out], 1, 64, **how)
    assert (out == np.r_[values[1:32], values[31], values[33:], values[63]]).all()
    up = """%p = call {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32 -1, i32 %v, i32 4, i32 0)
  %there = extractvalue {i32, i1} %p, 1
  %got = extractvalue {i32, i1} %p, 0
  %r = select i1 %there, i32 %got, i32 -1"""
    numbers = np.arange(64, dtype=np.int32)
    found = np.zeros_like(numbers)
    run(warp_kernel(up), [numbers, found], 1, 64, **how)
    assert (found == np.where(numbers % 32 < 4, -1, numbers - 4)).all()


VOTES = {
    "all": lambda warp: [int((warp % 3 == 0).all())] * len(warp),
    "any": lambda warp: [int((warp % 3 == 0).any())] * len(warp),
    "uni": lambda warp: [int(len(set(warp % 3 == 0)) == 1)] * len(warp),
    "ballot": lambda warp: [sum(1 << lane for lane, v in enumerate(warp) if v % 3 == 0)] * len(warp),
}


@every_mode
@pytest.mark.parametrize("vote", VOTES)
def test_votes(how: dict[str, Any], vote: str) -> None:
    made = "%r = call i32" if vote == "ballot" else "%bit = call i1"
    lines = f"%m = urem i32 %v, 3\n%yes = icmp eq i32 %m, 0\n{made} @llvm.nvvm.vote.{vote}.sync(i32 -1, i1 %yes)"
    lines += "" if vote == "ballot" else "\n%r = zext i1 %bit to i32"
    rng = np.random.default_rng(6)
    values = np.r_[rng.integers(0, 99, 32), np.full(32, 3), np.full(32, 1), rng.integers(0, 99, 9)].astype(np.int32)
    out = np.zeros(105, np.uint32)
    run(warp_kernel(lines), [values, out], 1, 105, **how)
    for first, warp in by_warp(values, 105):
        assert out[first : first + len(warp)].tolist() == VOTES[vote](warp)


@every_mode
def test_matches(how: dict[str, Any]) -> None:
    values = np.r_[np.random.default_rng(7).integers(0, 5, 32), np.full(32, 9)].astype(np.int32)
    out = np.zeros(64, np.uint32)
    run(warp_kernel("%r = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %v)"), [values, out], 1, 64, **how)
    for first, warp in by_warp(values, 64):
        assert out[first : first + 32].tolist() == [sum(1 << j for j in np.flatnonzero(warp == v)) for v in warp]
    lines = "%p = call {i32, i1} @llvm.nvvm.match.all.sync.i32p(i32 -1, i32 %v)\n%r = extractvalue {i32, i1} %p, 0"
    run(warp_kernel(lines), [values, out], 1, 64, **how)
    assert (out[:32] == 0).all() and (out[32:] == 0xFFFFFFFF).all()


REDUX: dict[str, Any] = {
    "add": lambda v: np.add.reduce(v, dtype=np.int32),
    "min": np.min,
    "max": np.max,
    "umin": lambda v: np.min(v.view(np.uint32)),
    "umax": lambda v: np.max(v.view(np.uint32)),
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


@every_mode
@pytest.mark.parametrize("operator", REDUX)
def test_reductions_of_a_warp(how: dict[str, Any], operator: str) -> None:
    values = np.random.default_rng(8).integers(-(1 << 31), 1 << 31, 75).astype(np.int32)
    out = np.zeros(75, np.int32)
    run(
        warp_kernel(f"%r = call i32 @llvm.nvvm.redux.sync.{operator}(i32 %v, i32 -1)"), [values, out], 1, 75, **how
    )
    for first, warp in by_warp(values, 75):
        assert (out[first : first + len(warp)] == np.uint32(int(REDUX[operator](warp)) & 0xFFFFFFFF).view(np.int32)).all()


@every_mode
def test_barriers_that_reduce(how: dict[str, Any]) -> None:
    lines = """%odd = trunc i32 %v to i1
  %count = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %odd)
  %all = call i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32 0, i1 %odd)
  %some = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %odd)
  %all32 = zext i1 %all to i32
  %some32 = zext i1 %some to i32
  %x = mul i32 %count, 10
  %y = add i32 %x, %all32
  %z = mul i32 %y, 10
  %r = add i32 %z, %some32"""
    values = np.r_[np.arange(50), np.full(50, 3), np.full(50, 2)].astype(np.int32)
    out = np.zeros_like(values)
    run(warp_kernel(lines), [values, out], 3, 50, **how)
    assert [set(out[50 * b : 50 * b + 50].tolist()) for b in range(3)] == [{2501}, {5011}, {0}]


# Lanes leave the loop at different turns; those that stay vote among themselves.
DIVERGENT = kernel(
    "ptr addrspace(1) %in, ptr addrspace(1) %out",
    """
entry:
  {numbers}
  %at = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %turns = load i32, ptr addrspace(1) %at
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k.next, %on ]
  %mask = phi i32 [ -1, %entry ], [ %still, %on ]
  %seen = phi i32 [ 0, %entry ], [ %seen.next, %on ]
  %stays = icmp ult i32 %k, %turns
  %still = call i32 @llvm.nvvm.vote.ballot.sync(i32 %mask, i1 %stays)
  br i1 %stays, label %on, label %exit
on:
  %bits = call i32 @llvm.ctpop.i32(i32 %still)
  %seen.next = add i32 %seen, %bits
  %k.next = add i32 %k, 1
  br label %loop
exit:
  %out.at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %seen, ptr addrspace(1) %out.at
  ret void
""",
    "declare i32 @llvm.ctpop.i32(i32)",
)


@every_mode
def test_lanes_that_leave_a_loop_of_votes(how: dict[str, Any]) -> None:
    turns = np.random.default_rng(9).integers(0, 12, 128).astype(np.int32)
    out = np.zeros_like(turns)
    run(DIVERGENT, [turns, out], 2, 64, **how)
    for first, warp in by_warp(turns, 64):
        expected = [sum(int((warp > k).sum()) for k in range(own)) for own in warp]
        assert out[first : first + 32].tolist() == expected


@every_mode
def test_synchronisation_of_a_warp(how: dict[str, Any]) -> None:
    """Neighbours swap through shared memory, ordered by `bar.warp.sync` alone; halves have masks of their own."""
    lines = """%s = getelementptr i32, ptr addrspace(3) @tc.shared, i64 %t
  store i32 %v, ptr addrspace(3) %s
  %half = and i32 %t32, 16
  %low = icmp eq i32 %half, 0
  %mask = select i1 %low, i32 65535, i32 -65536
  call void @llvm.nvvm.bar.warp.sync(i32 %mask)
  %other = xor i64 %t, 5
  %o = getelementptr i32, ptr addrspace(3) @tc.shared, i64 %other
  %r = load i32, ptr addrspace(3) %o"""
    values = np.random.default_rng(10).integers(0, 1000, 128).astype(np.int32)
    out = np.zeros_like(values)
    run(warp_kernel(lines), [values, out], 2, 64, 256, **how)
    assert (out == values[np.arange(128) ^ 5]).all()


ATOMICS: dict[str, Any] = {
    "add": (np.int32, lambda v: v.sum(dtype=np.int32)),
    "sub": (np.int32, lambda v: -v.sum(dtype=np.int32)),
    "and": (np.int32, np.bitwise_and.reduce),
    "or": (np.int32, np.bitwise_or.reduce),
    "xor": (np.int32, np.bitwise_xor.reduce),
    "max": (np.int32, np.max),
    "min": (np.int32, np.min),
    "umax": (np.uint32, np.max),
    "umin": (np.uint32, np.min),
    "fadd": (np.float32, np.sum),
    "fmax": (np.float32, np.max),
    "fmin": (np.float32, np.min),
}
START = {"and": -1, "min": 2**31 - 1, "umin": 2**32 - 1, "max": -(2**31), "fmin": np.inf, "fmax": -np.inf}


@every_mode
@pytest.mark.parametrize("space", [1, 3, 0])
@pytest.mark.parametrize("operator", ATOMICS)
def test_atomics(how: dict[str, Any], operator: str, space: int) -> None:
    """In global, shared and generic memory; whole numbers as floats, so that any order gives the same bits."""
    dtype, expected = ATOMICS[operator]
    type = "float" if dtype is np.float32 else "i32"
    start = START.get(operator, 0)
    place = f"ptr addrspace({space})" if space else "ptr"
    cell = {1: "%out", 3: "@tc.shared", 0: "%generic"}[space]
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        f"""
entry:
  {{numbers}}
  %generic = addrspacecast ptr addrspace(1) %out to ptr
  %at = getelementptr {type}, ptr addrspace(1) %in, i64 %i
  %v = load {type}, ptr addrspace(1) %at
  %leads = icmp eq i32 %t32, 0
  %start = load {type}, ptr addrspace(1) %in
  br i1 %leads, label %init, label %ready
init:
  store {type} %start, ptr addrspace(3) @tc.shared, align 4
  br label %ready
ready:
  {{barrier}}
  %old = atomicrmw {operator} {place} {cell}, {type} %v syncscope("block") monotonic, align 4
  {{barrier}}
  br i1 %leads, label %flush, label %exit
flush:
  %sum = load {type}, ptr addrspace(3) @tc.shared, align 4
  %res = getelementptr {type}, ptr addrspace(1) %out, i64 1
  store {type} %sum, ptr addrspace(1) %res
  br label %exit
exit:
  ret void
""",
    )
    rng = np.random.default_rng(11)
    values = rng.integers(0, 99, 200).astype(dtype) if type == "float" else rng.integers(0, 1 << 31, 200).astype(dtype)
    values[0] = np.array(start).astype(dtype)
    out = np.zeros(2, dtype)
    out[0] = values[0]
    run(text, [values, out], 1, 200, 16, **how)
    assert out[1 if space == 3 else 0] == dtype(expected(values) if operator != "sub" else 0 - values.sum(dtype=dtype))


@every_mode
def test_compare_and_swap_and_counters_that_wrap(how: dict[str, Any]) -> None:
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        """
entry:
  {numbers}
  %at = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %at
  %seen0 = load atomic i32, ptr addrspace(1) %out syncscope("device") monotonic, align 4
  br label %swap
swap:
  %seen = phi i32 [ %seen0, %entry ], [ %found, %swap ]
  %twice = mul i32 %v, 2
  %new = add i32 %seen, %twice
  %pair = cmpxchg ptr addrspace(1) %out, i32 %seen, i32 %new syncscope("device") monotonic monotonic, align 4
  %found = extractvalue {i32, i1} %pair, 0
  %won = extractvalue {i32, i1} %pair, 1
  br i1 %won, label %done, label %swap
done:
  %wrap = getelementptr i32, ptr addrspace(1) %out, i64 1
  %old = atomicrmw uinc_wrap ptr addrspace(1) %wrap, i32 6 syncscope("device") monotonic, align 4
  %last = getelementptr i32, ptr addrspace(1) %out, i64 2
  %older = atomicrmw xchg ptr addrspace(1) %last, i32 %v syncscope("device") monotonic, align 4
  ret void
""",
    )
    values = np.random.default_rng(12).integers(0, 1000, 150).astype(np.int32)
    out = np.zeros(3, np.int32)
    run(text, [values, out], 3, 50, **how)
    assert out[0] == 2 * values.sum() and out[1] == 150 % 7 and out[2] in values


def test_workers_share_the_blocks() -> None:
    arguments, shared, expected = preload_case(9, 64)
    for workers in (1, 2, 3, 16):
        y = np.zeros(len(expected), np.float32)
        report = run(PRELOAD, [*arguments, y], 9, 64, shared, workers=workers)
        assert np.abs(y - expected).max() < 1e-5 * expected.max() and report.blocks == 9
    given = np.random.default_rng(13).integers(-99, 99, 4000)
    outs = [np.zeros(3 * 64, np.int64) for _ in range(2)]
    run(TREE, [given, outs[0], 2], 3, 64)
    run(TREE, [given, outs[1], 2], 3, 64, workers=3)
    assert (outs[0] == outs[1]).all()


def test_a_part_of_a_grid_that_is_too_large_to_run() -> None:
    """Numbers of threads beyond 32 bits; blocks far behind the first."""
    text = kernel(
        "ptr addrspace(1) %out, i64 %from",
        """
  {numbers}
  %place = sub i64 %i, %from
  %at = getelementptr i64, ptr addrspace(1) %out, i64 %place
  store i64 %i, ptr addrspace(1) %at
  ret void
""",
    )
    first = 2**31 - 10
    for how in MODES:
        out = np.zeros(3 * 64, np.int64)
        report = run(text, [out, first * 64], 2**31 - 1, 64, blocks=range(first, first + 3), **how)
        assert (out == first * 64 + np.arange(192)).all() and report.blocks == 3


def test_blocks_in_three_dimensions_far_behind() -> None:
    text = kernel(
        "ptr addrspace(1) %out",
        """
  %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  store i32 %x, ptr addrspace(1) %out
  %at1 = getelementptr i32, ptr addrspace(1) %out, i64 1
  store i32 %y, ptr addrspace(1) %at1
  %at2 = getelementptr i32, ptr addrspace(1) %out, i64 2
  store i32 %z, ptr addrspace(1) %at2
  ret void
""",
    )
    grid = (2**31 - 1, 65535, 65535)
    place = 12345 + grid[0] * (777 + grid[1] * 4321)
    out = np.zeros(3, np.int32)
    run(text, [out], grid, 1, blocks=range(place, place + 1))
    assert out.tolist() == [12345, 777, 4321]


def test_the_same_seed_gives_the_same_order() -> None:
    """The order in which threads of different warps come is seen in a list that they append to."""
    text = kernel(
        "ptr addrspace(1) %count, ptr addrspace(1) %out",
        """
  {numbers}
  %place = atomicrmw add ptr addrspace(1) %count, i32 1 monotonic, align 4
  %p = zext i32 %place to i64
  %at = getelementptr i64, ptr addrspace(1) %out, i64 %p
  store i64 %i, ptr addrspace(1) %at
  ret void
""",
    )
    lists = []
    for seed in (0, 0, 5, 5, 6):
        out = np.full(256, -1)
        run(text, [np.zeros(1, np.int32), out], 2, 128, mode="strict", seed=seed)
        assert sorted(out) == list(range(256))
        lists.append(out.tolist())
    assert lists[0] == lists[1] == list(range(256))
    assert lists[2] == lists[3] and len({tuple(found) for found in lists}) == 3


def test_static_and_dynamic_shared_memory_lie_apart() -> None:
    text = kernel(
        "ptr addrspace(1) %out",
        """
entry:
  {numbers}
  %a = getelementptr [3 x i8], ptr addrspace(3) @small, i64 0, i64 %t
  %bw = getelementptr [3 x i64], ptr addrspace(3) @wide, i64 0, i64 %t
  %c = getelementptr i32, ptr addrspace(3) @tc.shared, i64 %t
  %t8 = trunc i64 %t to i8
  store i8 %t8, ptr addrspace(3) %a
  store i64 -1, ptr addrspace(3) %bw
  store i32 %t32, ptr addrspace(3) %c
  {barrier}
  %generic = addrspacecast ptr addrspace(3) %a to ptr
  %x = load i8, ptr %generic
  %y = load i64, ptr addrspace(3) %bw
  %z = load i32, ptr addrspace(3) %c
  %x64 = zext i8 %x to i64
  %z64 = zext i32 %z to i64
  %s = add i64 %x64, %y
  %r = add i64 %s, %z64
  %o = getelementptr i64, ptr addrspace(1) %out, i64 %t
  store i64 %r, ptr addrspace(1) %o
  ret void
""",
        "@small = internal addrspace(3) global [3 x i8] undef, align 1\n"
        "@wide = internal addrspace(3) global [3 x i64] undef, align 8\n",
    )
    for how in MODES:
        out = np.zeros(3, np.int64)
        run(text, [out], 1, 3, 12, **how)
        assert out.tolist() == [-1, 1, 3]


def test_device_functions_are_inlined() -> None:
    """A function that waits, called twice; the memory that it uses is handed to it as a generic address."""
    text = kernel(
        "ptr addrspace(1) %out",
        """
  {numbers}
  %a = call i32 @turned(i32 %t32, ptr addrspacecast (ptr addrspace(3) @tc.shared to ptr), i32 %n32)
  {barrier}
  %r = call i32 @turned(i32 %a, ptr addrspacecast (ptr addrspace(3) @tc.shared to ptr), i32 %n32)
  %at = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %r, ptr addrspace(1) %at
  ret void
""",
        """
define internal i32 @turned(i32 %v, ptr %memory, i32 %n) noinline convergent {
  %t32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %next = add i32 %t32, 1
  %around = urem i32 %next, %n
  %at = getelementptr i32, ptr %memory, i32 %around
  store i32 %v, ptr %at
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %own = getelementptr i32, ptr %memory, i32 %t32
  %r = load i32, ptr %own
  ret i32 %r
}
""",
    )
    for how in MODES:
        out = np.zeros(10, np.int32)
        run(text, [out], 1, 10, 40, **how)
        assert out.tolist() == [(t - 2) % 10 for t in range(10)]


def test_shared_memory_is_the_same_in_every_mode_before_it_is_written() -> None:
    text = kernel(
        "ptr addrspace(1) %out",
        "  %v = load i32, ptr addrspace(3) @tc.shared, align 4\n  store i32 %v, ptr addrspace(1) %out\n  ret void",
    )
    for how in MODES[:3]:
        out = np.zeros(1, np.int32)
        run(text, [out], 3, 1, 4, **how)
        assert out[0] == 0x5A5A5A5A


def test_head_has_what_the_emitter_writes() -> None:
    assert "nvptx64-nvidia-cuda" in HEAD
