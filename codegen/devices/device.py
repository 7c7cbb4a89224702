"""A GPU: memory, code, launches; and what is missing where there is none.

The interface is small on purpose: `open_device`, and of a `Device` its `load`, `put`, `write`, `get`, `fill`, `copy`
and `launch`. Cards are reached by a `Backend`: cupy where it is installed, else the driver alone; or they are emulated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, KernelError, ToolchainError, UnsupportedError

from .backend import Backend
from .cupy_backend import cupy_backend
from .driver_backend import driver_backend
from .emulated_backend import EmulatedBackend

EMULATED = "emulated"
NUMBERS: dict[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "float": np.float32, "double": np.float64,
    "ptr": np.uint64,
}  # fmt: skip
_OLD = re.compile(r"insufficient\s*driver|driver version is insufficient|unsupported ptx|toolchain", re.IGNORECASE)


def open_device(number: int | str = 0, *, alone: bool = False) -> Device:
    """A card of this machine by its number, or the one that this CPU stands for, "emulated". About a second once.

    `alone`: by its driver alone, also where cupy is installed, whose import takes about as long.

    Raises ArgumentError for a number that no card has, ToolchainError where a card or a new enough driver is missing;
    it says which.
    """
    if number == EMULATED:
        emulated = EmulatedBackend()
        return Device(emulated, 0, emulated.capability(0))
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ArgumentError(f'device is {number!r}, the number of a card (0, 1 …) or "emulated" was expected')
    backend: Backend | None = driver_backend() if alone else cupy_backend() or driver_backend()
    if backend is None:
        raise _missing(RuntimeError("no NVIDIA driver is installed"))
    try:
        count = backend.count()
        if count == 0:
            raise RuntimeError("no CUDA-capable device is detected")
        if number >= count:
            raise ArgumentError(f"device is {number}, this machine has {count}", hint="Cards are numbered from 0.")
        return Device(backend, number, backend.capability(number))
    except RuntimeError as error:
        raise _missing(error) from error


def _missing(error: Exception) -> ToolchainError:
    """What has to be there before a kernel can run on a card."""
    if _OLD.search(str(error)):
        return ToolchainError(
            "the driver of this machine's card is too old for the kernel or for cupy",
            hint="Install a newer driver, or the cupy of an older CUDA. run_cpu() needs neither.",
            detail=str(error),
        )
    return ToolchainError(
        "this machine has no card that CUDA can use",
        hint="run_cpu() runs the same kernel on this CPU, tracecut.gpu_model predicts its time on a card.",
        detail=str(error),
    )


@dataclass(frozen=True, eq=False)
class Device:
    """A card.

    Attributes:
        backend: what it is reached by. number: of the card. capability: (major, minor) of its architecture.
    """

    backend: Backend
    number: int
    capability: tuple[int, int]

    @property
    def arch(self) -> str:
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def description(self) -> str:
        """Its name, and the newest CUDA that its driver knows. Raises KernelError where the driver does not say."""
        try:
            return self.backend.describe(self.number)
        except RuntimeError as error:
            raise KernelError(f"card {self.number} does not say what it is", detail=str(error)) from error

    def takes_machine_code(self, arch: str) -> bool:
        """Whether machine code for an architecture runs here: of the same major number, and no newer.

        Raises UnsupportedError when nothing that is made for it does.
        """
        wanted = int(arch[3:-1]), int(arch[-1])
        if wanted > self.capability:
            raise UnsupportedError(
                f"the kernel is made for {arch}, card {self.number} is {self.arch}",
                hint=f'Make it for the card: tracecut.emit(…, target="{self.arch}").',
            )
        return wanted[0] == self.capability[0]

    def load(self, code: bytes, name: str, *, ending: str) -> Any:
        """The kernel `name` of what `code_for` says. Raises ToolchainError, KernelError."""
        try:
            return self.backend.load(self.number, code, name, ending)
        except (MemoryError, RuntimeError) as error:
            if _OLD.search(str(error)):
                raise _missing(error) from error
            raise KernelError(f"card {self.number} does not load the kernel {name}", detail=str(error)) from error

    def put(self, data: npt.NDArray[Any]) -> Any:
        """A copy of an array on the card. O(bytes). Raises KernelError when there is no room for it."""
        try:
            return self.backend.put(self.number, data)
        except (MemoryError, RuntimeError) as error:
            raise KernelError(
                f"card {self.number} has no room for an array of {data.nbytes} bytes", detail=str(error)
            ) from error

    def borrow(self, place: int, bytes: int) -> Any:
        """Memory of another library on the card as an array of it; the caller keeps it. Raises KernelError."""
        try:
            return self.backend.borrow(self.number, place, bytes)
        except RuntimeError as error:
            raise KernelError(
                f"card {self.number} does not give memory of another library", detail=str(error)
            ) from error

    def write(self, array: Any, data: npt.NDArray[Any], first: int = 0) -> None:
        """Copy an array into one of bytes on the card, from `first` on. O(bytes). Raises KernelError as `get`."""
        try:
            self.backend.write(self.number, array, data, first)
        except (MemoryError, RuntimeError) as error:
            raise KernelError(f"a kernel failed on card {self.number}", detail=str(error)) from error

    def get(self, array: Any, first: int = 0, size: int | None = None) -> npt.NDArray[Any]:
        """A copy of the card's array in this process, or of `size` bytes from `first` on of one of bytes. O(bytes).

        Raises KernelError when a launch before it failed.
        """
        try:
            return self.backend.get(self.number, array, first, size)
        except (MemoryError, RuntimeError) as error:
            raise KernelError(f"a kernel failed on card {self.number}", detail=str(error)) from error

    def fill(self, array: Any, first: int, size: int, byte: int) -> None:
        """Set bytes [first, first + size) of the card's array of bytes. Raises KernelError as `get`."""
        try:
            self.backend.fill(self.number, array, first, size, byte)
        except RuntimeError as error:
            raise KernelError(f"a kernel failed on card {self.number}", detail=str(error)) from error

    def copy(self, array: Any, first: int, source: Any, place: int, size: int) -> None:
        """Copy bytes [place, place + size) of one array of bytes to `first` and on of another, or of itself where the
        two do not overlap. Raises KernelError as `get`."""
        try:
            self.backend.copy(self.number, array, first, source, place, size)
        except RuntimeError as error:
            raise KernelError(f"a kernel failed on card {self.number}", detail=str(error)) from error

    def address(self, array: Any, offset: int = 0) -> np.uint64:
        """Where a byte of the card's array lies; the offset may lead outside."""
        return np.uint64((self.backend.address(array) + offset) & ((1 << 64) - 1))

    def launch(self, kernel: Any, blocks: int, threads: int, shared: int, arguments: Sequence[np.generic]) -> None:
        """Run a loaded kernel and wait for its end. `arguments`: NumPy scalars of the parameters' types.

        Raises KernelError when the card refuses the launch, or the kernel fails.
        """
        try:
            self.backend.launch(self.number, kernel, blocks, threads, shared, arguments)
        except (MemoryError, RuntimeError) as error:
            raise KernelError(
                f"the kernel failed on card {self.number}: {blocks} blocks of {threads}, {shared} bytes shared",
                detail=str(error),
                hint="run_cpu(strict=True, races=True) finds accesses outside of arrays, and races.",
            ) from error
