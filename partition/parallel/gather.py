"""Reading and writing by index on several threads: NumPy would copy unsigned indices into wider ones first."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.support.lazy_kernels import kept

from .thread_pool import ThreadPool, blocks

Scalar = TypeVar("Scalar", np.uint32, np.float64)


def gathered(values: npt.NDArray[Scalar], places: Words, pool: ThreadPool) -> npt.NDArray[Scalar]:
    """`values[places]`; values of uint32 or float64. O(places)."""
    given, found = values.view(), np.empty(places.size, values.dtype)
    given.flags.writeable = False  # as all inputs of kernels
    pool.each(_gather, [(given, words(places), found, first, last) for first, last in blocks(places.size)])
    return found


def scattered(values: Words, places: Words, size: int, pool: ThreadPool) -> Words:
    """`result[places] = values`, uint32 (size). Each place has to be among `places`; more than once, with one value."""
    found = np.empty(size, np.uint32)
    pool.each(_scatter, [(words(values), words(places), found, first, last) for first, last in blocks(places.size)])
    return found


@kept
def _gather(values: npt.NDArray[Scalar], places: Words, found: npt.NDArray[Scalar], first: int, last: int) -> None:
    for i in range(first, last):
        found[i] = values[places[i]]


@kept
def _scatter(values: Words, places: Words, found: Words, first: int, last: int) -> None:
    for i in range(first, last):
        found[places[i]] = values[i]
