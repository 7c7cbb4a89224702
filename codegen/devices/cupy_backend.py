"""A card by way of cupy: what Python users of GPUs have."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.process.runner import private_folder

from .backend import CUDA, WITHOUT_ASKING, cuda_version


def cupy_backend() -> CupyBackend | None:
    """It, None where cupy is not installed. About a second the first time."""
    try:
        return CupyBackend(importlib.import_module("cupy"))
    except ImportError:
        return None


class CupyBackend:
    """As `Backend`; failures are RuntimeError and MemoryError, as cupy raises them."""

    takes: tuple[str, ...] = CUDA

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def count(self) -> int:
        return int(self.cupy.cuda.runtime.getDeviceCount())

    def capability(self, number: int) -> tuple[int, int]:
        found = str(self.cupy.cuda.Device(number).compute_capability)
        return int(found[:-1]), int(found[-1])

    def describe(self, number: int) -> str:
        runtime = self.cupy.cuda.runtime
        name = runtime.getDeviceProperties(number)["name"].decode(errors="replace")
        return f"{name}, CUDA {cuda_version(runtime.driverGetVersion())}"

    def load(self, number: int, code: bytes, name: str, ending: str) -> Any:
        with private_folder("tracecut-gpu") as folder:
            path = folder / f"kernel.{ending}"
            path.write_bytes(code)
            with self.cupy.cuda.Device(number):
                return self.cupy.RawModule(path=str(path)).get_function(name)

    def put(self, number: int, data: npt.NDArray[Any]) -> Any:
        with self.cupy.cuda.Device(number):
            return self.cupy.asarray(data)

    def borrow(self, number: int, place: int, bytes: int) -> Any:
        cuda, card = self.cupy.cuda, self.cupy.cuda.Device(number)
        with card:
            card.synchronize()  # launches go to the stream that is current in cupy
            memory = cuda.UnownedMemory(place, bytes, None, number)
            return self.cupy.ndarray((bytes,), np.uint8, cuda.MemoryPointer(memory, 0))

    def write(self, number: int, array: Any, data: npt.NDArray[Any], first: int = 0) -> None:
        with self.cupy.cuda.Device(number):
            (array[first : first + data.size] if first or data.size < array.size else array).set(data)

    def get(self, number: int, array: Any, first: int = 0, size: int | None = None) -> npt.NDArray[Any]:
        with self.cupy.cuda.Device(number):
            return np.asarray(self.cupy.asnumpy(array if size is None else array[first : first + size]))

    def fill(self, number: int, array: Any, first: int, size: int, byte: int) -> None:
        with self.cupy.cuda.Device(number):
            array[first : first + size] = byte

    def copy(self, number: int, array: Any, first: int, source: Any, place: int, size: int) -> None:
        with self.cupy.cuda.Device(number):
            array[first : first + size] = source[place : place + size]

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def launch(
        self, number: int, kernel: Any, blocks: int, threads: int, shared: int, arguments: Sequence[np.generic]
    ) -> None:
        card = self.cupy.cuda.Device(number)
        with card:
            if shared > WITHOUT_ASKING:
                kernel.max_dynamic_shared_size_bytes = shared
            kernel((blocks,), (threads,), tuple(arguments), shared_mem=shared)
            card.synchronize()
