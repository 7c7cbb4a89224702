"""A split: which rank owns each entry of the vectors, and which one multiplies each entry of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats

Ranks = npt.NDArray[np.uint16]
Pairs = npt.NDArray[np.bool_]
MOST = 1 << 16  # ranks, whose numbers are 16-bit
SPLITS = ("bitonic", "columns", "grid", "km1", "spac")
EXCHANGES = ("needed", "allgather")


@dataclass(frozen=True, eq=False)
class Entries:
    """A square sparse matrix by rows: y[i] is the sum of values times x[columns] over row i.

    Attributes:
        offsets: uint32 or uint64 (n + 1), where rows begin.
        columns: uint32 (entries), in any order within a row.
        values: float64 (entries), or none where all are 1.
    """

    offsets: npt.NDArray[Any]
    columns: npt.NDArray[np.uint32]
    values: Floats

    @property
    def size(self) -> int:
        """Rows, and columns."""
        return self.offsets.size - 1

    def row_lengths(self) -> npt.NDArray[np.int64]:
        starts = self.offsets.astype(np.int64)
        return starts[1:] - starts[:-1]

    def column_lengths(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.columns, minlength=self.size)

    def rows(self) -> npt.NDArray[np.uint32]:
        """The row of each entry."""
        return np.repeat(np.arange(self.size, dtype=np.uint32), self.row_lengths())


@dataclass(frozen=True, eq=False)
class Split:
    """Who owns what. An entry of x goes from its owner to the ranks that multiply with it, a sum of y to its owner.

    Attributes:
        name: as in SPLITS.
        owners: uint16 (n), of entry k of x and of y.
        places: uint16 (entries), the rank that multiplies each entry of the matrix.
        expands: bool (ranks, ranks), whether entries of x of one rank can be used by another one, for any matrix.
        folds: bool (ranks, ranks), whether sums that one rank makes can belong to another one.
    """

    name: str
    owners: Ranks
    places: Ranks
    expands: Pairs
    folds: Pairs

    @property
    def ranks(self) -> int:
        return self.expands.shape[0]


def others(ranks: int) -> Pairs:
    """Every rank and each other one."""
    return ~np.eye(ranks, dtype=bool)


def nobody(ranks: int) -> Pairs:
    return np.zeros((ranks, ranks), bool)
