"""Elements of objects at arbitrary addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled


def whole(data: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Bytes as elements, without those behind the last one."""
    return data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)


def at_bytes(data: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The elements that begin at these bytes, aligned or not."""
    count = max(0, data.size - dtype.itemsize + 1)
    return np.ndarray((count,), dtype, data, 0, (1,))[places]


@compiled(cache=True, nogil=True)
def load_aligned(addresses: Any, base: int, elements: Any, values: Any, ok: Any) -> int:
    """Whole elements of one object; how many addresses lead to one. The others are left as they are."""
    width, found = elements.itemsize, 0
    for i in range(addresses.size):
        offset = addresses[i] - base
        if 0 <= offset < elements.size * width and offset % width == 0:
            values[i], ok[i] = elements[offset // width], True
            found += 1
    return found


@compiled(cache=True, nogil=True)
def load_pieces(elements: Any, starts: Any, counts: Any, step: int, values: Any) -> None:
    """`counts` elements from each start on, `step` elements apart, one piece behind the other."""
    at = 0
    for piece in range(starts.size):
        place = starts[piece]
        for _ in range(counts[piece]):
            values[at] = elements[place]
            place += step
            at += 1
