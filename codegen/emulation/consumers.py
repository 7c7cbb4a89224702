"""Who takes the accesses of each warp: machine code, or a Python function a block at a time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError

LANES = 32
FUNCTION = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int32),
    ctypes.POINTER(ctypes.c_uint16),
    ctypes.POINTER(ctypes.c_uint64),
)


@dataclass(frozen=True)
class CompiledConsumer:
    """Machine code that takes the accesses of a warp that has ended, for instance `address` of a Numba cfunc.

    Its signature is the one of `ir/gpu/sites.py`.

    Attributes:
        address: of the function. state: passed on. keep: what has to live until the run has ended.
    """

    address: int
    state: int = 0
    keep: Any = None


@dataclass(frozen=True, eq=False)
class WarpAccesses:
    """The accesses of a warp.

    Attributes:
        block, warp: linear number of the block, number of the warp in it.
        first: int32[33]: lane l has the events first[l] … first[l+1]−1, in the order of its program.
        site: uint16[n]. address: uint64[n], in shared memory bytes from the begin of the block's.
    """

    block: int
    warp: int
    first: npt.NDArray[np.int32]
    site: npt.NDArray[np.uint16]
    address: npt.NDArray[np.uint64]


class Consumer:
    """What a launch calls: `address` with `state`, until `stop` is set."""

    def __init__(self, given: CompiledConsumer | Callable[[Sequence[WarpAccesses]], None]) -> None:
        self._error: BaseException | None = None
        self._waiting: list[WarpAccesses] = []
        self.stop = ctypes.c_int32(0)
        if isinstance(given, CompiledConsumer):
            if given.address == 0:
                raise ArgumentError("trace has the address 0, a function was expected")
            self._given, self.address, self.state = given, given.address, given.state
            return
        if not callable(given):
            raise ArgumentError(f"trace is {type(given).__name__}, a function or a CompiledConsumer was expected")
        self._function = given
        self._callback = FUNCTION(self._take)
        self.address, self.state = ctypes.cast(self._callback, ctypes.c_void_p).value or 0, 0

    def finish(self) -> None:
        """Hand over the last block; raise what the function raised."""
        if self._error is None:
            self._hand_over()
        if self._error is not None:
            raise self._error

    def _take(self, state: int, block: int, warp: int, first: Any, site: Any, address: Any) -> None:
        if self._waiting and self._waiting[0].block != block:
            self._hand_over()
        if self._error is not None:
            return
        places = np.ctypeslib.as_array(first, (LANES + 1,)).copy()
        count = int(places[-1])
        self._waiting.append(WarpAccesses(block, warp, places, _copied(site, count), _copied(address, count)))

    def _hand_over(self) -> None:
        given, self._waiting = self._waiting, []
        try:
            if given:
                self._function(tuple(given))
        except BaseException as error:  # it cannot pass through the machine code
            self._error, self.stop.value = error, 1


def _copied(pointer: Any, count: int) -> npt.NDArray[Any]:
    if count == 0:
        return np.zeros(0, np.dtype(pointer._type_))
    return np.ctypeslib.as_array(pointer, (count,)).copy()
