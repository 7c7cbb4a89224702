"""A kernel of a captured region with everything that it is called with: arrays, arguments, grid.

The arrays are laid out as the variant wants them; `results` puts what a run left there back into the program's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.emulation.faults import Fault
from tracecut.codegen.emulation.run_kernel import RunReport, Within, run_kernel
from tracecut.codegen.gpu.gpu_schedule import GpuSchedule
from tracecut.codegen.gpu.index_copies import Bytes, restored_object
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.ptx.ptxas import AssemblyReport, assemble
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.errors import KernelError, ScheduleError

ALIGNED = 256  # bytes, what a card aligns memory to
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
        fixed: whether the schedule relies on every byte of it: numbers of jobs and data.
        copy: number of the region's copy that it is, −1: of none; `numbers`: which ones its indices are, `new`, `old`
            or `local` to the blocks.
    """

    name: str
    data: Bytes
    object: int = -1
    fixed: bool = False
    copy: int = -1
    numbers: str = ""


@dataclass(frozen=True)
class Considered:
    """A kernel that was looked at before one was chosen: predicted seconds and bytes, or why there is none.

    `threads`: of a block. `jobs`: most jobs of a block that keeps data in shared memory. `measured`: seconds on this
    machine's card, None: not measured. `chosen`: it is the one that was taken.
    """

    variant: str
    threads: int
    jobs: int
    seconds: float | None
    l2_bytes: int
    hbm_bytes: int
    why: str = ""
    measured: float | None = None
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel, and how it is called.

    Attributes:
        ir: the module for LLVM's NVPTX backend. parameters: what it takes, `arguments` one for each.
        arrays: its memory. blocks, threads, shared_bytes: of the launch.
        schedule: which jobs and data the blocks have; None for one job a thread. host: the layout of the data.
        remarks: what a reader of a report should know. notes: array → why it is not kept in shared memory.
        considered: what was looked at before this one was chosen; empty where its variant was asked for.
        combine: the kernel that is launched behind this one, on the same arrays, and adds up what its jobs contributed;
            None where reductions are atomic, or where there are none.
        outlined: the range function that it was made of; None for a kernel that was read from a file.
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
    considered: tuple[Considered, ...] = ()
    combine: Kernel | None = None
    outlined: Outlined | None = None

    @cached_property
    def ptx(self) -> str:
        """PTX for `arch`. About 0.3 s, most of it the child process. Raises UnsupportedError."""
        return compile_ptx(self.ir, self.name, self.arch, libdevice=self.libdevice)

    @cached_property
    def cuda(self) -> str:
        """The kernel in CUDA C, to be read, compiled and changed; its head says how it is launched and what with.

        The same kernel has the same text. Raises UnsupportedError with the reason for what CUDA C has no words for.
        """
        from .cuda_text import cuda_text  # imported when it is needed

        return cuda_text(self) + (f"\n{cuda_text(self.combine)}" if self.combine is not None else "")

    @cached_property
    def resources(self) -> AssemblyReport:
        """What ptxas says of registers, spills and shared memory. Raises ToolchainError without it."""
        return assemble(self.ptx, self.arch)

    @property
    def cubin(self) -> bytes:
        """Machine code for `arch`. Raises ToolchainError without ptxas."""
        return self.resources.cubin

    @property
    def launch(self) -> dict[str, int]:
        """Blocks of the grid, threads of a block, bytes of dynamic shared memory."""
        return {"blocks": self.blocks, "threads": self.threads, "shared_bytes": self.shared_bytes}

    def run_cpu(
        self,
        arrays: Sequence[npt.NDArray[Any]] | None = None,
        *,
        strict: bool = False,
        trace: Any = None,
        races: bool = False,
        seed: int = 0,
        workers: int = 1,
    ) -> KernelRun:
        """Run the very module that the PTX is made of on this CPU, block by block.

        Args:
            arrays: memory of the kernel, changed in place: a C-contiguous array for each of `arrays`, of as many bytes;
                None: a copy of what the program had. Jobs, indices and numbers of data have to be the kernel's own.
            strict: threads of a block take turns at barriers, shuffles and votes, `seed` says in which order; else each
                runs on to the next barrier. races: also look for races and accesses outside of arrays (needs `strict`).
            trace: what is given the accesses of each warp, as of `run_kernel`; not those of `combine`.
            workers: threads of the host.

        Returns what ran. Raises ArgumentError for arrays that do not fit, KernelError where a run has no result.
        """
        memory = self._memory_of(arrays)
        how = {"mode": "strict" if strict else "phases", "races": races, "seed": seed, "workers": workers}
        report = self._launch(memory, trace=trace, **how)
        if self.combine is None or not report.completed:
            return KernelRun(self, tuple(memory), report)
        self.check_flag(memory)
        return KernelRun(self, tuple(memory), report, self.combine._launch(memory, **how))

    def _launch(self, memory: Sequence[Bytes], **how: Any) -> RunReport:
        given = [
            Within(memory[value.array], value.offset) if isinstance(value, Address) else value
            for value in self.arguments
        ]
        return run_kernel(self.ir, self.name, given, self.blocks, self.threads, self.shared_bytes, **how)

    def flags(self) -> list[int]:
        """Numbers of the arrays that say that the kernel contributed to data that `combine` does not expect it to."""
        return [
            value.array
            for parameter, value in zip(self.parameters, self.arguments, strict=True)
            if parameter.kind == "flag" and isinstance(value, Address)
        ]

    def check_flag(self, memory: Sequence[Bytes] | Mapping[int, Bytes]) -> None:
        """Raise KernelError if a run on `memory` set one of `flags`."""
        if any(memory[number].any() for number in self.flags()):
            raise KernelError(
                f"with these values, jobs of {self.name} reduce into other data than those that it was made for",
                hint="Make the kernel on these values, or with reduce='fast'.",
            )

    def run_gpu(self, arrays: Sequence[npt.NDArray[Any]] | None = None, *, device: int | str = 0) -> KernelRun:
        """Run the kernel on a card: there and back, one launch, and that of `combine`. By way of cupy where that is
        installed (`pip install 'tracecut[gpu]'`), else by the driver alone.

        Args:
            arrays: as of `run_cpu`, with the same checks; what the kernel leaves is copied back into them.
            device: number of the card; "emulated": the same way to one that this CPU stands for.

        Returns what ran; its report counts neither barriers nor accesses. Raises ArgumentError for arrays that do not
        fit, ToolchainError that names what is missing (a card, a new enough driver), UnsupportedError for a card
        older than `arch`, KernelError where the kernel fails. O(bytes) beside the kernel.
        """
        from tracecut.codegen.devices.device import open_device

        from .device_run import run_on_device

        memory, card = self._memory_of(arrays), open_device(device)
        report = run_on_device(self, memory, card)
        if self.combine is None:
            return KernelRun(self, tuple(memory), report)
        self.check_flag(memory)
        return KernelRun(self, tuple(memory), report, run_on_device(self.combine, memory, card))

    def __call__(self, *arrays: Any, device: int | str | None = None) -> RunReport:
        """Run the kernel on arrays of NumPy, of CuPy, or of any library that hands them over by DLPack.

        Arrays on a card are worked on where they lie, without copies; those of this process go there and back. What
        the kernel's code needs there is kept for the next call: repeated calls launch, and little else.

        Args:
            arrays: one for each of `arrays`, with the checks of `run_cpu`; None for one that is `fixed`: the kernel's
                own, which stays on the card. Numbers that an array on a card holds for jobs and data are read back to
                be compared: O(their bytes) a call, nothing with None.
            device: as of `run_gpu`; None: the card that arrays lie on, else card 0.

        Returns what ran. Raises as `run_gpu`, and ArgumentError for arrays on another card than `device`.
        """
        from .call_on_card import call_on_card

        return call_on_card(self, arrays, device)

    @cached_property
    def elements(self) -> list[tuple[tuple[str, int] | None, int]]:
        """Of each array what it is accessed in, and its alignment: as of `elements_of`."""
        from .given_arrays import elements_of

        return elements_of(self)

    @cached_property
    def on_cards(self) -> dict[int | str, Any]:
        """What calls have left on cards, by device."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """What copies have: not what calls have left on cards, which is freed with this object."""
        return {name: value for name, value in vars(self).items() if name != "on_cards"}

    def _memory_of(self, arrays: Sequence[Any] | None) -> list[Bytes]:
        """What a run works on: arrays that were given, or a copy of the kernel's. Raises ArgumentError."""
        from .given_arrays import arrays_here

        return self.memory() if arrays is None else arrays_here(self, arrays)

    def verify(self) -> None:
        """Raise ScheduleError unless arguments, parameters and arrays fit each other."""
        places = {item.array for item in self.arguments if isinstance(item, Address)}
        if len(self.arguments) != len(self.parameters) or not places <= set(range(len(self.arrays))):
            raise ScheduleError(f"the arguments of {self.name} do not fit its parameters and arrays")
        if self.blocks < 1 or not 1 <= self.threads <= 1024 or self.shared_bytes < 0:
            raise ScheduleError(f"{self.name} cannot be launched with {self.launch}")
        if self.schedule is not None:
            self.schedule.verify()
        if self.combine is not None:
            self.combine.verify()

    def memory(self) -> list[Bytes]:
        """A copy of each array, for one run. O(bytes).

        They lie in one piece, each at a multiple of 256 bytes and apart from the next, as cards give memory: what runs
        ask of a memory model does not depend on where this process had room.
        """
        begins = np.cumsum([0, *(-(-item.data.size // ALIGNED) * ALIGNED + ALIGNED for item in self.arrays)])
        room = np.empty(int(begins[-1]) + ALIGNED, np.uint8)
        first = -room.ctypes.data % ALIGNED
        found = []
        for item, begin in zip(self.arrays, begins.tolist(), strict=False):
            found.append(room[first + begin : first + begin + item.data.size])
            found[-1][:] = item.data
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
        parameters, arguments = self.parameters, self.arguments
        if self.combine is not None:
            parameters, arguments = parameters + self.combine.parameters, arguments + self.combine.arguments
        for parameter, value in zip(parameters, arguments, strict=True):
            if parameter.kind == "reduction" and isinstance(value, Address):
                found[parameter.name] = memory[value.array].view(DTYPES[parameter.type])[0]
        return found

    def __repr__(self) -> str:
        size = sum(item.data.size for item in self.arrays)
        return (
            f"<Kernel {self.name}: {self.variant} for {self.arch}, {self.blocks} blocks of {self.threads}, "
            f"{self.shared_bytes} bytes shared, {len(self.arrays)} arrays of {size} bytes>"
        )


@dataclass(frozen=True)
class Second:
    """A kernel that is launched behind another one, on the same arrays. Fields as of `Kernel`."""

    name: str
    ir: str
    parameters: tuple[Parameter, ...]
    arguments: tuple[int | float | Address, ...]
    blocks: int
    threads: int


def second_kernel(first: Kernel, second: Second) -> Kernel:
    """It as a kernel."""
    none: dict[str, Any] = {"schedule": None, "remarks": (), "notes": {}, "considered": (), "combine": None}
    return replace(first, libdevice=False, shared_bytes=0, **none, **vars(second))


@dataclass(frozen=True, eq=False)
class KernelRun:
    """What a run of a kernel left.

    Attributes:
        memory: the arrays, as the kernel's `arrays`. report: what ran, and the faults that were found.
        combined: the same of the kernel's `combine`.
    """

    kernel: Kernel
    memory: tuple[Bytes, ...]
    report: RunReport
    combined: RunReport | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self.report.faults + (() if self.combined is None else self.combined.faults)

    @property
    def results(self) -> dict[int, Bytes]:
        """Object of the program → its bytes in the program's order. O(bytes)."""
        return self.kernel.results(self.memory)

    @property
    def sums(self) -> dict[str, Any]:
        """Register reduction (its phi) → its value."""
        return self.kernel.sums(self.memory)


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
