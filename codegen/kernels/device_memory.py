"""The arguments of a region's kernel, and the arrays that they point into."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from tracecut.codegen.gpu.index_copies import (
    Bytes,
    IndexField,
    copied,
    index_fields,
    moved_object,
    old_offsets,
    renumbered,
)
from tracecut.codegen.gpu.packed_starts import Begins
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.runtime.replay import CapturedRegion
from tracecut.codegen.schedule.plan.range_function import NEW, OLD, Outlined
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule, Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.evaluation.memory import Object

from .kernel import Address, KernelArray, Memory, raw_array

LOCAL = "local"  # numbers of the data, beside NEW and OLD
FORMATS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "float": "f", "double": "d"}


@dataclass(frozen=True, eq=False)
class LocalCopies:
    """Copies whose numbers are local to the blocks: of indices, and of starts of pieces.

    Attributes:
        data: number of a copy → its bytes. packed: number of a copy → how many times narrower it is.
        fields: number of a copy → its indices. third: groups whose indices the kernel reads with new numbers, too.
        begins: first start of each block, none where no starts are packed.
    """

    data: Mapping[int, Bytes] = field(default_factory=dict)
    packed: Mapping[int, int] = field(default_factory=dict)
    fields: Mapping[int, Sequence[IndexField]] = field(default_factory=dict)
    third: frozenset[int] = frozenset()
    begins: Begins | None = None


class DeviceMemory:
    """What a kernel of a region is called with.

    Args:
        captured: the region. outlined: its range function. objects: of the guard. host: the layout of their data.
        region: loop id.
    """

    def __init__(
        self, captured: CapturedRegion, outlined: Outlined, objects: Sequence[Object], host: Schedule, region: int
    ) -> None:
        self.captured, self.outlined, self.objects, self.host = captured, outlined, objects, host
        self.scheduled: RegionSchedule = next(item for item in host.regions if item.region == region)
        self.data = captured_bytes(captured, objects)
        self.roots = captured.roots()
        self.memory = Memory()
        self.local = LocalCopies()

    def new_copy(self, number: int) -> Bytes:
        """A copy of the region with new numbers."""
        region, copy = self.scheduled, self.scheduled.copies[number]
        data = copied(self.host, region, copy, self.data)
        fields = self.local.fields.get(number)
        fields = index_fields(self.host, number, copy, data) if fields is None else fields
        return renumbered(self.host, copy, data, fields)

    def old_copy(self, number: int) -> Bytes:
        """A copy of the region with the program's numbers."""
        region, copy = self.scheduled, self.scheduled.copies[number]
        made = old_offsets if copy.mode == "offsets" else partial(copied, self.host)
        return made(region, copy, self.data)

    def behind(self, group: int, number: int) -> int:
        """How far the root of a group lies behind the first record that a copy is of, in bytes."""
        return _behind(self.scheduled.copies[number], self._home(self.roots[group])[1])

    def argument(self, parameter: Parameter) -> int | float | Address:
        """What a parameter of any kernel is given."""
        if parameter.kind == "jobs":
            return int(self.scheduled.jobs.size)
        if parameter.kind == "order":
            return self.named("old number of each job", self.scheduled.jobs)
        if parameter.kind == "reduction":
            place = next(item for item in self.outlined.reductions if item.phi == parameter.name)
            raw = int(self.captured.given[place.slot])
            return self.named(f"cell of {parameter.name}", np.array([raw], np.uint64), alone=True)
        if parameter.kind == "live":
            return self._live(parameter)
        group = parameter.group
        copy = self.scheduled.bases.get(group)
        number, offset = self._home(self.roots[group])
        if copy is None:
            return self.in_object(number, offset)
        if parameter.kind != "data-base":
            return self.in_copy(copy, offset)
        return self.in_copy(copy, offset, NEW if group in self.local.third else OLD)

    def _live(self, parameter: Parameter) -> int | float | Address:
        slots = self.outlined.slots
        place = next(n for n, slot in enumerate(slots) if slot.kind == "live" and slot.name == parameter.name)
        raw = int(self.captured.given[place])
        if parameter.type == "ptr":
            return Address(*self._pair(*self._home(raw))) if raw else 0
        size = struct.calcsize(FORMATS[parameter.type])
        low = raw & ((1 << 8 * size) - 1)
        (value,) = struct.unpack(f"<{FORMATS[parameter.type]}", low.to_bytes(size, "little"))
        return value if isinstance(value, int | float) else int(value)

    def _home(self, address: int) -> tuple[int, int]:
        """(object, offset) of an address of this process."""
        for number, data in enumerate(self.data):
            begin = int(data.ctypes.data)
            if data.size and begin <= address < begin + data.size:
                return number, address - begin
        near = [(abs(address - int(data.ctypes.data)), number) for number, data in enumerate(self.data) if data.size]
        if not near:
            raise UnsupportedError("it reads memory that was not captured")
        number = min(near)[1]
        return number, address - int(self.data[number].ctypes.data)

    def _pair(self, number: int, offset: int) -> tuple[int, int]:
        address = self.in_object(number, offset)
        return address.array, address.offset

    def in_object(self, number: int, offset: int) -> Address:
        """A place in an object of the program."""
        item = self.objects[number]
        name = item.name or f"array {number}"
        place = self.memory.place(
            ("object", number), lambda: KernelArray(name, moved_object(self.host, number, self.data[number]), number)
        )
        return Address(place, offset)

    def in_copy(self, number: int, offset: int, numbers: str = LOCAL) -> Address:
        """The place in a copy that stands for a byte of the object. `numbers`: LOCAL if there are such, NEW or OLD."""
        copy = self.scheduled.copies[number]
        behind = _behind(copy, offset)
        item = self.objects[copy.object]
        name = f"{item.name or f'array {copy.object}'}, {copy.mode}"
        if number in self.local.data and numbers == LOCAL:
            factor = self.local.packed.get(number, 1)
            place = self.memory.place(
                ("local", number),
                lambda: KernelArray(f"{name}, local", self.local.data[number], fixed=True, copy=number, numbers=LOCAL),
            )
            return Address(place, behind // factor)

        def make() -> KernelArray:
            if numbers != OLD:
                fixed = bool(copy.renumber) or copy.mode == "offsets"
                return KernelArray(name, self.new_copy(number), fixed=fixed, copy=number, numbers=NEW)
            return KernelArray(f"{name}, old", self.old_copy(number), copy=number, numbers=OLD)

        return Address(self.memory.place((OLD if numbers == OLD else NEW, number), make), behind)

    def named(self, name: str, values: object, *, alone: bool = False) -> Address:
        """The begin of further values; `alone`: in an array that nothing else is in."""
        key = object() if alone else name
        return Address(
            self.memory.place(key, lambda: KernelArray(name, raw_array(np.asarray(values)), fixed=not alone)), 0
        )


def _behind(copy: Copy, offset: int) -> int:
    """How far a byte of the object lies behind the first record of a copy."""
    return offset - copy.origin - copy.stride * copy.first


def captured_bytes(captured: CapturedRegion, objects: Sequence[Object]) -> list[Bytes]:
    """The bytes of each object; none of one that was not captured."""
    empty = np.zeros(0, np.uint8)
    return [captured.buffers.get(item.base, empty).view(np.uint8).reshape(-1) for item in objects]
