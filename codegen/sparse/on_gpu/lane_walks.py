"""What the lanes of a kernel's warps walk over, and what the memory model says of it.

A kernel is a few phases, one after the other in each warp. In a phase each lane takes the places begin, begin + stride,
…: at each it reads some arrays there, and reads or changes the element of x or y that a list names there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tracecut.ir.gpu.description import SECTOR, Gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.gpu.roofline import together
from tracecut.ir.gpu.sites import Sites
from tracecut.support.arrays import Ints, Longs, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

WARP = 32
EVENTS = 1 << 22  # that are made at a time: 40 MB
VALUE, COLUMN, ROW, LIST, HEAD, SHORT_COLUMN, SHORT_ROW, X, READ, STORE, ATOMIC = range(11)  # rows of `sites`
WIDTHS = {COLUMN: 4, ROW: 4, LIST: 4, HEAD: 4, SHORT_COLUMN: 2, SHORT_ROW: 2}  # bytes; a value has its own
X_AT, Y_AT, ARRAYS_AT = 0, 1 << 40, 1 << 41
USES = {"x": (X,), "store": (STORE,), "add": (READ, STORE), "atomic": (ATOMIC,)}
Words = npt.NDArray[np.uint16]
Addresses = npt.NDArray[np.uint64]


def sites(size: int, gpu: Gpu) -> Sites:
    """The memory instructions of all kernels, for values of `size` bytes. What is read once leaves the caches first.

    So does y on cards with a texture cache: the L2 is then behind that cache alone.
    """
    y = ("evict-first",) if gpu.read_only_size else ()
    return Sites.of(
        [
            ("global", "load", size, "evict-first"),
            *[("global", "load", 4, "evict-first")] * 4,
            *[("global", "load", 2, "evict-first")] * 2,
            ("global", "load", size, "read-only"),
            ("global", "load", size, *y),
            ("global", "store", size, *y),
            ("global", "atomic", size),
        ]
    )


@dataclass(frozen=True, eq=False)
class Phase:
    """A walk of all lanes of a launch.

    Attributes:
        begin, stride, count: int64 (warps · 32), the places of each lane.
        streams: what is read at each place, VALUE or a row of WIDTHS, and the address of the array.
        elements: int32 (places), the element of x or y that each place names; -1: none. Empty where no place does.
        use: what is done with it: "x" reads x; "store", "add" or "atomic" change y.
    """

    begin: Longs
    stride: Longs
    count: Longs
    streams: tuple[tuple[int, int], ...]
    elements: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    use: str = "x"

    def __post_init__(self) -> None:
        if self.use not in USES:
            raise ArgumentError(f"use is {self.use!r}, one of {', '.join(USES)} was expected")
        for name in ("begin", "stride", "count"):
            lanes = frozen(name, getattr(self, name), np.int64)
            if lanes.size != self.begin.size or lanes.size % WARP:
                raise ArgumentError(f"{name} has {lanes.size} entries, {self.begin.size} for whole warps were expected")
            object.__setattr__(self, name, lanes)
        walked = self.count > 0
        ends = np.concatenate([self.begin, self.begin + self.stride * (self.count - 1)])[np.tile(walked, 2)]
        if ends.min(initial=0) < 0 or (self.elements.size and ends.max(initial=0) >= self.elements.size):
            raise ArgumentError(f"lanes walk over places {ends.min()} to {ends.max()} of {self.elements.size}")


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel: its phases, all of as many warps, and the warps of a block."""

    phases: tuple[Phase, ...]
    block: int = 8

    @property
    def warps(self) -> int:
        return self.phases[0].begin.size // WARP


@dataclass(frozen=True)
class Modelled:
    """What all launches of a product ask of a GPU, by its memory model: modelled, not measured.

    Attributes:
        gpu: its name. launches: how many.
        l2_bytes: between multiprocessors and L2, or memory where there is no L2. x_bytes: those of x.
        hbm_bytes: from and to memory.
        requests: of warps. each: seconds of each launch, starting it included.
    """

    gpu: str
    launches: int
    l2_bytes: int
    x_bytes: int
    hbm_bytes: int
    requests: int
    each: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """Of all launches, one after the other."""
        return sum(self.each)


