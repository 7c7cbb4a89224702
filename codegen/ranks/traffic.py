"""What a split exchanges in a product: a model that needs no ranks, and counts every entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import kept

from .split import Entries, Ranks, Split

COLUMN, ROW = 1, 2
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Entries that go from one rank to another in a product, each int64 (ranks, ranks), by sender and receiver.

    Attributes:
        expand: entries of x. fold: sums of y.
    """

    expand: Counts
    fold: Counts

    def turned(self) -> Traffic:
        """That of the product with the transposed matrix: every message goes the other way."""
        return Traffic(self.fold.T, self.expand.T)

    def bytes(self, width: int = 1, itemsize: int = 8) -> Counts:
        """Bytes that each rank sends in a product with `width` vectors: int64 (ranks)."""
        return np.asarray((self.expand + self.fold).sum(axis=1) * (width * itemsize))

    def messages(self) -> Counts:
        """Messages that each rank sends in a product: int64 (ranks)."""
        return np.asarray((self.expand > 0).sum(axis=1) + (self.fold > 0).sum(axis=1))

    def seconds(self, latency: float, bandwidth: float, width: int = 1, itemsize: int = 8) -> float:
        """The time of the rank that sends longest: latency for each message, and bytes over bytes a second."""
        times = self.messages() * latency + self.bytes(width, itemsize) / bandwidth
        return float(times.max(initial=0.0))


def traffic_of(matrix: Entries, split: Split, exchange: str) -> Traffic:
    """What is exchanged: entries that are needed, or all that a rank owns, whether needed or not (`"allgather"`).

    O(entries + n · ranks).
    """
    if exchange == "allgather":
        owned = np.bincount(split.owners, minlength=split.ranks)
        return Traffic(split.expands * owned[:, None], split.folds * owned[None, :])
    expand, fold = (np.zeros((split.ranks, split.ranks), np.int64) for _ in range(2))
    _count(touched(matrix, split.places, split.ranks), split.owners, expand, fold)
    return Traffic(expand, fold)


def touched(matrix: Entries, places: Ranks, ranks: int) -> npt.NDArray[np.uint8]:
    """uint8 (n, ranks): whether a rank has entries in column k (COLUMN), in row k (ROW), or in both."""
    found = np.zeros((matrix.size, ranks), np.uint8)
    _touch(matrix.offsets, matrix.columns, places, found)
    return found


@kept
def _touch(offsets: Any, columns: Any, places: Any, found: Any) -> None:
    for row in range(offsets.size - 1):
        for k in range(offsets[row], offsets[row + 1]):
            found[row, places[k]] |= ROW
            found[columns[k], places[k]] |= COLUMN


@kept
def _count(touches: Any, owners: Any, expand: Any, fold: Any) -> None:
    for k in range(owners.size):
        for rank in range(touches.shape[1]):
            if rank != owners[k]:
                expand[owners[k], rank] += touches[k, rank] & COLUMN
                fold[rank, owners[k]] += (touches[k, rank] & ROW) >> 1
