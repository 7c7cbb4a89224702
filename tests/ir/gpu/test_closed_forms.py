"""What the model must say where the answer is known: strides, broadcasts, padding; and what holds for all requests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import gcd
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.gpu.bank_conflicts import bank_wavefronts
from tracecut.ir.gpu.description import gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.gpu.roofline import together
from tracecut.ir.gpu.sites import Sites
from tracecut.support.errors import ArgumentError, ArtefactError

pytestmark = pytest.mark.quick

LANES = np.arange(32)
H200 = gpu("h200")
# Cycles of a load that hits the L1 of an H200, by stride: gpu-benches (github.com/te42kyfo/gpu-benches),
# gpu-strides/h200.txt. Left out are strides 3, 7 and 15 of 4 bytes: 1.63, 2.41 and 4.6 cycles; the model says 1, 2, 4.
MEASURED = {
    4: {
        0: 1.01,
        1: 1.01,
        2: 2.01,
        4: 4.01,
        5: 2.0,
        6: 2.32,
        8: 8.0,
        9: 3.0,
        10: 3.16,
        11: 3.41,
        12: 4.01,
        13: 4.1,
        14: 4.25,
    },
    8: {0: 2.01, 1: 2.01, 2: 4.01, 3: 2.32, 4: 8.0, 5: 3.16, 6: 4.01, 7: 4.32, 8: 16.0, 9: 5.3, 10: 5.5},
}


def one(sites: Sites, address: object, site: int = 0, block: int = 32) -> MemoryReport:
    model = MemoryModel(H200, sites, block)
    model.consume_steps(0, [site], np.asarray(address)[None])
    return model.report()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("stride", [0, 1, 2, 3, 4, 8, 9, 16, 32, 33, 100])
@pytest.mark.parametrize("base", [0, 16, 28])
def test_sectors_of_strides(size: int, stride: int, base: int) -> None:
    address = base // size * size + LANES * stride * size
    found = one(Sites.of([("global", "load", size)]), address)
    sectors = {byte // 32 for first in address for byte in range(first, first + size)}
    assert found.sectors == len(sectors) and found.requests == 1
    assert found.counts[0, 3] == len({sector // 4 for sector in sectors})
    if base == 0 and size * stride >= 32:
        assert found.sectors == 32
    if base == 0 and size * stride < 32 and stride:
        assert found.sectors == -(-(31 * stride * size + size) // 32)
    assert found.hbm_bytes == 32 * found.sectors == found.l2_bytes == found.l1_bytes


@pytest.mark.parametrize("size", [4, 8])
def test_cycles_of_strides_are_those_measured_on_a_card(size: int) -> None:
    for stride, cycles in MEASURED[size].items():
        found = one(Sites.of([("global", "load", size)]), LANES * stride * size)
        assert found.counts[0, 4] == pytest.approx(cycles, rel=0.15), (size, stride)


def test_bank_conflicts_of_strides() -> None:
    for stride in range(1, 129):
        assert bank_wavefronts(LANES * 4 * stride, 4)[0] == gcd(stride, 32), stride
        # Half-warps of 16 lanes, two banks each: stride s makes min(gcd(s, 16), 16) of them meet.
        assert bank_wavefronts(LANES * 8 * stride, 8) == (2 * gcd(stride, 16), 2 * gcd(stride, 16) - 2), stride
        assert bank_wavefronts(LANES * 16 * stride, 16)[0] == 4 * gcd(stride, 8), stride
        assert bank_wavefronts(LANES[:16] * 4 * stride, 4, banks=16)[0] == gcd(stride, 16), stride


def test_broadcast_padding_and_one_bank() -> None:
    assert bank_wavefronts(np.full(32, 64), 4) == (1, 0)
    assert bank_wavefronts(np.full(32, 64), 8) == (2, 0)
    assert bank_wavefronts(np.full(32, 64), 4, atomic=True) == (32, 31)
    column = lambda width: LANES * 4 * width + 20  # noqa: E731
    assert bank_wavefronts(column(32), 4) == (32, 31) and bank_wavefronts(column(33), 4) == (1, 0)
    assert bank_wavefronts(LANES // 2 * 128, 4) == (16, 15), "two lanes a word"
    assert bank_wavefronts(LANES * 1, 1) == (1, 0) and bank_wavefronts(LANES * 2, 2) == (1, 0)
    assert bank_wavefronts([], 4) == (0, 0)
    assert bank_wavefronts([0, 128], 4, lanes=[3, 30]) == (2, 1)
    assert bank_wavefronts([0, 128], 8, lanes=[3, 30]) == (2, 0), "not in the same half"


@pytest.mark.parametrize(
    ("addresses", "size", "banks", "lanes"),
    [
        (LANES, 3, 32, None),
        (LANES, 4, 8, None),
        (np.arange(33), 4, 32, None),
        ([0, 4], 4, 32, [1, 1]),
        ([-4], 4, 32, None),
    ],
)
def test_odd_requests_are_refused(addresses: object, size: int, banks: int, lanes: object) -> None:
    with pytest.raises(ArgumentError):
        bank_wavefronts(addresses, size, banks, lanes=lanes)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=32), st.sampled_from([1, 2, 4, 8, 16]), st.randoms())
def test_what_holds_for_each_request(index: list[int], size: int, random: object) -> None:
    address = np.full(32, -1)
    address[: len(index)] = np.array(index) * size
    sites = Sites.of([("global", "load", size), ("shared", "load", size), ("global", "store", size)])
    found = one(sites, address)
    touched = len({byte for i in index for byte in range(i * size, i * size + size)})
    assert touched / 32 <= found.sectors <= min(touched, len(index)), "an aligned access lies in one sector"
    mixed = address.copy()
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert one(sites, mixed).sectors == found.sectors and one(sites, mixed).hbm_bytes == found.hbm_bytes
    if size <= 4:
        assert one(sites, mixed, 1).bank_conflicts == one(sites, address, 1).bank_conflicts
    stored = one(sites, address, 2)
    assert stored.hbm_written == stored.sectors == found.sectors
    bytes_of = Counter(byte // 32 for byte in {byte for i in index for byte in range(i * size, i * size + size)})
    full = sum(count == 32 for count in bytes_of.values())
    assert stored.hbm_read == stored.sectors - full, "sectors that are not filled are read first"


def test_evict_first_streams_leave_the_l2_to_others() -> None:
    """A vector that fits is read twice; between, a stream that is larger than the L2."""
    small = replace(H200, l2_size=1 << 20, multiprocessors=2)

    def read(hint: str) -> int:
        sites = Sites.of([("global", "load", 4), ("global", "load", 16, hint)])
        model = MemoryModel(small, sites, 1024)
        for step in range(2):
            for block in range(64):
                model.consume_steps(block + 200 * step, [0], 4096 * block + 4 * np.arange(1024)[None])
            for block in range(256 * (1 - step)):
                model.consume_steps(block + 64, [1], (1 << 30) + 16384 * block + 16 * np.arange(1024)[None])
        return model.report().hbm_read - (256 * 16384) // 32

    once = 64 * 4096 // 32
    assert read("") == 2 * once and read("evict-first") <= 1.1 * once


def test_what_binds() -> None:
    sites = Sites.of([("global", "load", 4), ("shared", "load", 4), ("global", "atomic", 4)])
    assert one(sites, LANES * 4).bound == "launch"

    instant = dict.fromkeys(("shared_latency", "loop_latency", "l1_latency", "l2_latency"), 1e-6)
    at_once = replace(H200, launch_overhead=0.0, l2_atomic=1.0, **instant)

    def bound(site: int, address: npt.NDArray[np.int64], blocks: int, **report: int) -> str:
        model = MemoryModel(at_once, sites, 32)
        for block in range(blocks):
            model.consume_steps(block, np.full(20, site), np.tile(address, (20, 1)))
        return model.report(**report).bound

    stream = lambda block, steps: (block * steps + np.arange(steps)[:, None]) * 128 + LANES * 4  # noqa: E731
    blocks, steps = 264, 20
    model = MemoryModel(at_once, sites, 32)
    for block in range(blocks):
        model.consume_steps(block, np.zeros(steps), stream(block, steps))
    found = model.report()
    size = blocks * steps * 128
    assert found.bound == "HBM" and found.seconds[0] == pytest.approx(size / H200.hbm_bandwidth)
    assert found.seconds[1:3] == pytest.approx((size / H200.l2_bandwidth, size / 4 / H200.l2_bandwidth))
    assert found.time == together(found.seconds, H200.overlap) > found.seconds[0]
    assert bound(1, LANES * 128, 264) == "L1/shared"
    assert bound(2, LANES * 32, 264) == "L2", "the same sectors again and again"
    assert bound(2, LANES // 8 * 128, 264) == "L2 requests", "four sectors, 32 lanes"
    alone = one(sites, LANES * 4, site=1)
    assert replace(alone, launch=0.0).bound == "latency", "one warp by itself"
    assert bound(0, LANES * 0, 4, instructions=10**6) == "issue"


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=5), st.floats(1, 8))
def test_parts_together_take_the_longest_at_least_and_all_at_most(seconds: list[float], overlap: float) -> None:
    found = together(tuple(seconds), overlap)
    assert max(seconds) <= found <= sum(seconds) * (1 + 1e-12)
    assert found >= together(tuple(seconds), overlap + 1) * (1 - 1e-12), "the better they hide, the less it takes"


def test_atomic_accesses_take_the_l2_a_line_and_each_lane() -> None:
    """One line for the lanes of a warp: 1 + 1.7 · 32 of what a sector takes."""
    found = one(Sites.of([("global", "atomic", 4)]), LANES * 4)
    assert found.seconds[2] == pytest.approx((1 + 32 * H200.l2_atomic) * 32 / H200.l2_bandwidth)


@pytest.mark.parametrize(("size", "factor"), [(4, H200.shared_loop_4), (8, H200.shared_loop_8)])
def test_loops_of_compare_and_swap_take_wavefronts_and_waiting_more(size: int, factor: float) -> None:
    plain, loop = (
        one(Sites.of([("shared", "atomic", size, hint)]), LANES * size) for hint in ("", "compare-and-swap loop")
    )
    assert loop.seconds[3] == pytest.approx(factor * plain.seconds[3])
    assert loop.seconds[5] * H200.clock == pytest.approx(H200.loop_latency)
    assert plain.seconds[5] * H200.clock == pytest.approx(H200.shared_latency)
    assert loop.counts.tolist() == plain.counts.tolist()


def test_a_report_is_saved_and_read(tmp_path: Path) -> None:
    sites = Sites.of([("global", "load", 4, "read-only", "a.c:3"), ("shared", "store", 8)])
    found = one(sites, LANES * 8)
    path = found.save(tmp_path / "report.npz")
    read = MemoryReport.load(path)
    assert read.counts.tolist() == found.counts.tolist() and read.summary() == found.summary()
    assert read.occupancy == found.occupancy and read.sites.where == ("a.c:3", "") and repr(read) == repr(found)
    assert read.table() == found.table() and "load of 4 bytes, global, read-only, at a.c:3" in read.table()
    assert found.sectors_per_request == 8 and found.sectors_per_request_by_site.tolist() == [8, 0]
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), 97):
        damaged = bytearray(data)
        damaged[place] ^= 0x21
        path.write_bytes(bytes(damaged))
        with pytest.raises(ArtefactError, match=r"report\.npz"):
            MemoryReport.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hbm_read": -1}, "hbm_read"),
        ({"seconds": (0.0,) * 5}, "seconds"),
        ({"seconds": (*(0.0,) * 5, float("nan"))}, "seconds"),
        ({"counts": np.zeros((2, 9))}, "1 sites were expected"),
        ({"counts": -np.ones((1, 9))}, "a count is negative"),
        ({"counts": np.array([[1, 1, 200, 1, 1, 0, 0, 0, 0]])}, "site 0 has more sectors than its lines allow"),
    ],
)
def test_reports_that_do_not_fit_together_are_refused(change: dict[str, object], words: str) -> None:
    found = one(Sites.of([("global", "load", 4)]), LANES * 4)
    with pytest.raises(ArgumentError, match=words):
        replace(found, **change)
