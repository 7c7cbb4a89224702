"""What runs a product on a card: its kernels, arrays there, and vectors that come and go with each call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from tracecut.codegen.devices.device import EMULATED, Device, open_device
from tracecut.codegen.devices.emulated_backend import IR
from tracecut.codegen.ptx.nvptx import ARCHITECTURES, compile_ptx
from tracecut.codegen.sparse.csr import Array
from tracecut.support.errors import ArgumentError, ToolchainError, UnsupportedError

from .product_kernels import SCALE, WARP, kernel_texts

THREADS = 256  # of a block: 8 warps (TileSpMV §3.3)
OLDEST = ARCHITECTURES[0]


def opened(number: int | str) -> Device:
    """A card, or the emulated one. Raises ArgumentError, and ToolchainError where there is no card."""
    known = int(number) if isinstance(number, str) and number.isdecimal() else number  # as plans have it
    try:
        return open_device(known)
    except ArgumentError as error:
        raise ArgumentError(
            f'there is no device {number!r} for products, "cpu", "emulated" or the number of a card was expected',
            hint=error.message,
        ) from error
    except ToolchainError as error:
        hint = 'device="cpu" has the fastest products without one; device="emulated" runs the card\'s kernels here.'
        raise ToolchainError(error.message, hint=hint, detail=error.detail) from error


class CardProducts:
    """Kernels for values of a type on a device. One call at a time: others wait.

    Raises KernelError and ToolchainError where the card does not take them, UnsupportedError for one that is too old.
    """

    def __init__(self, device: Device, dtype: np.dtype[Any], names: Sequence[str], lanes: int = WARP) -> None:
        texts = kernel_texts(dtype, lanes)
        self.device, self._lock = device, threading.Lock()
        self._kernels = {name: _loaded(device, texts[name], name) for name in (SCALE, *names)}

    def put(self, array: Array) -> Any:
        """An array on the card; one of no elements is a byte there, that nothing reads."""
        return self.device.put(array if array.size else np.zeros(1, np.uint8))

    def address(self, array: Any) -> np.uint64:
        return self.device.address(array)

    def times(self, x: Array, y: Array, scale: Array, count: int, run: Callable[..., None]) -> None:
        """y = β y, and then what `run(x, y, scale, count, which)` adds for each right-hand side, given addresses."""
        if y.size == 0:
            return
        with self._lock:
            held = self.put(x), self.put(y), self.put(scale)
            given, out, factors = map(self.address, held)
            self.launch(SCALE, y.size, out, factors, np.int64(y.size))
            for which in range(count):
                run(given, out, factors, np.int64(count), np.int64(which))
            y.reshape(-1).view(np.uint8)[:] = self.device.get(held[1]).reshape(-1).view(np.uint8)

    def launch(self, name: str, threads: int, *arguments: np.generic) -> None:
        """A kernel on at least so many threads; its last block may have more."""
        if threads:
            self.device.launch(self._kernels[name], -(-threads // THREADS), THREADS, 0, arguments)


def _loaded(device: Device, text: str, name: str) -> Any:
    if IR in device.backend.takes:
        return device.load(text.encode(), name, ending=IR)
    return device.load(_ptx(text, name, _arch(device)).encode(), name, ending="ptx")


@cache
def _ptx(text: str, name: str, arch: str) -> str:
    return compile_ptx(text, name, arch, libdevice=False)


def _arch(device: Device) -> str:
    """The newest architecture that kernels are made for and the card can run."""
    known = [arch for arch in ARCHITECTURES if (int(arch[3:-1]), int(arch[-1])) <= device.capability]
    if not known:
        raise UnsupportedError(f"card {device.number} is {device.arch}, kernels are made for {OLDEST} and later")
    return known[-1]


def name_of(device: Device) -> str:
    """As plans have it: `opened` takes it."""
    return EMULATED if is_emulated(device) else str(device.number)


def is_emulated(device: Device) -> bool:
    """Whether this CPU stands for the card."""
    return IR in device.backend.takes


__all__ = ["EMULATED", "CardProducts", "is_emulated", "name_of", "opened"]
