"""The memory model against a slow one, on random streams of warps, and what it refuses."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tracecut.ir.gpu.description import Gpu, gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import COLUMNS
from tracecut.ir.gpu.sites import Sites

from .reference import Lane, SlowModel

pytestmark = pytest.mark.quick

SMALL = replace(
    gpu("h200"),
    multiprocessors=3,
    carveouts=(),
    l1_size=8 << 10,
    l2_size=24 << 10,  # 12 sets: no power of two
    max_warps=4,
    max_threads=128,
    max_block_threads=128,
)
CARDS = {
    "unified L1": SMALL,
    "other ways": replace(SMALL, l1_ways=2, l1_size=1 << 10, l2_ways=3, l2_size=3 << 11),
    "texture cache": replace(SMALL, l1_global=False, l1_size=1 << 11, read_only_size=1 << 11, l1_ways=4, l2_ways=4),
    "half-warps, no cache": replace(
        SMALL, request_lanes=16, banks=16, l1_size=0, l2_size=0, l2_bandwidth=0.0, l1_global=False, l1_tags=1
    ),
}
SITES = Sites.of(
    [
        ("global", "load", 4),
        ("global", "load", 8, "read-only"),
        ("global", "load", 4, "evict-first"),
        ("global", "store", 8),
        ("global", "store", 16, "evict-first"),
        ("global", "atomic", 4),
        ("shared", "load", 4),
        ("shared", "store", 8),
        ("shared", "load", 16),
        ("shared", "atomic", 4),
        ("global", "load", 1),
        ("global", "load", 16),
        ("global", "store", 2),
    ]
)


def random_warp(generator: np.random.Generator, odd: bool) -> list[Lane]:
    """Lanes in step, or not; near or scattered addresses; some lanes off."""
    steps = int(generator.integers(0, 9))
    sites = generator.integers(0, len(SITES), steps)
    span = int(generator.choice([256, 4096, 1 << 16]))
    lanes: list[Lane] = []
    off = generator.random() < 0.3
    apart = generator.random() < 0.4
    base = generator.integers(0, span, steps)
    stride = generator.choice([0, 1, 2, 4, 32, 33], steps)
    scattered = generator.random(steps) < 0.4
    for lane in range(32):
        events: Lane = []
        for step, site in enumerate(sites):
            if (off and generator.random() < 0.5) or (apart and generator.random() < 0.3):
                if apart:
                    continue
                events = []
                break
            size = int(SITES.bytes[site])
            address = (
                int(generator.integers(0, span))
                if scattered[step]
                else int(base[step]) + lane * size * int(stride[step])
            )
            events.append((int(site), address if odd else address // size * size))
        lanes.append(events)
    return lanes


def arrays_of(warps: list[list[Lane]]) -> tuple[Any, Any, Any]:
    counts = [[len(lane) for lane in lanes] for lanes in warps]
    ends = np.cumsum([0, *np.ravel(counts)])
    first = np.array([ends[32 * w : 32 * w + 33] for w in range(len(warps))], np.int32).reshape(-1, 33)
    events = [event for lanes in warps for lane in lanes for event in lane]
    return first, np.array([site for site, _ in events], np.uint16), np.array([at for _, at in events], np.uint64)


def check(card: Gpu, seed: int, window: int, resident: int, pointer: bool) -> int:
    generator = np.random.default_rng(seed)
    model = MemoryModel(card, SITES, 64, registers=16, resident=resident, window=window)
    slow = SlowModel(card, SITES, model.occupancy.l1, resident, window, 2 * resident * card.multiprocessors)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, *[ctypes.c_void_p] * 3)(model.pointer)
    odd = bool(generator.random() < 0.3)
    total = 0
    for block in range(int(generator.integers(1, 12))):
        warps = [random_warp(generator, odd) for _ in range(2)]
        first, site, address = arrays_of(warps)
        total += address.size
        if pointer:
            for warp, starts in enumerate(first):
                call(model.state, block, warp, starts.ctypes.data, site.ctypes.data, address.ctypes.data)
        else:
            model.consume_block(block, first, site, address)
        for lanes in warps:
            slow.consume(block, lanes)
    found = model.report()
    slow.play()
    expected = [[counts[name] for name in COLUMNS] for counts in slow.counts]
    assert found.counts.tolist() == expected
    written = slow.written + (slow.l2.changed() if slow.l2 else 0)
    assert (found.hbm_read, found.hbm_written) == (slow.read, written)
    busiest = max((slow.l1_cycles[sm], slow.shared_cycles[sm]) for sm in range(card.multiprocessors))
    assert found.seconds[2] == max(slow.l1_cycles.values(), default=0) / card.clock or busiest[1]
    return total


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("pointer", [False, True])
def test_counts_equal_the_slow_model(name: str, pointer: bool) -> None:
    total = 0
    for seed in range(40):
        window, resident = (64, 100, 1 << 12)[seed % 3], 1 + seed % 2
        total += check(CARDS[name], 1000 * len(name) + seed, window, resident, pointer)
    assert total > 20_000
