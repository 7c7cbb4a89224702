"""Elements of objects at arbitrary addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled

LONG = 1 << 22  # elements from which on a compiled loop saves more than loading its compiler takes


def whole(data: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Bytes as elements, without those behind the last one."""
    return data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)


def at_bytes(data: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The elements that begin at these bytes, aligned or not."""
    count = max(0, data.size - dtype.itemsize + 1)
    return np.ndarray((count,), dtype, data, 0, (1,))[places]


def load_aligned(
    addresses: npt.NDArray[np.int64], base: int, elements: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Whole elements of one object: (values, whether an address leads to one); the others are 0. O(addresses)."""
    if addresses.size >= LONG:
        values, ok = np.zeros(addresses.shape, elements.dtype), np.zeros(addresses.shape, np.bool_)
        _load_aligned(addresses, base, elements, values, ok)
        return values, ok
    offsets, width = addresses - base, elements.itemsize
    ok = offsets.view(np.uint64) < np.uint64(elements.size * width)
    ok &= offsets & (width - 1) == 0
    offsets >>= width.bit_length() - 1
    if ok.all():
        return elements[offsets], ok
    values = np.zeros(addresses.shape, elements.dtype)
    values[ok] = elements[offsets[ok]]
    return values, ok


def load_pieces(
    elements: npt.NDArray[Any], starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], step: int
) -> npt.NDArray[Any]:
    """`counts` elements from each start on, `step` elements apart, one piece behind the other. Integers as int64.

    O(elements).
    """
    size = int(counts.sum())
    if size >= LONG:
        values = np.empty(size, elements.dtype if elements.dtype.kind == "f" else np.int64)
        _load_pieces(elements, starts, counts, step, values)
        return values
    places = np.arange(0, step * size, step) if step else np.zeros(size, np.int64)
    places += np.repeat(starts - step * (np.cumsum(counts) - counts), counts)
    found = elements[places]
    return found if found.dtype.kind == "f" else found.astype(np.int64, copy=False)


@compiled(cache=True, nogil=True)
def _load_aligned(addresses: Any, base: int, elements: Any, values: Any, ok: Any) -> None:
    width = elements.itemsize
    for i in range(addresses.size):
        offset = addresses[i] - base
        if 0 <= offset < elements.size * width and offset % width == 0:
            values[i], ok[i] = elements[offset // width], True


@compiled(cache=True, nogil=True)
def _load_pieces(elements: Any, starts: Any, counts: Any, step: int, values: Any) -> None:
    at = 0
    for piece in range(starts.size):
        place = starts[piece]
        for _ in range(counts[piece]):
            values[at] = elements[place]
            place += step
            at += 1
