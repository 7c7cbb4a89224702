"""Times of kernels on a card, by its own events: caches emptied before each launch, and launches back to back.

The card that this CPU stands for is timed by the clock of the host: its times say nothing of a card.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from tracecut.codegen.devices.device import Device
from tracecut.codegen.devices.driver_backend import DriverBackend
from tracecut.codegen.devices.emulated_backend import EmulatedBackend
from tracecut.codegen.kernels.device_run import arguments_on_card, code_for
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.ptx.nvptx import compile_ptx

COLD, WARM = 11, 20  # launches
EMPTIED = 512 << 20  # bytes that are read to empty the L2: none of them is left to be written back
READ = """target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @read(ptr addrspace(1) %from, ptr addrspace(1) %to) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = shl i32 %b, 8
  %k = add i32 %first, %t
  %i = zext i32 %k to i64
  %at = getelementptr <2 x i64>, ptr addrspace(1) %from, i64 %i
  %v = load <2 x i64>, ptr addrspace(1) %at, align 16
  %one = extractelement <2 x i64> %v, i32 0
  %odd = icmp eq i64 %one, 1
  br i1 %odd, label %put, label %done
put:
  store i64 %one, ptr addrspace(1) %to, align 8
  br label %done
done:
  ret void
}
"""


@dataclass(frozen=True)
class Times:
    """Seconds of a launch: median with caches that hold nothing of it, its spread; and of many back to back."""

    cold: float
    spread: float
    warm: float


class Card:
    """A card that kernels are timed on. Raises RuntimeError where there is none."""

    def __init__(self, backend: DriverBackend, number: int = 0) -> None:
        self.backend, self.number = backend, number
        if backend.count() <= number:
            raise RuntimeError("no CUDA-capable device is detected")
        self.device = Device(backend, number, backend.capability(number))
        code = compile_ptx(READ, "read", "sm_80", libdevice=False).encode()
        self._read = backend.load(number, code, "read", "ptx")
        self._much = backend.put(number, np.zeros(EMPTIED, np.uint8))
        self._begin, self._end = self._event(), self._event()

    @property
    def name(self) -> str:
        return self.backend.name(self.number)

    @property
    def cuda(self) -> str:
        """The newest CUDA that its driver knows."""
        return self.backend.cuda()

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.backend.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        return event

    def _elapsed(self) -> float:
        milliseconds = ctypes.c_float()
        self.backend.call("cuEventSynchronize", self._end)
        self.backend.call("cuEventElapsedTime", ctypes.byref(milliseconds), self._begin, self._end)
        return 1e-3 * milliseconds.value

    def _record(self, event: ctypes.c_void_p) -> None:
        self.backend.call("cuEventRecord", event, ctypes.c_void_p(None))

    def timed(self, begin: Callable[[], None]) -> float:
        """Seconds of what a call begins on the card."""
        self._record(self._begin)
        begin()
        self._record(self._end)
        return self._elapsed()

    def empty_caches(self) -> None:
        place = np.uint64(self._much.place)
        self.backend.begin(self._read, EMPTIED // (16 * 256), 256, 0, (place, place))

    def _launch(self, loaded: Any, *shape: Any) -> None:
        """Begin a launch, and do not wait for its end."""
        self.backend.begin(loaded, *shape)

    def run(self, kernel: Kernel, *, once: bool = False) -> tuple[list[Any], Times]:
        """What the first launch left in the kernel's arrays, and times of further ones, which work on what is there.

        `once`: no further ones; the times are 0.
        """
        card = self.device
        code, ending = code_for(kernel, card)
        loaded = card.load(code, kernel.name, ending=ending)
        there = [card.put(item.data) for item in kernel.arrays]
        shape = kernel.blocks, kernel.threads, kernel.shared_bytes, arguments_on_card(kernel, there, card.address)
        card.launch(loaded, *shape)
        left = [card.get(array) for array in there]
        if once:
            return left, Times(0.0, 0.0, 0.0)
        cold = []
        for _ in range(COLD):
            self.empty_caches()
            cold.append(self.timed(lambda: self._launch(loaded, *shape)))
        self._record(self._begin)
        for _ in range(WARM):
            self._launch(loaded, *shape)
        self._record(self._end)
        return left, Times(median(cold), max(cold) / min(cold), self._elapsed() / WARM)


class EmulatedCard(Card):
    """The card that this CPU stands for. It has no caches to empty."""

    name, cuda = "emulated on this CPU", ""

    def __init__(self) -> None:
        backend = EmulatedBackend()
        self.device = Device(backend, 0, backend.capability(0))
        self._begin, self._end = [0.0], [0.0]

    def _record(self, event: Any) -> None:
        event[0] = time.perf_counter()

    def _elapsed(self) -> float:
        return self._end[0] - self._begin[0]

    def empty_caches(self) -> None:
        pass

    def _launch(self, loaded: Any, *shape: Any) -> None:
        self.device.launch(loaded, *shape)
