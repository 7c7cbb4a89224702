"""Read-only views in the few types that kernels are compiled for.

Numba compiles a kernel again for each combination of types, and writable and read-only arrays are different types.
Every input of a kernel is converted here, so that each kernel is compiled once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats, Longs

Words = npt.NDArray[np.uint32]


def words(values: npt.NDArray[Any]) -> Words:
    """Non-negative 32-bit values as uint32: kernels index with it without a check for negative numbers."""
    return _read_only(np.ascontiguousarray(values).view(np.uint32))


def longs(values: npt.NDArray[Any]) -> Longs:
    """Values as int64."""
    return _read_only(np.ascontiguousarray(values, np.int64))


def floats(values: npt.NDArray[Any]) -> Floats:
    """Values as float64."""
    return _read_only(np.ascontiguousarray(values, np.float64))


def ranks(order: npt.NDArray[Any]) -> Words:
    """The inverse of a permutation: `ranks(order)[order[i]] == i`."""
    result = np.empty(order.size, np.uint32)
    result[order] = np.arange(order.size, dtype=np.uint32)
    return result


def _read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = values.view()
    view.flags.writeable = False
    return view