def modelled(launches: Sequence[Launch], gpu: Gpu, size: int) -> Modelled:
    """Launches one after the other: the L2 keeps what it has, the L1s begin empty.

    Args:
        launches: one at least, all of blocks of the same size.
        size: bytes of a value, 4, 8 or 16.

    O(accesses), about 0.1 µs each. Raises ArgumentError for no launch or several sizes of blocks.
    """
    blocks = {each.block for each in launches}
    if len(blocks) != 1:
        raise ArgumentError(f"the launches have blocks of {sorted(blocks)} warps, one size was expected")
    model = MemoryModel(gpu, sites(size, gpu), WARP * blocks.pop())
    l2 = x = hbm = requests = 0
    seconds: list[float] = []
    for number, each in enumerate(launches):
        kept = 0
        if number:
            model.next_launch()
            kept = model.report().hbm_written  # changed by the launches before, and counted there
        for first, site, address, block in _events(each, size):
            model.consume_blocks(block, each.block, first, site, address)
        found = model.report()
        l2, requests = l2 + found.l2_bytes, requests + found.requests
        x += int(found.l2_bytes_by_site[X])
        hbm += found.hbm_bytes - SECTOR * kept
        seconds.append(_seconds(found, kept, gpu))
    return Modelled(gpu.name, len(launches), l2, x, hbm, requests, tuple(seconds))


def _seconds(report: MemoryReport, kept: int, gpu: Gpu) -> float:
    memory, *others = report.seconds
    parts = (max(0.0, memory - SECTOR * kept / gpu.hbm_bandwidth), *others)
    return together(parts, report.overlap) + report.launch


def _events(launch: Launch, size: int) -> Iterator[tuple[Ints, Words, Addresses, int]]:
    """Accesses of some blocks at a time: where lanes begin, sites, addresses, and the number of the first block."""
    lanes = np.zeros(launch.warps * WARP, np.int64)
    for phase in launch.phases:
        _count(phase.count, *_walk(phase), lanes)
    before = np.concatenate([[0], np.cumsum(lanes)])
    at_warp = before[::WARP]
    cut = 0
    while cut < launch.warps:
        last = int(np.searchsorted(at_warp, at_warp[cut] + EVENTS, side="right")) - 1
        end = min(launch.warps, max(cut + launch.block, last // launch.block * launch.block))
        own = before[cut * WARP : end * WARP + 1] - before[cut * WARP]
        site, address = np.empty(own[-1], np.uint16), np.empty(own[-1], np.uint64)
        at = own[:-1].copy()
        for phase in launch.phases:
            base = X_AT if phase.use == "x" else Y_AT
            _fill(cut * WARP, phase.count, *_walk(phase), base, size, at, site, address)
        first = np.stack([own[:-1].reshape(-1, WARP)[:, 0], *own[1:].reshape(-1, WARP).T], axis=1)
        yield first.astype(np.int32), site, address, cut // launch.block
        cut = end


def _walk(phase: Phase) -> tuple[Longs, Longs, Longs, Longs, Ints]:
    """Begins and strides of lanes; streams: site, bytes, address; the sites of elements; elements."""
    streams = np.array([(site, WIDTHS.get(site, 0), place) for site, place in phase.streams], np.int64)
    uses = np.array(USES[phase.use], np.int64)
    return phase.begin, phase.stride, streams.reshape(-1, 3), uses, phase.elements


@kept
def _count(
    count: Longs, begin: Longs, stride: Longs, streams: Longs, uses: Longs, elements: Ints, lanes: Longs
) -> None:
    """Adds the accesses of each lane to `lanes`."""
    for lane in range(count.size):
        lanes[lane] += count[lane] * streams.shape[0]
        if elements.size:
            for step in range(count[lane]):
                if elements[begin[lane] + step * stride[lane]] >= 0:
                    lanes[lane] += uses.size


@kept
def _fill(
    skipped: int, count: Longs, begin: Longs, stride: Longs, streams: Longs, uses: Longs, elements: Ints,
    base: int, size: int, at: Longs, site: Words, address: Addresses,
) -> None:  # fmt: skip
    """The accesses of the lanes from `skipped` on, of each at its place in `at`."""
    for own in range(at.size):
        lane, to = skipped + own, at[own]
        for step in range(count[lane]):
            place = begin[lane] + step * stride[lane]
            for stream in range(streams.shape[0]):
                width = streams[stream, 1] if streams[stream, 1] else size
                site[to] = streams[stream, 0]
                address[to] = streams[stream, 2] + place * width
                to += 1
            if elements.size and elements[place] >= 0:
                for use in uses:
                    site[to] = use
                    address[to] = base + elements[place] * np.int64(size)
                    to += 1
        at[own] = to
