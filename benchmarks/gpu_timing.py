"""Times of kernels on a card, by its own events: caches emptied before each launch, and launches back to back."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from tracecut.codegen.kernels.device import Device
from tracecut.codegen.kernels.device_run import arguments_on_card
from tracecut.codegen.kernels.driver_backend import DriverBackend
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
        self.capability = backend.capability(number)
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

    def _empty_caches(self) -> None:
        place = np.uint64(self._much.place)
        self.backend.begin(self._read, EMPTIED // (16 * 256), 256, 0, (place, place))

    def run(self, kernel: Kernel, *, once: bool = False) -> tuple[list[Any], Times]:
        """What the first launch left in the kernel's arrays, and times of further ones, which work on what is there.

        `once`: no further ones; the times are 0.
        """
        backend, number = self.backend, self.number
        loaded = backend.load(number, kernel.cubin, kernel.name, "cubin")
        there = [backend.put(number, item.data) for item in kernel.arrays]
        arguments = arguments_on_card(kernel, there, Device(backend, number, self.capability).address)
        shape = kernel.blocks, kernel.threads, kernel.shared_bytes, arguments
        backend.launch(number, loaded, *shape)
        left = [backend.get(number, array) for array in there]
        if once:
            return left, Times(0.0, 0.0, 0.0)
        cold = []
        for _ in range(COLD):
            self._empty_caches()
            self._record(self._begin)
            backend.begin(loaded, *shape)
            self._record(self._end)
            cold.append(self._elapsed())
        self._record(self._begin)
        for _ in range(WARM):
            backend.begin(loaded, *shape)
        self._record(self._end)
        return left, Times(median(cold), max(cold) / min(cold), self._elapsed() / WARM)
