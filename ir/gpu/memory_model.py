"""The memory of a GPU as a consumer of accesses: warp after warp in, a report out, nothing kept.

Two ways in count the same: `consume_block`, `consume_blocks` and `consume_steps` take arrays; `pointer` and `state` are
for machine code that calls a C function once a warp (its signature stands in `sites.py`). Compiling it takes some
seconds, once.

What the model leaves out: how many accesses a thread has under way (latencies are fitted to what kernels have);
barriers (warps keep in step by their requests); the two halves of a large L2, and what it holds less for them; TLBs;
atomic accesses of one word that wait for each other in the L2; instructions, where nobody says how many there were.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import cfunc, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from tracecut.ir.machine.cache_simulator import EMPTY
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Ints, Longs, check_range, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .caches import changed_sectors
from .coalesce import Addresses, Words, consume_warp
from .description import SECTOR, WARP, Gpu
from .interleave import play
from .memory_report import MemoryReport
from .occupancy import Occupancy, occupancy, waiting
from .roofline import times
from .sites import ATOMIC, GLOBAL, LOAD, LOOP, SHARED, Sites
from .state import (
    ACCESSES,
    AT_COUNTS,
    AT_L1,
    AT_L2,
    AT_STREAMS,
    BAD_ADDRESS,
    BAD_SITE,
    CURRENT_WAVE,
    HBM_READ,
    HBM_WRITTEN,
    L2_ASKED,
    LINES,
    MOST_WORDS,
    REQUESTS,
    SECTORS,
    SM_L1,
    SM_REQUESTS,
    SM_SHARED,
    WARPS,
    WAVEFRONTS,
    counts_of,
    processors_of,
    state_at,
    state_of,
)

WINDOW = 1 << 22  # words of 8 bytes, one for each request that waits for the caches and one for each of its lines
HIGHEST = 1 << 62  # no address of global memory lies there
_NO_SITE, _NO_ADDRESS = np.zeros(0, np.uint16), np.zeros(0, np.uint64)


class MemoryModel:
    """Counts what the warps of one kernel ask of a GPU's memory.

    Args:
        gpu: a description. sites: the kernel's memory instructions.
        block: threads of a block. registers, shared: of a thread and of a block, as `occupancy` takes them.
        resident: blocks on a multiprocessor at a time; None: as many as the occupancy allows.
        window: requests and lines of requests that wait for the caches at most; the more, the more of the warps that
            run at the same time are seen at the same time. Memory: 8 bytes each, beside 8 bytes a line of all caches.

    Warps come in the order in which their blocks begin. What was consumed stays counted: a model is for one launch, or,
    with `next_launch`, for one after the other.
    """

    def __init__(
        self,
        gpu: Gpu,
        sites: Sites,
        block: int,
        *,
        registers: int | None = None,
        shared: int = 0,
        resident: int | None = None,
        window: int = WINDOW,
    ) -> None:
        whole_number("window", window, MOST_WORDS, 1 << 31)
        self.gpu, self.sites, self.block = gpu, sites, block
        self.occupancy: Occupancy = occupancy(gpu, block, registers, shared)
        blocks = self.occupancy.blocks
        if resident is not None:
            blocks = whole_number("resident", resident, 1, blocks)
        self._warps = blocks * -(-block // WARP)  # of a multiprocessor at a time
        self._state: Longs = state_of(gpu, sites, self.occupancy.l1, blocks, window, self._warps * gpu.multiprocessors)

    @property
    def pointer(self) -> int:
        """Address of the C function of `sites.py` that counts one warp. It lives as long as the process."""
        return _consumer().address

    @property
    def state(self) -> int:
        """What its first argument has to be; valid while this model lives, for one thread at a time."""
        return self._state.ctypes.data

    def consume_block(self, block: int, first: npt.ArrayLike, site: npt.ArrayLike, address: npt.ArrayLike) -> None:
        """Count the accesses of warps of one block. O(accesses).

        Args:
            block: number of the block in the grid.
            first: int32 (warps, 33): the events of lane l of warp w are first[w, l] … first[w, l + 1] − 1.
            site: uint16 (events). address: uint64 (events), bytes; below 2⁶².

        Raises:
            ArgumentError: offsets that fall or leave the events, sites that there are not, addresses above 2⁶²; nothing
                is counted then.
        """
        whole_number("block", block, 0, 1 << 40)
        _consume_block(self.pointer, self.state, block, *self._checked(first, site, address))

    def _checked(
        self, first: npt.ArrayLike, site: npt.ArrayLike, address: npt.ArrayLike
    ) -> tuple[Ints, Words, Addresses]:
        starts = frozen("first", first, np.int32, ndim=2)
        own, where = frozen("site", site, np.uint16), frozen("address", address, np.uint64)
        if starts.shape[1] != WARP + 1 or own.size != where.size:
            raise ArgumentError(
                f"first has the shape {starts.shape}, {own.size} sites, {where.size} addresses were given"
            )
        check_range("first", starts.ravel(), 0, own.size + 1)
        if (np.diff(starts, axis=1) < 0).any():
            raise ArgumentError("first falls within a warp; it should rise from lane to lane")
        check_range("site", own, 0, len(self.sites))
        check_range("address", where, 0, HIGHEST)
        return starts, own, where

    def consume_blocks(
        self, block: int, warps: int, first: npt.ArrayLike, site: npt.ArrayLike, address: npt.ArrayLike
    ) -> None:
        """`consume_block` for consecutive blocks: `warps` rows of `first` for each, fewer for the last. O(accesses).

        Args:
            block: number of the first block. warps: of a block, at most those that the model was made for.

        Raises ArgumentError as `consume_block`; nothing is counted then.
        """
        whole_number("block", block, 0, 1 << 40)
        whole_number("warps", warps, 1, -(-self.block // WARP))
        _consume_blocks(self.pointer, self.state, block, warps, *self._checked(first, site, address))

    def consume_steps(self, block: int, site: npt.ArrayLike, address: npt.ArrayLike) -> None:
        """The same for threads that run in step: all of them access one site, then all the next. O(accesses).

        Args:
            block: number of the block in the grid.
            site: int (steps), site of each step.
            address: int64 (steps, threads), threads ≤ those of a block; negative: the thread leaves the step out.

        Raises:
            ArgumentError: as `consume_block`, or more threads than a block has.
        """
        whole_number("block", block, 0, 1 << 40)
        own, where = frozen("site", site, np.uint16), frozen("address", address, np.int64, ndim=2)
        if own.size != where.shape[0] or where.shape[1] > self.block:
            raise ArgumentError(f"{own.size} steps of {self.block} threads at most, addresses {where.shape} were given")
        check_range("site", own, 0, len(self.sites))
        check_range("address", where.ravel(), -HIGHEST, HIGHEST)
        _consume_steps(self.pointer, self.state, block, own, where)

    def report(self, instructions: int = 0) -> MemoryReport:
        """What was counted so far; more may come afterwards.

        Requests that are still in the window are served now, as at the end of a wave.

        Args:
            instructions: of all warps together, where that is known; they are taken to be spread as the requests are.

        Raises:
            ArgumentError: machine code gave a site or an address that there is not.
        """
        state = self._state
        if state[BAD_ADDRESS]:
            raise ArgumentError("an address of 2^62 or more was given")
        if state[BAD_SITE]:
            raise ArgumentError(f"an access of site {state[BAD_SITE] - 1} was given, there are {len(self.sites)} sites")
        self._end()
        counts = counts_of(state).copy()
        read, written = int(state[HBM_READ]), int(state[HBM_WRITTEN]) + changed_sectors(state)
        asked = counts[:, L2_ASKED] * np.where(self.sites.kind == ATOMIC, 2, 1)
        shared = counts[self.sites.space == SHARED, WAVEFRONTS].sum()
        looped = float((_loops(self.gpu, self.sites) * counts[:, WAVEFRONTS]).sum() / max(shared, 1))
        each = processors_of(state)
        busiest = each.max(axis=0)
        requests = int(each[:, SM_REQUESTS].sum())
        share = int(busiest[SM_REQUESTS]) / requests if requests else 1.0
        # The busiest multiprocessor by L1 and shared memory together, where they are one path.
        path = each[int(np.argmax(each[:, SM_L1] + each[:, SM_SHARED]))]
        both = path if self.gpu.unified else busiest
        seconds = times(
            self.gpu,
            SECTOR * (read + written),
            SECTOR * int(asked.sum()),
            _l2_requests(self.gpu, self.sites, counts),
            int(both[SM_L1]),
            int(both[SM_SHARED]) * (1 + looped),
            int(busiest[SM_REQUESTS]),
            instructions * share,
            float((_waits(self.gpu, self.sites, counts)).sum())
            * share
            / waiting(self._warps, int(state[WARPS]), self.gpu),
        )
        return MemoryReport(
            self.gpu.name,
            self.sites,
            counts,
            read,
            written,
            self.occupancy,
            seconds,
            self.gpu.overlap,
            self.gpu.launch_overhead,
            int(state[WARPS]),
        )

    def _end(self) -> None:
        """The caches see all that waits in the window."""
        _consume_block(self.pointer, self.state, -1, np.zeros((1, WARP + 1), np.int32), _NO_SITE, _NO_ADDRESS)

    def next_launch(self) -> None:
        """Begin to count anew, with an L2 as it is now and empty L1s: the same kernel once more."""
        self._end()
        _begin_launch(self._state)

    def __repr__(self) -> str:
        counted = int(self._state[WARPS])
        return f"<MemoryModel {self.gpu.name}: {len(self.sites)} sites, {self.occupancy!r}, {counted} warps so far>"


def _l2_requests(gpu: Gpu, sites: Sites, counts: Longs) -> float:
    """Lines that the L2 was asked for, as many of a request's as of its sectors; atomic accesses by lanes beside."""
    lines = counts[:, LINES] * (counts[:, L2_ASKED] / np.maximum(counts[:, SECTORS], 1))
    atomic = counts[(sites.space == GLOBAL) & (sites.kind == ATOMIC), ACCESSES]
    return float(lines.sum() + gpu.l2_atomic * atomic.sum())


