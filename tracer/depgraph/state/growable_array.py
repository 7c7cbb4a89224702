"""Arrays that grow without a copy: unused pages take no memory."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
FEWEST = 1 << 12


class Growing:
    """A one-dimensional array over anonymous memory.

    Growing moves page tables instead of bytes, and pages that were never written are not resident: the capacity may
    exceed the used size. Release all views of `array` before it grows: while one exists, growing has to copy.
    `dense`: the array is filled from its start. Raises MemoryError.
    """

    def __init__(self, dtype: npt.DTypeLike, capacity: int = FEWEST, *, dense: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.dense = dense
        self.capacity = max(FEWEST, capacity)
        self._memory = self._mapped()
        self.array: AnyArray = self._view()

    def reserve(self, size: int) -> None:
        """Ensure capacity for `size` elements; at least doubles when it grows. Raises MemoryError."""
        if size <= self.capacity:
            return
        self.capacity = max(size, 2 * self.capacity)
        self._resize()

    def widened(self, dtype: npt.DTypeLike, size: int) -> Growing:
        """The first `size` elements as another type."""
        other = Growing(dtype, self.capacity, dense=self.dense)
        other.array[:size] = self.array[:size]
        return other

    def taken(self, size: int) -> AnyArray:
        """The first `size` elements; the rest of the memory is released, and this object must not be used again."""
        if size == 0:
            return np.zeros(0, self.dtype)
        self.capacity = size
        self._resize()
        return self.array

    def _resize(self) -> None:
        self.array = np.zeros(0, self.dtype)
        try:
            self._memory.resize(self.capacity * self.dtype.itemsize)
        except BufferError:  # a view still exists, for example in the traceback of an error
            old, self._memory = self._memory, self._mapped()
            kept = min(len(old), len(self._memory))
            self._memory[:kept] = memoryview(old)[:kept]
        except (OSError, OverflowError) as error:
            raise self._no_room() from error
        self.array = self._view()

    def _mapped(self) -> mmap.mmap:
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # a shared mapping cannot grow its memory
        try:
            memory = mmap.mmap(-1, self.capacity * self.dtype.itemsize, flags=private)
        except (OSError, OverflowError) as error:
            raise self._no_room() from error
        if self.dense:
            with suppress(OSError):  # fails on kernels without large pages, which costs only time
                memory.madvise(mmap.MADV_HUGEPAGE)  # one page fault per 2 MiB instead of 4 KiB
        return memory

    def _no_room(self) -> MemoryError:
        return MemoryError(f"{self.capacity * self.dtype.itemsize} bytes for the graph")

    def _view(self) -> AnyArray:
        return np.frombuffer(self._memory, self.dtype, self.capacity)
