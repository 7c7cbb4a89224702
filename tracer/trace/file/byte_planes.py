"""Bytes of numbers sorted by their place: what stands at the same place of random addresses compresses by itself.

The bytes are those of `coding`: counts and values in turn, seven bits a byte, the low ones first. All counts come
first, then the first bytes of all values, then the second ones, … Any bytes can be sorted, and give the same again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled
from tracecut.support.plain_kernels import fitting

Bytes = npt.NDArray[np.uint8]
PLANES = 11  # counts, and ten bytes of a value; what is longer stays in the last


def split(data: Bytes) -> tuple[Bytes, npt.NDArray[np.int64]]:
    """(the sorted bytes, how many each plane has: int64[PLANES]). O(bytes)."""
    sizes = np.zeros(PLANES, np.int64)
    out = np.empty(data.size, np.uint8)
    fitting(_split, data.size)(data, sizes, out)
    return out, sizes


def merge(sorted_bytes: Bytes, sizes: npt.NDArray[np.int64]) -> Bytes | None:
    """What `split` was given; None when it cannot have made this. O(bytes)."""
    if sizes.size != PLANES or sizes.min() < 0 or int(sizes.sum()) != sorted_bytes.size:
        return None
    out = np.empty(sorted_bytes.size, np.uint8)
    return out if fitting(_merge, out.size)(sorted_bytes, sizes, out) else None


@compiled(cache=True, nogil=True)
def _split(data: Any, sizes: Any, out: Any) -> None:
    plane, last = np.uint64(0), np.uint64(PLANES - 1)
    for byte in data:
        sizes[plane] += 1
        plane = _next(plane, byte, last)
    ends = np.cumsum(sizes) - sizes
    plane = np.uint64(0)
    for byte in data:
        out[ends[plane]] = byte
        ends[plane] += 1
        plane = _next(plane, byte, last)


@compiled(cache=True, nogil=True)
def _merge(data: Any, sizes: Any, out: Any) -> bool:
    ends = np.cumsum(sizes)
    places = ends - sizes
    plane, last = np.uint64(0), np.uint64(PLANES - 1)
    for place in range(out.size):
        if places[plane] == ends[plane]:
            return False
        byte = data[places[plane]]
        places[plane] += 1
        out[place] = byte
        plane = _next(plane, byte, last)
    return True


@compiled(cache=True, nogil=True, inline="always")
def _next(plane: Any, byte: Any, last: Any) -> Any:
    """Where the byte behind this one belongs."""
    if byte < np.uint8(128):  # a number ends
        return np.uint64(1) if plane == np.uint64(0) else np.uint64(0)
    if plane == np.uint64(0):
        return plane
    return min(plane + np.uint64(1), last)
