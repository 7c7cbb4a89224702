"""A card that this CPU stands for: kernels take the way that they take to a card, and run in the emulator.

Its memory has addresses of its own, far apart, so that none of this process is one of them: an address that leads
nowhere near an array of the card is an error, as it is on a card.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.emulation.lowering.kernel_text import read_kernel
from tracecut.codegen.emulation.run_kernel import Within, run_kernel

IR = "ir"  # what it takes for code: the module that PTX is made of
APART = 1 << 40  # bytes between two arrays; an address belongs to the array that it is nearest to
NEWEST = (12, 0)  # it runs what is made for any architecture


@dataclass(frozen=True, eq=False)
class EmulatedArray:
    """Memory of the card. `place`: its address. data: uint8."""

    place: int
    data: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel that was loaded. `pointers`: whether each of its parameters is an address."""

    text: str
    name: str
    pointers: tuple[bool, ...]


class EmulatedBackend:
    """As `Backend`, with one card. What the emulator refuses or finds wrong is raised as it says it."""

    takes: tuple[str, ...] = (IR,)

    def __init__(self) -> None:
        self._arrays: weakref.WeakValueDictionary[int, EmulatedArray] = weakref.WeakValueDictionary()
        self._made = 0

    def count(self) -> int:
        return 1

    def capability(self, number: int) -> tuple[int, int]:
        return NEWEST

    def describe(self, number: int) -> str:
        return "emulated on this CPU"

    def load(self, number: int, code: bytes, name: str, ending: str) -> EmulatedKernel:
        if ending != IR:
            raise RuntimeError(f"the emulated card takes {IR}, no {ending}")
        text = code.decode()
        parameters = read_kernel(text, name).parameters
        return EmulatedKernel(text, name, tuple(parameter.type.startswith("ptr") for parameter in parameters))

    def put(self, number: int, data: npt.NDArray[Any]) -> EmulatedArray:
        self._made += 1
        array = EmulatedArray(self._made * APART, np.ascontiguousarray(data).reshape(-1).view(np.uint8).copy())
        self._arrays[self._made] = array
        return array

    def borrow(self, number: int, place: int, bytes: int) -> EmulatedArray:
        raise RuntimeError("no other library has memory on the emulated card")

    def write(self, number: int, array: EmulatedArray, data: npt.NDArray[Any], first: int = 0) -> None:
        array.data[first : first + data.nbytes] = data.reshape(-1).view(np.uint8)

    def get(self, number: int, array: EmulatedArray, first: int = 0, size: int | None = None) -> npt.NDArray[Any]:
        return array.data[first : array.data.size if size is None else first + size].copy()

    def fill(self, number: int, array: EmulatedArray, first: int, size: int, byte: int) -> None:
        array.data[first : first + size] = byte

    def copy(self, number: int, array: EmulatedArray, first: int, source: EmulatedArray, place: int, size: int) -> None:
        array.data[first : first + size] = source.data[place : place + size]

    def address(self, array: EmulatedArray) -> int:
        return array.place

    def launch(
        self, number: int, kernel: EmulatedKernel, blocks: int, threads: int, shared: int, given: Sequence[np.generic]
    ) -> None:
        run_kernel(kernel.text, kernel.name, self.arguments(kernel, given), blocks, threads, shared)

    def arguments(self, kernel: EmulatedKernel, given: Sequence[np.generic]) -> list[Within | int | float]:
        """What the emulator is given: for each address the array of the card that it leads to."""
        if len(given) != len(kernel.pointers):
            raise RuntimeError(f"{kernel.name} has {len(kernel.pointers)} parameters, {len(given)} were given")
        return [
            self._within(kernel, int(value)) if pointer else value.item()
            for value, pointer in zip(given, kernel.pointers, strict=True)
        ]

    def _within(self, kernel: EmulatedKernel, address: int) -> Within:
        array = self._arrays.get((address + APART // 2) // APART)
        if array is None:
            raise RuntimeError(f"{kernel.name} was given the address {address:#x}, where no array lies")
        return Within(array.data, address - array.place)