def _loops(gpu: Gpu, sites: Sites) -> npt.NDArray[np.float64]:
    """Wavefronts beyond one of an access that is a loop of compare-and-swap, float64 (sites)."""
    each = np.where(sites.bytes > 4, gpu.shared_loop_8, gpu.shared_loop_4)
    return np.where(sites.hint == LOOP, each - 1, 0.0)


def _waits(gpu: Gpu, sites: Sites, counts: Longs) -> npt.NDArray[np.float64]:
    """Cycles that warps wait for what they ask for, one request after the other, float64 (sites)."""
    beyond = counts[:, L2_ASKED] / np.maximum(counts[:, SECTORS], 1)
    each = np.where(
        sites.space == SHARED, gpu.shared_latency, gpu.l1_latency + beyond * (gpu.l2_latency - gpu.l1_latency)
    )
    each = np.where(sites.hint == LOOP, gpu.loop_latency, each)
    waited = (sites.kind == LOAD) | (sites.space == SHARED)
    return np.where(waited, each, 0.0) * counts[:, REQUESTS]


@cache
def _consumer() -> Any:
    return cfunc("int32(int64, int64, int32, CPointer(int32), CPointer(uint16), CPointer(uint64))", cache=True)(
        _consume
    )


def _consume(state: Any, block: Any, warp: Any, first: Any, site: Any, address: Any) -> Any:
    if block < 0:  # the end of a launch
        play(state_at(state))
        return np.int32(0)
    starts = carray(first, WARP + 1)
    consume_warp(state_at(state), block, starts, carray(site, starts[WARP]), carray(address, starts[WARP]))
    return np.int32(0)


