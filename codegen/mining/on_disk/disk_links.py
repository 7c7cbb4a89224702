"""The links of a graph whose matrix is on disk: counted and checked in one sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.partition.inputs.on_disk.disk_matrix import DiskMatrix
from tracecut.partition.inputs.on_disk.row_file import Piece
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

Longs = npt.NDArray[np.int64]
LOW, HIGH = 2.0**-400, 2.0**400  # beyond, links in memory are scaled first (`scales`)


@dataclass(frozen=True, eq=False)
class DiskLinks:
    """Links as `links.Links`, which has them in memory. Stored zeros are no links.

    Attributes:
        weighted: whether values are weights; else each entry is a link of weight 1.
        out, into: int64 (n), how many links begin and end at each node.
        weights: float64 (n), the sum of the weights of each node's links.
        nodes: None, nodes are 0 … n − 1.
    """

    matrix: DiskMatrix
    weighted: bool
    out: Longs
    into: Longs
    weights: Floats
    nodes: None = None

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return self.matrix.shape[0]

    @property
    def count(self) -> int:
        """How many links there are."""
        return int(self.out.sum())

    def pieces(self) -> Iterator[tuple[Piece, Floats | None]]:
        """Pieces of the matrix, and the weights; None where all are 1."""
        for piece in self.matrix.file.sweep():
            yield piece, _weights(piece, self.weighted)


def disk_links(matrix: DiskMatrix, weight: str | None) -> DiskLinks:
    """The links of a matrix on disk. weight: None gives every link the weight 1.

    Raises ArgumentError, naming the entry, for a matrix that is not square or not real, and for weights that are
    negative, not finite or near the ends of float64. O(links).
    """
    rows, columns = matrix.shape
    if rows != columns:
        raise ArgumentError(f"the matrix of the graph has the shape {matrix.shape}, a square one was expected")
    if matrix.dtype.kind == "c":
        raise ArgumentError(f"the matrix of the graph holds {matrix.dtype}, real weights were expected")
    out, into = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    found = DiskLinks(matrix, weight is not None, out, into, np.zeros(rows))
    for piece, weights in found.pieces():
        k = int(_survey(piece.offsets, piece.columns, weights, piece.low, found.out, found.into, found.weights))
        if k >= 0 and weights is not None:
            _complain(piece, k, float(weights[k]))
    return found


def _weights(piece: Piece, weighted: bool) -> Floats | None:
    if not weighted or piece.values is None:
        return None
    return piece.values.astype(np.float64, copy=False)


def _complain(piece: Piece, k: int, weight: float) -> None:
    u, v = piece.low + int(np.searchsorted(piece.offsets, k, side="right")) - 1, int(piece.columns[k])
    if 0 < weight < np.inf:
        raise ArgumentError(
            f"the link from {u} to {v} has the weight {weight}, a number from 2**-400 to 2**400 was expected",
            hint="Only proportions count: scale all weights; or keep the graph in memory, where others are scaled.",
        )
    raise ArgumentError(
        f"the link from {u} to {v} has the weight {weight}, a finite number of at least 0 was expected",
        hint="weight=None gives every link the weight 1.",
    )


@kept
def _survey(offsets: Any, columns: Any, weights: Any, low: int, out: Any, into: Any, sums: Any) -> int:
    """Counts links and adds weights up; the first entry whose weight cannot be used, -1 without one."""
    for row in range(offsets.size - 1):
        total = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            if weights is not None:
                weight = weights[k]
                if weight == 0.0:
                    continue
                if not LOW <= weight <= HIGH:
                    return int(k)
                total += weight
            else:
                total += 1.0
            out[low + row] += 1
            into[columns[k]] += 1
        sums[low + row] = total
    return -1
