"""Shuffles, votes, matches and reductions of a warp, barriers that reduce, lanes that part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .kernels import kernel
from .launching import by_warp, every_mode, run, warp_kernel

SHUFFLES = {
    "up": ("i32 -1, i32 %v, i32 3, i32 0", lambda lane, n: lane - 3 if lane >= 3 else lane),
    "down": ("i32 -1, i32 %v, i32 5, i32 31", lambda lane, n: lane + 5 if lane + 5 < 32 else lane),
    "bfly": ("i32 -1, i32 %v, i32 6, i32 31", lambda lane, n: lane ^ 6),
    "idx": (
        "i32 -1, i32 %v, i32 %t32, i32 6175",
        lambda lane, n: lane // 8 * 8 + lane % 8,
    ),  # segments of 8: 24 << 8 | 31
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
    down = (
        "%f = bitcast i32 %v to float\n%r = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %f, i32 1, i32 31)"
    )
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
    run(warp_kernel(f"%r = call i32 @llvm.nvvm.redux.sync.{operator}(i32 %v, i32 -1)"), [values, out], 1, 75, **how)
    for first, warp in by_warp(values, 75):
        assert (
            out[first : first + len(warp)] == np.uint32(int(REDUX[operator](warp)) & 0xFFFFFFFF).view(np.int32)
        ).all()


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