def _called(context: Any, function: Any, state: Any, block: Any, warp: Any, first: Any, site: Any, address: Any) -> Any:
    """Call what lies at the address `function`: machine code is linked once, not into each caller."""
    kinds = [ir.IntType(bits) for bits in (64, 64, 32, 64, 64, 64)]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), kinds)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    whole = types.int64
    return types.none(whole, whole, whole, types.int32, whole, whole, whole), generate


_call: Any = intrinsic(_called)


@kept
def _consume_block(function: int, state: int, block: int, first: Ints, site: Words, address: Addresses) -> None:
    for warp in range(first.shape[0]):
        starts = first[warp]
        _call(function, state, block, np.int32(warp), starts.ctypes.data, site.ctypes.data, address.ctypes.data)


@kept
def _consume_blocks(
    function: int, state: int, block: int, warps: int, first: Ints, site: Words, address: Addresses
) -> None:
    for row in range(first.shape[0]):
        starts, warp = first[row], np.int32(row % warps)
        own = block + row // warps
        _call(function, state, own, warp, starts.ctypes.data, site.ctypes.data, address.ctypes.data)


@kept
def _consume_steps(function: int, state: int, block: int, site: Words, address: Longs) -> None:
    steps, threads = address.shape
    first = np.zeros(WARP + 1, np.int32)
    own, where = np.empty(steps * WARP, np.uint16), np.empty(steps * WARP, np.uint64)
    for base in range(0, threads, WARP):
        count = 0
        for lane in range(WARP):
            first[lane] = count
            if base + lane < threads:
                for step in range(steps):
                    if address[step, base + lane] >= 0:
                        own[count] = site[step]
                        where[count] = np.uint64(address[step, base + lane])
                        count += 1
        first[WARP] = count
        warp = np.int32(base // WARP)
        _call(function, state, block, warp, first.ctypes.data, own.ctypes.data, where.ctypes.data)


def _begin_launch(state: Longs) -> None:
    state[state[AT_COUNTS] : state[AT_STREAMS]] = 0
    state[[HBM_READ, HBM_WRITTEN, WARPS]] = 0
    state[CURRENT_WAVE] = -1
    state[state[AT_L1] : state[AT_L2]] = EMPTY
