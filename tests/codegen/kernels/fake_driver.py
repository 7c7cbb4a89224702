"""As much of libcuda as launches need: a card that runs kernels on this CPU, and keeps account of its memory."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.devices import driver_backend
from tracecut.codegen.emulation.run_kernel import Within, run_kernel
from tracecut.codegen.kernels.kernel import Address

APART = 1 << 30
NUMBERS = {"i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "float": "f4", "double": "f8", "ptr": "u8"}
ERRORS = {
    2: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    100: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    803: ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"),
    222: ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."),
    200: ("CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    700: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
}


class FakeDriver:
    """Takes the place of the loaded library.

    Args:
        kernel: (a Kernel) what its machine code or PTX stands for. capability: of the card. count: of cards.
        fails: function → the number of the error that it returns. room: bytes of the largest allocation.
    """

    def __init__(
        self,
        kernel: Any,
        *,
        capability: tuple[int, int] = (9, 0),
        count: int = 1,
        fails: dict[str, int] | None = None,
        room: int = 1 << 30,
    ) -> None:
        self.kernel, self.capability, self.count, self.room = kernel, capability, count, room
        self.fails = fails or {}
        self.memory: dict[int, Any] = {}
        self.said: list[str] = []
        self.code = b""
        self.shared = 48 << 10
        self.launched = self.synchronized = 0
        self.current: int | None = None
        self.passed: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.said.append(name)
            if name in self.fails:
                return self.fails[name]
            assert not any(isinstance(item, int | str | bytes) for item in arguments), "ctypes takes these for 32 bits"
            return int(getattr(self, f"_{name}")(*arguments) or 0)

        return call

    def _cuInit(self, flags: Any) -> None:
        assert flags.value == 0

    def _cuDeviceGetCount(self, found: Any) -> None:
        found._obj.value = self.count

    def _cuDeviceGet(self, card: Any, number: Any) -> None:
        card._obj.value = 40 + number.value

    def _cuDeviceGetAttribute(self, value: Any, attribute: Any, card: Any) -> None:
        assert card.value >= 40
        value._obj.value = self.capability[(75, 76).index(attribute.value)]

    def _cuDeviceGetName(self, text: Any, size: Any, card: Any) -> None:
        assert card.value >= 40 and size.value == len(text)
        text.value = b"Made-up card"

    def _cuDriverGetVersion(self, version: Any) -> None:
        version._obj.value = 13020

    def _cuDevicePrimaryCtxRetain(self, context: Any, card: Any) -> None:
        context._obj.value = card.value

    def _cuCtxSetCurrent(self, context: Any) -> None:
        self.current = context.value

    def _cuGetErrorName(self, code: Any, text: Any) -> None:
        text._obj.value = ERRORS[code.value][0].encode()

    def _cuGetErrorString(self, code: Any, text: Any) -> None:
        text._obj.value = ERRORS[code.value][1].encode()

    def _cuModuleLoadData(self, module: Any, code: Any) -> None:
        assert self.current == 40
        self.code, module._obj.value = code.value, 7  # up to the first null byte

    def _cuModuleGetFunction(self, kernel: Any, module: Any, name: Any) -> None:
        assert module.value == 7 and name.value.decode() == self.kernel.name
        kernel._obj.value = 8

    def _cuFuncSetAttribute(self, kernel: Any, attribute: Any, value: Any) -> None:
        assert (kernel.value, attribute.value) == (8, 8)
        self.shared = value.value

    def _cuMemAlloc_v2(self, place: Any, size: Any) -> int:
        assert self.current == 40 and size.value > 0
        if size.value > self.room:
            return 2
        place._obj.value = APART * (1024 + len(self.said))
        self.memory[place._obj.value] = np.zeros(size.value, np.uint8)
        return 0

    def _cuMemFree_v2(self, place: Any) -> None:
        del self.memory[place.value]

    def _cuMemcpyHtoD_v2(self, place: Any, data: Any, size: Any) -> None:
        ctypes.memmove(self.memory[place.value].ctypes.data, data, size.value)

    def _cuMemcpyDtoH_v2(self, data: Any, place: Any, size: Any) -> None:
        assert self.synchronized == self.launched, "read before the kernel has ended"
        ctypes.memmove(data, self.memory[place.value].ctypes.data, size.value)

    def _cuCtxSynchronize(self) -> None:
        self.synchronized = self.launched

    def _cuLaunchKernel(self, kernel: Any, *more: Any) -> int:
        *sizes, stream, places, extra = more
        blocks, height, depth, threads, rows, layers, shared = (size.value for size in sizes)
        assert kernel.value == 8 and (height, depth, rows, layers) == (1, 1, 1, 1) and not stream and not extra
        self.launched += 1
        if shared > self.shared:
            return 700
        given: list[Any] = []
        for place, parameter, passed in zip(places, self.kernel.parameters, self.kernel.arguments, strict=False):
            dtype = np.dtype("u8" if isinstance(passed, Address) else NUMBERS[parameter.type])
            value = np.frombuffer(ctypes.string_at(place, dtype.itemsize), dtype)[0].item()
            if isinstance(passed, Address):
                near = min(self.memory, key=lambda begin: abs(begin - value))
                given.append(Within(self.memory[near], value - near))
            else:
                given.append(value)
        self.passed = given
        if not any(
            parameter.type == "ptr" and value == 0
            for parameter, value in zip(self.kernel.parameters, given, strict=True)
        ):
            run_kernel(self.kernel.ir, self.kernel.name, given, blocks, threads, shared)
        return 0


def in_place(monkeypatch: pytest.MonkeyPatch, kernel: Any, **options: Any) -> FakeDriver:
    """A made-up driver in the place of the library, on a machine without cupy."""
    fake = FakeDriver(kernel, **options)
    monkeypatch.setitem(sys.modules, "cupy", None)  # type: ignore[arg-type]
    monkeypatch.setattr(driver_backend.ctypes, "CDLL", lambda name: {driver_backend.LIBRARY: fake}[name])
    return fake
