"""What cards are reached by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

CUDA = ("cubin", "ptx")  # what cards take
WITHOUT_ASKING = 48 << 10  # bytes of dynamic shared memory that every kernel may have


def cuda_version(number: int) -> str:
    """As drivers number it: 13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}"


class Backend(Protocol):
    """What cards are reached by. Each call names the card; failures are RuntimeError or MemoryError.

    Attributes:
        takes: endings of the code that it loads, the best first.
    """

    takes: tuple[str, ...]

    def count(self) -> int:
        """Cards of this machine."""

    def capability(self, number: int) -> tuple[int, int]:
        """(major, minor) of a card's architecture."""

    def describe(self, number: int) -> str:
        """A card's name, and the newest CUDA that its driver knows."""

    def load(self, number: int, code: bytes, name: str, ending: str) -> Any:
        """The kernel `name` of machine code (`ending` "cubin"), of PTX ("ptx") or of the module of both ("ir")."""

    def put(self, number: int, data: npt.NDArray[Any]) -> Any:
        """A copy of an array on the card."""

    def borrow(self, number: int, place: int, bytes: int) -> Any:
        """An array of another library, at an address on the card, of which the caller keeps the memory; what was asked
        of the card before has ended."""

    def write(self, number: int, array: Any, data: npt.NDArray[Any], first: int = 0) -> None:
        """Copy an array into one on the card, from byte `first` on, which has to be 0 if it is not one of bytes."""

    def get(self, number: int, array: Any, first: int = 0, size: int | None = None) -> npt.NDArray[Any]:
        """A copy of the card's array in this process, or of `size` bytes from `first` on of an array of bytes."""

    def fill(self, number: int, array: Any, first: int, size: int, byte: int) -> None:
        """Set bytes [first, first + size) of the card's array."""

    def copy(self, number: int, array: Any, first: int, source: Any, place: int, size: int) -> None:
        """Copy bytes [place, place + size) of one of the card's arrays to `first` and on of another, or of itself where
        the two do not overlap."""

    def address(self, array: Any) -> int:
        """Where the card's array begins."""

    def launch(
        self, number: int, kernel: Any, blocks: int, threads: int, shared: int, arguments: Sequence[np.generic]
    ) -> None:
        """Run a loaded kernel and wait for its end."""
