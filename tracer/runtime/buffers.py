"""Memory that is handed to machine code: its address, and who keeps it. Light: `tracecut run` works with it.

Arrays of NumPy become blocks where a schedule is made; where one is used, NumPy is not loaded at all.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

LARGE = 1 << 16  # bytes from which on pages are taken as they are needed, and given back
CODES = {
    "i4": ctypes.c_int32,
    "i8": ctypes.c_int64,
    "u8": ctypes.c_uint64,
}


class Block:
    """`count` items of `width` bytes at an address. O(1).

    `owner`: what keeps the memory; None where it is the program's.
    """

    __slots__ = ("address", "count", "owner", "width")

    def __init__(self, address: int, count: int, width: int, owner: object = None) -> None:
        self.address, self.count, self.width, self.owner = address, count, width, owner

    @property
    def bytes(self) -> int:
        return self.count * self.width

    @classmethod
    def room(cls, count: int, width: int) -> Block:
        """New memory, for the caller to fill. Raises MemoryError."""
        size = count * width
        if size < LARGE:
            small = ctypes.create_string_buffer(max(1, size))
            return cls(ctypes.addressof(small), count, width, small)
        # Private: a child of the program must not write into the room of its parent. Large pages were slower: clearing
        # one evicts what is about to be copied, and no gather was faster for it.
        try:
            pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError) as error:  # no file is at fault: what fails is room
            raise MemoryError(f"{size} bytes for a copy") from error
        return cls(ctypes.addressof(ctypes.c_char.from_buffer(pages)), count, width, pages)

    @classmethod
    def holding(cls, values: Sequence[int], code: str) -> Block:
        """Whole numbers, as `i4`, `i8` or `u8`."""
        array = (CODES[code] * max(1, len(values)))(*values)
        return cls(ctypes.addressof(array), len(values), int(code[1]), array)

    @classmethod
    def of(cls, array: Any, code: str) -> Block:
        """What an array holds: a block, one of ctypes, or one of NumPy, which is copied unless it lies in order."""
        if isinstance(array, Block):
            found = array
        elif isinstance(array, ctypes.Array):
            found = cls(ctypes.addressof(array), len(array), ctypes.sizeof(array._type_), array)
        else:
            plain = array.astype(code, order="C", copy=False)
            return cls(int(plain.ctypes.data), int(plain.size), int(plain.itemsize), plain)
        if found.width != int(code[1]):
            raise ValueError(f"items of {found.width} bytes, {code[1]} were expected")
        return found

    def part(self, start: int, count: int) -> Block:
        """Items [start, start + count) of it."""
        return Block(self.address + start * self.width, count, self.width, self.owner)

    def numbers(self) -> list[int]:
        """Its items as whole numbers with a sign. O(items)."""
        kind = {4: ctypes.c_int32, 8: ctypes.c_int64}[self.width]
        return list((kind * self.count).from_address(self.address))
