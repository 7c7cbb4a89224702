"""A layout scope that is in force on a card: arguments, launches, and the results of reductions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tracecut.codegen.devices.device import NUMBERS
from tracecut.codegen.gpu.index_copies import Bytes, field_at
from tracecut.codegen.kernels.kernel import KernelArray
from tracecut.codegen.runtime.executor import RegionCode
from tracecut.codegen.schedule.plan.range_function import NEW, OLD
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule
from tracecut.ir.llvm import int_bits
from tracecut.ir.llvm.associative import SIGNED
from tracecut.support.errors import KernelError, UnsupportedError
from tracecut.tracer.runtime.buffers import Block

from .device_loop import DeviceLoop, DeviceScope, Given
from .host_layout import bytes_of
from .mirror import Counts, Mirror

CELL = 8  # bytes of the result of a reduction


class LaunchError(KernelError):
    """A kernel has failed: what it was to change is in an unknown state on the card."""


class OffloadedScope:
    """One entry of a scope.

    Args:
        kernels: the scope's loops. loaded: loop id → its kernel on the card.
        mirror: the objects. bases: where the program's pointers find each of them.
        codes: loop id → its pointers, as the host finds them on entering. jobs: loop id → its iterations.
        before: an earlier entry, whose arrays of numbers are there already.
    """

    def __init__(
        self,
        kernels: DeviceScope,
        loaded: Mapping[int, Any],
        mirror: Mirror,
        bases: Sequence[int],
        codes: Mapping[int, RegionCode],
        jobs: Mapping[int, int],
        before: OffloadedScope | None = None,
    ) -> None:
        self.kernels, self.loaded, self.mirror, self.bases = kernels, loaded, mirror, list(bases)
        self.codes, self.jobs = codes, jobs
        self.active = True
        self._loops = {loop.loop: loop for loop in kernels.loops}
        self._regions = {region.region: region for region in mirror.layout.schedule.regions}
        self._arrays: dict[int, list[Any]] = {}  # loop id → its arrays on the card; None for objects
        self._cells: dict[int, Any] = {} if before is None else before._cells
        self._before = {} if before is None else before._arrays
        self._blocks: dict[int, Block] = {} if before is None else before._blocks  # by identity of what is held
        self._outside = set(kernels.reads) | set(kernels.writes)

    @property
    def counts(self) -> Counts:
        return self.mirror.counts

    def run(self, number: int, given: Any, taken: Any) -> None:
        """Run a loop once. given, taken: what the program hands over, and where it finds the results; 8 bytes each.

        Raises LaunchError when the kernel fails, KernelError when the card has no room for its data, UnsupportedError
        for a pointer to what is not on the card: nothing has changed then.
        """
        loop = self._loops[number]
        jobs = self._count(loop, given)
        self.mirror.stale(set(loop.used) & set(self.kernels.writes))
        for item in loop.used:
            self.mirror.place(item)
        if number not in self._arrays:
            self._arrays[number] = self._placed(loop)
        reductions = self.codes[number].outlined.reductions
        cells = np.array([cell_of(int(given[item.slot]), item.type, item.operator) for item in reductions], np.uint64)
        if cells.size:
            self._cells[number] = self.mirror.send(cells.view(np.uint8), self._cells.get(number))
        arguments = [
            self._argument(loop, item, parameter.type, given, jobs)
            for item, parameter in zip(loop.given, loop.parameters, strict=True)
        ]
        blocks = loop.blocks or max(1, -(-jobs // loop.threads))
        start = time.perf_counter_ns()
        try:
            self.mirror.device.launch(self.loaded[number], blocks, loop.threads, loop.shared_bytes, arguments)
            if cells.size:
                cells = self.mirror.device.get(self._cells[number]).view(np.uint64)
        except KernelError as error:
            raise LaunchError(error.message, hint=error.hint, detail=error.detail) from error
        spent = time.perf_counter_ns() - start
        self.counts.running += spent
        self.counts.loops[number] = self.counts.loops.get(number, 0) + spent
        self.counts.launches += 1
        self.mirror.ahead.update(loop.written)
        self.mirror.home(set(loop.written) & self._outside)
        self._peek(loop, given)
        for place, value in enumerate(cells.tolist()):
            taken[place] = value
        taken[len(reductions)] = jobs

    def block(self, target: int, source: int, byte: int, size: int) -> bool:
        """Fill or copy a block of bytes on the card, whose addresses the program has given; `source`: 0 for a fill.

        Returns whether it was done there: not for memory that the schedule does not know, nor where the two ends
        overlap. Raises KernelError.
        """
        to, first = self._found(target, size)
        origin, place = self._found(source, size) if source else (-1, 0)
        on_card = to >= 0 and (not source or origin >= 0)
        if not on_card or (to == origin and abs(first - place) < size):
            self.mirror.home({to, origin})
            self.mirror.stale({to})
            return False
        self.mirror.stale({to, origin} & set(self.kernels.writes))
        array, begin = self.mirror.place(to)
        if source:
            other, start = self.mirror.place(origin)
            self.mirror.device.copy(array, begin + first, other, start + place, size)
        else:
            self.mirror.device.fill(array, begin + first, size, byte)
        self.mirror.ahead.add(to)
        self.mirror.home({to} & self._outside)
        return True

    def _found(self, address: int, size: int) -> tuple[int, int]:
        """The object that a block lies in, and where; (−1, 0) for none."""
        for number, (base, data) in enumerate(zip(self.bases, self.mirror.data, strict=True)):
            if base <= address and address + size <= base + data.size:
                return number, address - base
        return -1, 0

    def lost(self, number: int) -> bool:
        """After a failed launch: whether the program's memory lacks what the kernel was to change. If not, the card's
        copies of these objects are forgotten."""
        written = set(self._loops[number].written)
        if written & self.mirror.ahead:
            return True
        self.mirror.stale(written)
        return False

    def home(self) -> None:
        """Give the program what only the card has. Raises KernelError."""
        self.mirror.home()
        self.active = False

    def _placed_copy(self, region: RegionSchedule, held: KernelArray, array: Any) -> Any:
        """A copy that a kernel reads on the card, from the program's present data. O(bytes) unless it is there.

        Local numbers follow from the schedule alone: they are taken as they were made.
        """
        start = time.perf_counter_ns()
        copy = region.copies[held.copy]
        block = self.mirror.layout.copy(region, held.copy, old=held.numbers == OLD)
        same = self._blocks.get(id(held)) is block and array is not None
        self._blocks[id(held)] = block
        data = bytes_of(block)
        if held.numbers not in (NEW, OLD):
            own = held.data.size != data.size or copy.mode == "offsets"
            data = held.data if own else _with_numbers(copy, data, held.data)
        self.counts.copying += time.perf_counter_ns() - start
        return array if same else self.mirror.send(data, array)

    def _peek(self, loop: DeviceLoop, given: Any) -> None:
        """Give the program what it reads of what a loop has changed, in the rest of this step and in the next one."""
        for number, spans in self.kernels.peeks.items():
            if number in loop.written:
                step = self._step(loop, given)
                for low, high in spans[step : step + 2]:
                    self.mirror.peek(number, low, high)

    def _step(self, loop: DeviceLoop, given: Any) -> int:
        bits = int_bits(self.codes[loop.loop].outlined.slots[loop.step].type) or 64
        return int(given[loop.step]) & ((1 << bits) - 1)

    def _count(self, loop: DeviceLoop, given: Any) -> int:
        """Iterations of a loop that is about to run. Raises UnsupportedError for a step that was not looked at."""
        if not loop.counts:
            return self.jobs[loop.loop]
        step = self._step(loop, given)
        if not 0 <= step < len(loop.counts):
            raise UnsupportedError(f"step {step} is none of the {len(loop.counts)} that were looked at")
        return loop.counts[step]

    def _argument(self, loop: DeviceLoop, item: Given, type: str, given: Any, jobs: int) -> np.generic:
        device = self.mirror.device
        if item.kind == "jobs":
            return NUMBERS[type](jobs)
        if item.kind == "cell":
            return device.address(self._cells[loop.loop], CELL * item.place)
        if item.kind == "array":
            held = loop.arrays[item.array].object
            array, first = self.mirror.place(held) if held >= 0 else (self._arrays[loop.loop][item.array], 0)
            return device.address(array, first + item.offset)
        if item.kind == "live":
            dtype = np.dtype(NUMBERS[type])
            low = int(given[item.place]) & ((1 << 8 * dtype.itemsize) - 1)
            found: np.generic = np.frombuffer(low.to_bytes(dtype.itemsize, "little"), dtype)[0]
            return found
        address = self.codes[loop.loop].fixed.get(item.group)
        address = int(given[item.place]) if address is None else address
        if item.kind == "copy":
            return self._in_copy(loop, item, address)
        return self._in_object(item, address)

    def _in_copy(self, loop: DeviceLoop, item: Given, address: int) -> np.uint64:
        held = loop.arrays[item.array]
        copy = self._regions[loop.loop].copies[held.copy]
        behind = address - self.bases[copy.object] - copy.origin - copy.stride * copy.first
        factor = self._factor(loop.loop, held)
        return self.mirror.device.address(self._arrays[loop.loop][item.array], behind // factor)

    def _factor(self, loop: int, held: KernelArray) -> int:
        """How many times narrower the numbers of a copy are."""
        if held.numbers in (NEW, OLD) or not held.data.size:
            return 1
        return max(1, self._bytes_of(self._regions[loop], held.copy) // held.data.size)

    def _bytes_of(self, region: RegionSchedule, number: int) -> int:
        copy = region.copies[number]
        if copy.mode == "segment":
            return int(region.lengths_of(copy).sum(dtype=np.int64)) * copy.stride
        return copy.count * copy.stride

    def _in_object(self, item: Given, address: int) -> np.uint64:
        """An address in the object that it lies in, or beside it: behind its end, or in front of it.

        Which one of several it lies beside makes no difference: these lie on the card as in the program, if that could.
        """
        if not address:
            return np.uint64(0)
        ends = [(base, base + data.size) for base, data in zip(self.bases, self.mirror.data, strict=True)]
        if item.objects:
            number = min(item.objects, key=lambda number: max(ends[number][0] - address, address - ends[number][1], 0))
        else:  # only compared: it has to be in one object alone
            inside = [number for number, (begin, end) in enumerate(ends) if begin <= address <= end]
            if len(inside) != 1:
                raise UnsupportedError("a pointer leads to memory that is not on the card, or to the end of an array")
            (number,) = inside
        array, first = self.mirror.place(number)
        return self.mirror.device.address(array, first + address - self.bases[number])

    def _placed(self, loop: DeviceLoop) -> list[Any]:
        """The arrays of a loop on the card, beside the objects."""
        region = self._regions.get(loop.loop)
        before = self._before.get(loop.loop, [None] * len(loop.arrays))
        made = []
        for item, array in zip(loop.arrays, before, strict=True):
            if item.copy >= 0:
                assert region is not None
                made.append(self._placed_copy(region, item, array))
            elif item.object >= 0:
                made.append(None)
            else:
                made.append(self.mirror.send(item.data) if array is None else array)
        return made


def cell_of(raw: int, type: str, operator: str) -> int:
    """The start of a reduction, as its cell holds it: whole numbers of fewer than 32 bits have 32 there.

    `raw`: 8 bytes of which the program has set as many as the type has.
    """
    bits = int_bits(type) or {"float": 32}.get(type, 64)
    low = raw & ((1 << bits) - 1)
    if bits < 32 and operator in SIGNED and low >> (bits - 1):
        low |= ((1 << 32) - 1) ^ ((1 << bits) - 1)
    return low


def _with_numbers(copy: Copy, made: Bytes, numbers: Bytes) -> Bytes:
    """Records with the index fields of others."""
    made = made.copy()
    for item in copy.renumber:
        for offset in item.offsets:
            field_at(made, copy.stride, offset, item.width)[:] = field_at(numbers, copy.stride, offset, item.width)
    return made
