"""The memory model against a slow one, on random streams of warps, and what it refuses."""

from __future__ import annotations

import ctypes
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tracecut.ir.gpu.description import Gpu, gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import COLUMNS
from tracecut.ir.gpu.sites import Sites
from tracecut.support.errors import ArgumentError

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
        ("shared", "atomic", 8, "compare-and-swap loop"),
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
    pairs = [(slow.l1_cycles[sm], slow.shared_cycles[sm]) for sm in range(card.multiprocessors)]
    shared = sum(counts["wavefronts"] for site, counts in enumerate(slow.counts) if SITES.space[site] == 1)
    loops = slow.counts[-1]["wavefronts"] * (card.shared_loop_8 - 1) / max(shared, 1)
    both = max(pairs, key=sum) if card.unified else [max(cycles) for cycles in zip(*pairs, strict=True)]
    cycles = both[0], both[1] * (1 + loops)
    busiest = sum(cycles) if card.unified else max(cycles)
    requests = sum(counts["lines"] * counts["l2_asked"] / max(counts["sectors"], 1) for counts in slow.counts)
    requests += card.l2_atomic * slow.counts[5]["accesses"]
    bandwidth = card.l2_bandwidth or float("inf")
    assert found.seconds[2] == pytest.approx(32 * requests / bandwidth, rel=1e-12)
    assert found.seconds[3] == pytest.approx(busiest / card.clock, rel=1e-12)
    return total


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("pointer", [False, True])
def test_counts_equal_the_slow_model(name: str, pointer: bool) -> None:
    total = 0
    for seed in range(40):
        window, resident = (65, 100, 1 << 12)[seed % 3], 1 + seed % 2
        total += check(CARDS[name], 1000 * len(name) + seed, window, resident, pointer)
    assert total > 20_000


@pytest.mark.parametrize("name", CARDS)
def test_a_second_launch_finds_the_l2_of_the_first(name: str) -> None:
    card = CARDS[name]
    model = MemoryModel(card, SITES, 32)
    address = 4 * np.arange(32)
    model.consume_steps(0, [0], address[None])
    first = model.report()
    model.next_launch()
    assert model.report().requests == 0
    model.consume_steps(0, [0], address[None])
    second = model.report()
    assert first.counts.tolist()[0][:8] == second.counts.tolist()[0][:8], "L1s are empty again"
    assert first.hbm_read == 4 and second.hbm_read == (0 if card.l2_size else 4)


def test_steps_and_blocks_count_the_same() -> None:
    generator = np.random.default_rng(3)
    site = generator.integers(0, len(SITES), 20)
    address = generator.integers(-500, 5000, (20, 80)) // 16 * 16
    one, other = (MemoryModel(SMALL, SITES, 96) for _ in range(2))
    one.consume_steps(5, site, address)
    warps = [
        [
            [(int(site[step]), int(address[step, t])) for step in range(20) if address[step, t] >= 0] if t < 80 else []
            for t in range(32 * warp, 32 * warp + 32)
        ]
        for warp in range(3)
    ]
    other.consume_block(5, *arrays_of(warps))
    assert one.report().counts.tolist() == other.report().counts.tolist()
    assert one.report().warps == 3 and one.report().seconds == other.report().seconds


def test_many_blocks_at_once_count_as_one_after_the_other() -> None:
    """Five warps in blocks of two: the last block has one."""
    draw = np.random.default_rng(2)
    first = np.cumsum(np.concatenate([[0], draw.integers(0, 3, 5 * 32)]))
    rows = np.stack([first[32 * warp : 32 * warp + 33] for warp in range(5)])
    site = draw.choice([0, 1, 3], first[-1])
    address = 16 * draw.integers(0, 4096, first[-1])
    together, apart = (MemoryModel(SMALL, SITES, 64) for _ in range(2))
    together.consume_blocks(7, 2, rows, site, address)
    for block in range(3):
        apart.consume_block(7 + block, rows[2 * block : 2 * block + 2], site, address)
    assert np.array_equal(together.report().counts, apart.report().counts)
    assert together.report().seconds == apart.report().seconds
    with pytest.raises(ArgumentError, match="warps"):
        together.consume_blocks(0, 3, rows, site, address)


