"""Runs a schedule on arrays of this process, without a program, hooks or captured memory.

    with Context() as context, in_force(schedule, arrays, {0: kernel}, context) as running:
        for _ in range(sweeps):
            total, = running.run(0, {"dt": 0.1})

While it is active the arrays are in the schedule's order; afterwards they are back in their original order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.plan.range_function import Group, Outlined, Reduction, Slot
from tracecut.codegen.schedule.schedule import ANY_SIZE, Schedule
from tracecut.support.errors import ArgumentError
from tracecut.tracer.legality.evaluation.memory import HEAP, Object
from tracecut.tracer.runtime.context import Context
from tracecut.tracer.runtime.hook_slots import decode

from .executor import Executor, RegionCode

Number = int | float
FORMATS = {"double": "<d", "float": "<f", "i64": "<q", "i32": "<i", "i16": "<h", "i8": "<b"}


@dataclass(frozen=True)
class Kernel:
    """The code of a region: a C function `void (int64 first, int64 end, const uint64 *in, uint64 *out)`.

    It runs the jobs at positions [first, end) of the job order. Slots of `in`, 8 bytes each, in this order: the address
    of each array of `arrays`, each value of `values`, where the order lies if `order` is set (int32: position → number
    of the job), and the start of each reduction. It leaves the result of each reduction in `out`.

    Attributes:
        address: of the function; what holds it in memory is kept in `owner` (a Numba `cfunc`, a loaded library).
        arrays: (object, byte offset) that each pointer has in the program's order. They are the groups of the schedule,
            numbered from 0 on: where the schedule says that a group reads a copy, the pointer is that of the copy.
        values: name → type (`double`, `float`, `i64`, `i32`, `i16`, `i8`). reductions: (name, operator, type).
    """

    address: int
    arrays: tuple[tuple[int, int], ...]
    values: Mapping[str, str] = field(default_factory=dict)
    order: bool = False
    reductions: tuple[tuple[str, str, str], ...] = ()
    owner: object = None

    def outlined(self) -> Outlined:
        """The same as the executor takes it."""
        slots = [Slot("base", f"array{number}", "ptr", number) for number in range(len(self.arrays))]
        slots += [Slot("live", name, type) for name, type in self.values.items()]
        slots += [Slot("order", "order", "ptr")] if self.order else []
        first = len(slots)
        slots += [Slot("start", name, type) for name, _, type in self.reductions]
        made = tuple(
            Reduction(name, type, operator, first + place, place)
            for place, (name, operator, type) in enumerate(self.reductions)
        )
        groups = tuple(Group(number, f"array{number}", ()) for number in range(len(self.arrays)))
        return Outlined("kernel", None, tuple(slots), groups, made)


class Running:
    """A schedule that is in force (`in_force`)."""

    def __init__(self, executor: Executor, kernels: Mapping[int, Kernel]) -> None:
        self._executor = executor
        self._kernels = dict(kernels)

    def run(self, region: int, values: Mapping[str, Number] | None = None) -> tuple[Number, ...]:
        """Run a region once, in the schedule's order. Returns its reductions.

        Args:
            region: which. values: of the kernel's values, and the starts of its reductions by their names.

        Raises ArgumentError for a value that is missing, unknown or does not fit its type.
        """
        kernel, plan = self._kernels.get(region), self._executor.plans.get(region)
        if kernel is None or plan is None:
            raise ArgumentError(f"region {region} is not scheduled", hint=f"Regions: {sorted(self._executor.plans)}.")
        outlined = self._executor.codes[region].outlined
        wanted = {slot.name: place for place, slot in enumerate(outlined.slots) if slot.kind in ("live", "start")}
        given = dict(values or {})
        if given.keys() != wanted.keys():
            raise ArgumentError(f"region {region} takes the values {sorted(wanted)}, it was given {sorted(given)}")
        slots = np.zeros(len(outlined.slots), np.uint64)
        for name, place in wanted.items():
            slots[place] = _raw(name, given[name], outlined.slots[place].type)
        taken = np.zeros(len(outlined.reductions) + 1, np.uint64)
        self._executor.native.execute(plan, slots, taken)
        types = [item.type for item in outlined.reductions]
        found = decode([int(value) for value in taken[: len(types)]], types)
        return tuple(value for value in found if value is not None)


@contextmanager
def in_force(
    schedule: Schedule, arrays: Sequence[npt.NDArray[Any]], kernels: Mapping[int, Kernel], context: Context
) -> Iterator[Running]:
    """Put arrays into the order of a schedule; back into their own when the block is left, also by an exception.

    Args:
        schedule: checked here as far as that is possible without the loop (`check_schedule`); whether its guard holds
            is for the caller to know.
        arrays: the memory of each object of the schedule's guard, in that order; C-contiguous and writable.
        kernels: region → its code, for every region of the schedule. context: the threads.

    Raises ArgumentError for arrays or kernels that do not fit the schedule, ScheduleError for one that is not sound.
    O(data that is moved) on entering and on leaving.
    """
    _check_arrays(schedule, arrays)
    check_schedule(schedule, [Object(0, array.nbytes, HEAP) for array in arrays])
    bases = [int(array.ctypes.data) for array in arrays]
    codes = {region.region: _code(region.region, kernels, arrays, bases) for region in schedule.regions}
    executor = Executor(context.native, schedule, bases, codes, threads=max(1, context.threads))
    executor.enter()
    try:
        yield Running(executor, kernels)
    finally:
        executor.leave()


def _check_arrays(schedule: Schedule, arrays: Sequence[npt.NDArray[Any]]) -> None:
    objects = schedule.guard.objects
    if len(arrays) != len(objects):
        raise ArgumentError(f"the schedule is for {len(objects)} arrays, {len(arrays)} were given")
    for number, (array, ref) in enumerate(zip(arrays, objects, strict=True)):
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise ArgumentError(f"array {number} has to be C-contiguous and writable")
        if ref.size not in (ANY_SIZE, array.nbytes):
            raise ArgumentError(f"array {number} has {array.nbytes} bytes, the schedule is for {ref.size}")
    for number, array in enumerate(arrays):
        if any(np.may_share_memory(array, other) for other in arrays[:number]):
            raise ArgumentError(f"array {number} overlaps one before it")


def _code(
    region: int, kernels: Mapping[int, Kernel], arrays: Sequence[npt.NDArray[Any]], bases: Sequence[int]
) -> RegionCode:
    kernel = kernels.get(region)
    if kernel is None:
        raise ArgumentError(f"region {region} has no kernel")
    for number, offset in kernel.arrays:
        if not 0 <= number < len(arrays) or not 0 <= offset <= arrays[number].nbytes:
            raise ArgumentError(f"the kernel of region {region} takes byte {offset} of array {number}: no such place")
    pointers = {group: bases[number] + offset for group, (number, offset) in enumerate(kernel.arrays)}
    return RegionCode(kernel.address, kernel.outlined(), fixed=pointers, roots=pointers)


def _raw(name: str, value: Number, type: str) -> int:
    try:
        return int.from_bytes(struct.pack(FORMATS[type], value), "little")
    except (struct.error, KeyError, OverflowError) as error:
        raise ArgumentError(f"{name} = {value!r} is no {type}") from error
