"""A kernel of a captured region with everything that it is called with: arrays, arguments, grid.

The arrays are laid out as the variant wants them; `results` puts what a run left there back into the program's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.gpu.gpu_schedule import GpuSchedule
from tracecut.codegen.gpu.index_copies import Bytes, restored_object
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.errors import ArgumentError

from .module import Parameter
from .nvptx import compile_ptx

DTYPES = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "float": "f4", "double": "f8"}


@dataclass(frozen=True)
class Address:
    """A place in one of the kernel's arrays; `offset` bytes behind its begin, which may lie outside."""

    array: int
    offset: int


@dataclass(frozen=True, eq=False)
class KernelArray:
    """An array that a kernel is called with.

    Attributes:
        name: what it holds. data: its bytes. object: number of the program's object that it stands for, −1: none.
    """

    name: str
    data: Bytes
    object: int = -1


@dataclass(frozen=True, eq=False)
class RegionKernel:
    """A kernel, and how it is called.

    Attributes:
        ir: the module for LLVM's NVPTX backend. parameters: what it takes, `arguments` one for each.
        arrays: its memory. blocks, threads, shared_bytes: of the launch.
        schedule: which jobs and data the blocks have; None for one job a thread. host: the layout of the data.
    """

    name: str
    variant: str
    arch: str
    ir: str
    libdevice: bool
    parameters: tuple[Parameter, ...]
    arguments: tuple[int | float | Address, ...]
    arrays: tuple[KernelArray, ...]
    blocks: int
    threads: int
    shared_bytes: int
    schedule: GpuSchedule | None
    host: Schedule
    remarks: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def ptx(self) -> str:
        """PTX for `arch`. About 0.3 s, most of it the child process. Raises UnsupportedError."""
        return compile_ptx(self.ir, self.name, self.arch, libdevice=self.libdevice)

    def memory(self) -> list[Bytes]:
        """A copy of each array, for one run. O(bytes)."""
        return [item.data.copy() for item in self.arrays]

    def values(self, memory: Sequence[npt.NDArray[Any]]) -> list[int | float]:
        """The arguments as numbers, for arrays at the addresses of `memory`."""
        if len(memory) != len(self.arrays):
            raise ArgumentError(f"the kernel takes {len(self.arrays)} arrays, {len(memory)} were given")
        found: list[int | float] = []
        for value in self.arguments:
            if isinstance(value, Address):
                found.append(int(memory[value.array].ctypes.data) + value.offset)
            else:
                found.append(value)
        return found

    def results(self, memory: Sequence[Bytes]) -> dict[int, Bytes]:
        """Object of the program → its bytes in the program's order, after a run on `memory`. O(bytes)."""
        return {
            item.object: restored_object(self.host, item.object, data)
            for item, data in zip(self.arrays, memory, strict=True)
            if item.object >= 0
        }

    def sums(self, memory: Sequence[Bytes]) -> dict[str, Any]:
        """Register reduction (its phi) → what a run on `memory` left in its cell."""
        found = {}
        for parameter, value in zip(self.parameters, self.arguments, strict=True):
            if parameter.kind == "reduction" and isinstance(value, Address):
                found[parameter.name] = memory[value.array].view(DTYPES[parameter.type])[0]
        return found

    def __repr__(self) -> str:
        size = sum(item.data.size for item in self.arrays)
        return (
            f"<RegionKernel {self.name}: {self.variant} for {self.arch}, {self.blocks} blocks of {self.threads}, "
            f"{self.shared_bytes} bytes shared, {len(self.arrays)} arrays of {size} bytes>"
        )


class Memory:
    """Arrays of a kernel while its arguments are put together."""

    def __init__(self) -> None:
        self.arrays: list[KernelArray] = []
        self._known: dict[object, int] = {}

    def place(self, key: object, make: Callable[[], KernelArray]) -> int:
        """Number of an array, which is made when it is first asked for."""
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(make())
        return self._known[key]


def raw_array(values: npt.NDArray[Any]) -> Bytes:
    """The bytes of an array."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)
