"""The program's data in the order of a schedule, made in machine code on its way to a card and back.

As the layout that loops run in on the CPU (`runtime/executor.py`), but the program's own memory keeps its order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.runtime.executor import Executor, RegionCode
from tracecut.codegen.schedule.schedule import RegionSchedule, Schedule
from tracecut.tracer.runtime.binding import Native
from tracecut.tracer.runtime.buffers import Block


class HostLayout:
    """One schedule on the objects of this process.

    Args:
        native: the run-time support. schedule: what the data are in the order of. threads: that copies may take.
    """

    def __init__(self, native: Native, schedule: Schedule, threads: int = 1) -> None:
        self.native, self.schedule, self.threads = native, schedule, threads
        self._executor = Executor(native, schedule, [], {}, threads=threads)
        self._moves = {move.object for move in schedule.moves}
        self._orders = [self._executor.order_of(move) for move in schedule.moves]

    def rebind(self, bases: Sequence[int], codes: Mapping[int, RegionCode]) -> None:
        """The objects lie here, and the regions' code asks for these copies. Copies are kept while nothing changes."""
        self._executor.rebind(bases, codes)

    def moved(self, number: int, data: Bytes) -> Bytes:
        """The bytes of an object with all arrays in it that the schedule moves in their new order. O(bytes)."""
        if number not in self._moves:
            return data
        made = np.empty_like(data)
        self.native.copy(made.ctypes.data, data.ctypes.data, data.size, threads=self.threads)
        self._move(number, made, data, back=False)
        return made

    def restore(self, number: int, found: Bytes, data: Bytes) -> None:
        """The inverse of `moved`, into the program's memory. O(bytes)."""
        self.native.copy(data.ctypes.data, found.ctypes.data, data.size, threads=self.threads)
        self._move(number, data, found, back=True)

    def _move(self, number: int, target: Bytes, source: Bytes, *, back: bool) -> None:
        for move, order in zip(self.schedule.moves, self._orders, strict=True):
            if move.object == number:
                low = move.origin + move.stride * move.first
                to, start = int(target.ctypes.data) + low, int(source.ctypes.data) + low
                self.native.move(to, start, order, move.stride, threads=self.threads, scatter=back)
                self._executor.renumber(move, to, back=back)

    def copy(self, region: RegionSchedule, number: int, *, old: bool) -> Block:
        """A region's copy with new numbers, or `old` ones; the same block while its source is the same. O(bytes)."""
        data, before = self._executor.copy_of(region, number)
        return before if old and before is not None else data


def bytes_of(block: Block) -> Bytes:
    """A view of a block, which keeps it alive."""
    if not block.bytes:
        return np.zeros(0, np.uint8)
    raw = (ctypes.c_uint8 * block.bytes).from_address(block.address)
    raw.owner = block  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(raw), np.uint8)