def test_a_report_may_be_asked_for_twice() -> None:
    model = MemoryModel(SMALL, SITES, 64)
    model.consume_steps(0, [3], 8 * np.arange(64)[None])
    one, two = model.report(), model.report()
    assert one.hbm_bytes == two.hbm_bytes == 512 and one.counts.tolist() == two.counts.tolist()
    assert repr(model).startswith("<MemoryModel NVIDIA H200: 14 sites, <Occupancy") and "2 warps so far" in repr(model)


def test_memory_does_not_grow_with_the_accesses() -> None:
    model = MemoryModel(SMALL, SITES, 64, window=4096)
    address = np.random.default_rng(0).integers(0, 1 << 20, (50, 64)) * 16
    tracemalloc.start()
    model.consume_steps(0, np.zeros(50), address)
    before = tracemalloc.get_traced_memory()[0]
    for block in range(200):
        model.consume_steps(block, np.zeros(50), address)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 10_000 and model.report().counts[0, 1] == 201 * 50 * 64


@pytest.mark.parametrize(
    ("first", "site", "address", "words"),
    [
        (np.zeros((1, 32)), [], [], r"first has the shape \(1, 32\)"),
        (np.zeros((1, 33)), [0], [], "1 sites, 0 addresses"),
        (np.r_[np.zeros(32), 2][None], [0], [0], r"first\[32\] = 2"),
        (np.r_[0, 1, np.zeros(31)][None], [0], [0], "first falls within a warp"),
        (np.r_[np.zeros(32), 1][None], [14], [0], r"site\[0\] = 14"),
        (np.r_[np.zeros(32), 1][None], [-1], [0], "does not fit uint16"),
        (np.r_[np.zeros(32), 1][None], [0], [-4], "does not fit uint64"),
        (np.r_[np.zeros(32), 1][None], [0], np.array([1 << 62], np.uint64), r"address\[0\]"),
        (np.r_[np.zeros(32), 1][None], [0.5], [0], "is not an integer"),
        (np.r_[np.zeros(32), 1][None], [0], [np.nan], "is not an integer"),
    ],
)
def test_odd_events_are_refused(first: Any, site: Any, address: Any, words: str) -> None:
    model = MemoryModel(SMALL, SITES, 64)
    with pytest.raises(ArgumentError, match=words):
        model.consume_block(0, first, site, address)
    assert model.report().warps == 0


@pytest.mark.parametrize(("site", "address", "words"), [(14, 0, "site 14"), (0, 1 << 62, "2\\^62")])
def test_odd_events_of_machine_code_are_told_in_the_end(site: int, address: int, words: str) -> None:
    model = MemoryModel(SMALL, SITES, 64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, *[ctypes.c_void_p] * 3)(model.pointer)
    first, sites, places = (
        np.r_[np.zeros(32), 1].astype(np.int32),
        np.array([site], np.uint16),
        np.array([address], np.uint64),
    )
    call(model.state, 0, 0, first.ctypes.data, sites.ctypes.data, places.ctypes.data)
    with pytest.raises(ArgumentError, match=words):
        model.report()


def test_odd_models_are_refused() -> None:
    for given, words in (
        ({"window": 64}, "window is 64"),
        ({"resident": 5}, "resident is 5"),
        ({"shared": -1}, "shared"),
    ):
        with pytest.raises(ArgumentError, match=words):
            MemoryModel(SMALL, SITES, 32, **given)
    with pytest.raises(ArgumentError, match="block is 0"):
        MemoryModel(SMALL, SITES, 0)
    with pytest.raises(ArgumentError, match="block is -1"):
        MemoryModel(SMALL, SITES, 32).consume_steps(-1, [0], [[0]])
    with pytest.raises(ArgumentError, match="of 32 threads at most"):
        MemoryModel(SMALL, SITES, 32).consume_steps(0, [0], np.zeros((1, 33)))
