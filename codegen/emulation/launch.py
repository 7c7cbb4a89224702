"""The launch of a compiled kernel: what `machine.h` calls `struct launch`, and the faults that come back in it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracecut.ir.gpu.sites import GLOBAL, SHARED, Sites
from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.debug_info import Lines

from .arguments import Arguments
from .compile_module import Code
from .consumers import Consumer
from .faults import FATAL, KINDS, Fault, Place
from .lowering.host_module import Form, HostModule
from .lowering.kernel_text import KernelText
from .lowering.memory_sites import Accesses, place_of
from .lowering.points import AT_BLOCK, AT_WARP, ENDED, EXHAUSTED

_MOST_FAULTS = 256
_CELL = 64  # bytes of shadow memory for each granule
_DOES = ("loads", "stores", "updates")
_I32, _I64 = ctypes.c_int32, ctypes.c_int64


class _Region(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_void_p),
        ("bytes", _I64),
        ("cells", ctypes.c_void_p),
        ("granule", _I32),
        ("shared", _I32),
    )


class _Fault(ctypes.Structure):
    _fields_ = (
        ("kind", _I32),
        ("region", _I32),
        ("offset", _I64),
        ("block", _I64 * 2),
        ("thread", _I32 * 2),
        ("place", _I32 * 2),
        ("count", _I64),
    )


class _Launch(ctypes.Structure):
    _fields_ = (
        ("first_block", _I64),
        ("blocks", _I64),
        ("grid", _I64 * 3),
        ("block", _I32 * 3),
        ("strict", _I32),
        ("races", _I32),
        ("unit", _I32),
        ("shared_bytes", _I64),
        ("frame_bytes", _I64),
        ("seed", ctypes.c_uint64),
        ("patience", _I64),
        ("arguments", ctypes.c_void_p),
        ("operations", ctypes.c_void_p),
        ("regions", ctypes.c_void_p),
        ("region_count", _I64),
        ("consume", ctypes.c_void_p),
        ("consumer_state", ctypes.c_void_p),
        ("stop", ctypes.c_void_p),
        ("blocks_run", _I64),
        ("barriers", _I64),
        ("events", _I64),
        ("fault_count", _I64),
        ("fatal", _I64),
        ("faults", _Fault * _MOST_FAULTS),
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """A prepared launch; `run` fills in its results. `keep`: memory that it points to."""

    launch: Any
    code: Code
    regions: tuple[str, ...]
    keep: tuple[Any, ...]

    def run(self) -> None:
        """Run it. Other threads of Python run meanwhile."""
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.code.address)
        call(ctypes.addressof(self.launch))


@dataclass(frozen=True, eq=False)
class Launch:
    """A compiled kernel, ready for arguments."""

    kernel: KernelText
    accesses: Accesses
    module: HostModule
    code: Code
    form: Form

    def prepare(
        self,
        given: Arguments,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        blocks: range,
        seed: int,
        patience: int,
        consumer: Consumer | None,
    ) -> Outcome:
        """Fill in everything that the machine reads."""
        stops = self.module.step.cut.stops
        collective = self.form.strict or any(stop.point.is_collective for stop in stops)
        operations = np.array([0, *(stop.point.code for stop in stops)], np.int32)
        total = self.module.host.static_bytes + shared_bytes
        regions, names, cells = self._regions(given, total)
        launch = _Launch(
            first_block=blocks.start,
            blocks=len(blocks),
            grid=(_I64 * 3)(*grid),
            block=(_I32 * 3)(*block),
            strict=self.form.strict,
            races=self.form.races,
            unit=32 if collective else 1024,
            shared_bytes=total,
            frame_bytes=self.module.step.frame_bytes,
            seed=seed,
            patience=patience,
            arguments=given.slots.ctypes.data,
            operations=operations.ctypes.data,
            regions=ctypes.addressof(regions),
            region_count=len(names),
            consume=0 if consumer is None else consumer.address,
            consumer_state=0 if consumer is None else consumer.state,
            stop=0 if consumer is None else ctypes.addressof(consumer.stop),
        )
        return Outcome(launch, self.code, names, (given, operations, regions, cells, consumer))

    def _regions(self, given: Arguments, total: int) -> tuple[Any, tuple[str, ...], list[Any]]:
        """Arrays in the order of their parameters, then the shared variables."""
        variables = self.module.host.variables
        regions = (_Region * (len(given.arrays) + len(variables) + 1))()
        cells: list[Any] = []
        for region, array in zip(regions, given.arrays, strict=False):
            region.base, region.bytes = array.address, array.bytes
            if self.form.races and self.accesses.may_race(array.place):
                region.granule = self._granule(array.place, "")
                region.cells = _cells(array.bytes >> region.granule, cells)
        for place, variable in enumerate(variables, len(given.arrays)):
            region = regions[place]
            region.shared, region.bytes = variable.offset + 1, variable.bytes or total - variable.offset
            if self.form.races:
                region.granule = self._granule(-1, variable.name)
                region.cells = _cells(region.bytes >> region.granule, cells)
        names = (*(array.name for array in given.arrays), *(variable.name for variable in variables))
        return regions, names, cells

    def _granule(self, parameter: int, variable: str) -> int:
        """log2 of the bytes of a cell: of the smallest access that may touch an array."""
        space = SHARED if variable else GLOBAL
        sizes = [
            access.bytes
            for access in self.accesses.of.values()
            if (access.base is None and (access.space == space or access.pointer.type == "ptr"))
            or (access.base is not None and (access.base.place == parameter != -1 or access.base.name == variable))
        ]
        return min([min(sizes, default=8), 8]).bit_length() - 1


def _cells(count: int, keep: list[Any]) -> int:
    """Address of empty cells, one more than asked for; each is a line of the cache."""
    keep.append(np.zeros((count + 2) * _CELL, np.uint8))
    address: int = keep[-1].ctypes.data
    return (address + _CELL - 1) // _CELL * _CELL


def faults_of(kernel: KernelText, accesses: Accesses, module: HostModule, part: Outcome) -> Iterator[Fault]:
    """The faults of a part of the grid, in the order in which they were found."""
    places = _Places(kernel, accesses, module)
    for found in part.launch.faults[: part.launch.fault_count]:
        of_threads = found.kind >= FATAL
        sides = []
        for side in (0, 1):
            if found.thread[side] < 0 or (side and found.block[side] < 0):
                continue
            place = places.of_state(found.place[side]) if of_threads else places.of_site(found.place[side])
            sides.append(Place(*place[:2], found.block[side], found.thread[side], place[2]))
        array = part.regions[found.region] if found.region >= 0 else ""
        yield Fault(KINDS[found.kind], kernel.name, array, found.offset, tuple(sides), found.count)


class _Places:
    """Sites and states of threads, as (where, site, what happens there)."""

    def __init__(self, kernel: KernelText, accesses: Accesses, module: HostModule) -> None:
        self.accesses, self.step = accesses, module.step
        self.metadata = kernel.module.metadata()
        self.lines = Lines(self.metadata)

    def of_site(self, number: int) -> tuple[str, int, str]:
        sites: Sites = self.accesses.sites
        where = sites.where[number] or f"site {number}: {self.accesses.texts[number]}"
        return where, number, _DOES[int(sites.kind[number])]

    def of_state(self, state: int) -> tuple[str, int, str]:
        kind, number = state & 7, state >> 3
        if kind in (AT_WARP, AT_BLOCK) or (kind not in (ENDED, EXHAUSTED) and number):
            return self._told(self.step.cut.stops[number - 1].made), -1, "waits" if kind else "runs"
        if kind == ENDED:
            return self._told(self.step.ends[number]), -1, "has ended"
        if kind == EXHAUSTED:
            return self._told(self.step.cut.rounds[number]), -1, "runs"
        return "the start of the kernel", -1, "runs"

    def _told(self, made: Instruction) -> str:
        return place_of(made, self.lines, self.accesses.sites, self.metadata) or made.text
