"""Occupancy against cases worked out by hand from the published rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.gpu.description import gpu, names
from tracecut.ir.gpu.occupancy import occupancy
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

CASES = [
    # GPU, block, registers, shared, blocks, limited by. The numbers beside: how they come about.
    ("h200", 1024, 22, 0, 2, ("warps", "registers")),  # 22 · 32 → 768; 85 → 84 warps: 2; 64 warps: 2
    ("h200", 1024, 33, 0, 1, ("registers",)),  # 33 · 32 = 1056 → 1280; 51 → 48 warps, 48 // 32 = 1
    ("h200", 1024, 64, 0, 1, ("registers",)),  # 2048; 32 warps
    ("h200", 256, 32, 0, 8, ("warps", "registers")),  # 1024; 64 warps / 8 = 8
    ("h200", 256, 40, 0, 6, ("registers",)),  # 1280; 51 → 48 warps / 8 = 6
    ("h200", 128, 255, 0, 2, ("registers",)),  # 8160 → 8192; 8 warps / 4 = 2
    ("h200", 32, 16, 0, 32, ("blocks",)),
    ("h200", 96, 16, 0, 21, ("warps",)),  # 64 // 3
    ("h200", 1024, 32, 100 << 10, 2, ("warps", "registers", "shared memory")),  # 101 KiB of 228: 2
    ("h200", 256, 32, 227 << 10, 1, ("shared memory",)),  # all of it with the reserve
    ("h200", 256, 32, 30 << 10, 7, ("shared memory",)),  # 31 KiB: 228 // 31
    ("h200", 33, 32, 0, 32, ("warps", "blocks", "registers")),  # 2 warps: 64 / 2 = 32
    ("a100", 512, 32, 53 << 10, 3, ("shared memory",)),  # 54 KiB of 164: 3
    ("l4", 256, 32, 0, 6, ("warps",)),  # 48 // 8
    ("l4", 32, 32, 0, 24, ("blocks",)),
    ("l4", 1024, 32, 0, 1, ("warps",)),  # 48 // 32
    ("titan-x", 1024, 24, 48 << 10, 2, ("warps", "registers", "shared memory")),  # 96 // 48
    ("titan-x", 384, 56, 0, 3, ("registers",)),  # 1792; 36 warps / 12
    ("gtx680", 64, 20, 0, 16, ("blocks",)),
    ("gtx680", 256, 63, 0, 4, ("registers",)),  # 2016 → 2048; 32 warps / 8
    ("c1060", 256, 16, 0, 4, ("warps", "registers")),  # 8 · 32 · 16 = 4096 of 16384
    ("c1060", 256, 17, 0, 3, ("registers",)),  # 4352 → 4608; 16384 // 4608 = 3
    ("c1060", 96, 20, 0, 6, ("registers",)),  # 3 → 4 warps: 2560; 6
    ("c1060", 64, 8, 5 << 10, 3, ("shared memory",)),
]


@pytest.mark.parametrize(("name", "block", "registers", "shared", "blocks", "limited_by"), CASES)
def test_cases_by_hand(
    name: str, block: int, registers: int, shared: int, blocks: int, limited_by: tuple[str, ...]
) -> None:
    found = occupancy(gpu(name), block, registers, shared)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.warps == blocks * -(-block // 32) and found.share == found.warps / gpu(name).max_warps
    assert not found.estimated


def test_what_blocks_take_of_a_unified_l1() -> None:
    h200 = gpu("h200")
    assert occupancy(h200, 256).l1 == 256 << 10, "no shared memory, no carve-out"
    assert occupancy(h200, 1024, 32, 100 << 10).l1 == 256 - 228 << 10, "202 KiB: the largest one"
    assert occupancy(h200, 1024, 32, 20 << 10).l1 == 256 - 64 << 10, "42 KiB"
    assert occupancy(gpu("titan-x"), 1024, 24, 48 << 10).l1 == 24 << 10


def test_registers_are_estimated_where_no_assembler_said_them() -> None:
    found = occupancy(gpu("h200"), 256)
    assert found.estimated and found == occupancy(gpu("h200"), 256, None)
    assert found.blocks == occupancy(gpu("h200"), 256, 32).blocks
    assert repr(found) == "<Occupancy 100%: 8 blocks, 64 warps, limited by warps and registers>"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"block": 0}, "block is 0"),
        ({"block": 2000}, "block is 2000"),
        ({"registers": 256}, "registers is 256"),
        ({"shared": (227 << 10) + 1}, "shared is 232449"),
        ({"block": 1024, "registers": 128}, "1024 threads with 128 registers"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        occupancy(gpu("h200"), **{"block": 256, **given})


@given(st.sampled_from(names()), st.integers(1, 16), st.integers(1, 63), st.integers(0, 16 << 10))
def test_more_of_anything_never_gives_more_blocks(name: str, warps: int, registers: int, shared: int) -> None:
    try:
        found = occupancy(gpu(name), 32 * warps, registers, shared)
    except ArgumentError:
        return
    assert 1 <= found.blocks <= gpu(name).max_blocks and found.warps <= gpu(name).max_warps
    for more in ((32 * warps - 31, registers, shared), (32 * warps, max(1, registers - 1), shared)):
        assert occupancy(gpu(name), *more).blocks >= found.blocks
