"""Parts of grids, several workers, orders by seed; shared memory as the text lays it out."""

from __future__ import annotations

import numpy as np

from .kernels import PRELOAD, kernel
from .launching import MODES, preload_case, run
from .test_run_kernel import TREE


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
