"""The memory of a launch: arrays, shared and local memory behind numbers that no two of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .parse import Program, PtxError

U64 = np.uint64
SHARED, LOCAL, NULL = 1 << 60, 1 << 61, 1 << 20
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_STEP = 40  # bits between arrays: each has its begin in the middle, so that places near it are not another's


class Memory:
    """Arrays by address.

    Args:
        arrays: their bytes, changed in place. program: for its variables. threads: of a block.
        shared_bytes: of shared memory whose size the launch states.
    """

    def __init__(self, arrays: Sequence[Any], program: Program, threads: int, shared_bytes: int) -> None:
        self.arrays = [array.reshape(-1).view(np.uint8) for array in arrays]
        self.names: dict[str, int] = {}
        shared = local = 0
        for item in program.variables:
            if item.space in ("global", "const"):
                self.names[item.name] = self.address(len(self.arrays))
                self.arrays.append(np.frombuffer(bytearray(item.data), np.uint8))
            elif item.space == "local":
                local += -local % item.align
                self.names[item.name] = local
                local += item.size
            else:
                shared += -shared % item.align
                self.names[item.name] = shared
                shared += item.size
        self.shared = np.zeros(shared + shared_bytes, np.uint8)
        self.written = np.zeros(self.shared.size, bool)
        self.local_bytes = local
        self.local = np.zeros(threads * local, np.uint8)

    @staticmethod
    def address(number: int) -> int:
        """Where an array begins."""
        return (number + 1 << _STEP) + (1 << _STEP - 1)

    def new_block(self) -> None:
        """Nothing of an earlier block is there."""
        self.shared[:] = 0xA5
        self.written[:] = False
        self.local[:] = 0xA5

    def load(self, space: str, at: Any, size: int, lanes: Any) -> Any:
        """Unsigned integers of `size` bytes at addresses."""
        out = np.empty(at.size, UNSIGNED[size])
        for flat, places, chosen in self._parts(space, at, size, lanes):
            bytes = places[:, None] + np.arange(size)
            if flat is self.shared and not self.written[bytes].all():
                raise PtxError("shared memory is read that nothing was written to")
            out[chosen] = flat[bytes].view(UNSIGNED[size]).reshape(-1)
        return out

    def store(self, space: str, at: Any, values: Any, size: int, lanes: Any) -> None:
        """Store the low `size` bytes of unsigned integers; of several at one place the last one stays."""
        for flat, places, chosen in self._parts(space, at, size, lanes):
            bytes = places[:, None] + np.arange(size)
            flat[bytes] = np.ascontiguousarray(values[chosen].astype(UNSIGNED[size])).view(np.uint8).reshape(-1, size)
            if flat is self.shared:
                self.written[bytes] = True

    def _parts(self, space: str, at: Any, size: int, lanes: Any) -> Any:
        """(bytes, places in them, which of the addresses) of each piece of memory that addresses lead to."""
        if at.size and (at % U64(size)).any():
            raise PtxError(f"an address is no multiple of {size}")
        if space in ("shared", "local"):
            yield self._part(self.shared if space == "shared" else self.local, space, at, size, lanes, slice(None))
            return
        for where in np.unique(at >> U64(_STEP)):
            chosen = (at >> U64(_STEP)) == where
            window = int(where) << _STEP
            if space == "" and window in (SHARED, LOCAL):
                name = "shared" if window == SHARED else "local"
                flat = self.shared if window == SHARED else self.local
                yield self._part(flat, name, at[chosen] - U64(window), size, lanes[chosen], chosen)
                continue
            number = int(where) - 1
            if not 0 <= number < len(self.arrays):
                raise PtxError(f"address {int(at[chosen][0]):#x} is in no array")
            places = at[chosen].astype(np.int64) - self.address(number)
            self._check(places, self.arrays[number].size, size, f"array {number}")
            yield self.arrays[number], places, chosen

    def _part(self, flat: Any, name: str, at: Any, size: int, lanes: Any, chosen: Any) -> Any:
        places = at.astype(np.int64)
        if name == "shared":
            self._check(places, flat.size, size, name)
            return flat, places, chosen
        self._check(places, self.local_bytes, size, name)
        return flat, places + lanes * self.local_bytes, chosen

    @staticmethod
    def _check(places: Any, bytes: int, size: int, name: str) -> None:
        if places.size and (places.min() < 0 or places.max() + size > bytes):
            raise PtxError(f"an access of {size} bytes at byte {places.min()} to {places.max()} of {name} of {bytes}")
