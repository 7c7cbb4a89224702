"""Splits by tracecut's own partitioners, for comparison: they cost many products, and exchange least."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition import partition
from tracecut.support.lazy_kernels import kept

from .simple_splits import by_rows
from .split import Entries, Split, others
from .traffic import COLUMN, ROW, touched


def km1(matrix: Entries, ranks: int, seed: int) -> Split:
    """Rows by a partition of the hypergraph whose nets are the columns (Schlag et al. 2016).

    A net holds the rows with an entry in its column, and the row of the same number, whose owner has that entry of x:
    so the objective of the partition, the copies of data, is the number of entries of x that are exchanged.
    O(entries · log ranks).
    """
    lengths, rows = matrix.row_lengths(), np.arange(matrix.size, dtype=np.uint32)
    offsets = np.zeros(matrix.size + 1, np.int64)
    np.cumsum(lengths + 1, out=offsets[1:])
    pins = np.insert(matrix.columns, matrix.offsets[:-1].astype(np.int64), rows).astype(np.int32)
    graph = LocalityGraph(offsets, pins, matrix.size)
    found = partition(graph, ranks, "multilevel", weights=lengths + 1.0, seed=seed)
    return by_rows("km1", matrix, found.labels.astype(np.uint16), ranks)


def spac(matrix: Entries, ranks: int, seed: int) -> Split:
    """Entries of the matrix by an edge partition, entry (i, j) being an edge between i and j (SPAC §3.2).

    Owner of k is a rank that has entries both in row k and in column k, where there is one, else one that has either;
    of several the one that owns fewest so far. O(entries · log ranks + n · ranks).
    """
    graph = LocalityGraph.from_edges(matrix.rows().astype(np.int32), matrix.columns.astype(np.int32), matrix.size)
    places = partition(graph, ranks, "spac", seed=seed).labels.astype(np.uint16)
    owners = np.empty(matrix.size, np.uint16)
    _choose_owners(touched(matrix, places, ranks), np.zeros(ranks, np.int64), owners)
    return Split("spac", owners, places, others(ranks), others(ranks))


@kept
def _choose_owners(touches: Any, owned: Any, owners: Any) -> None:
    """touches: as of `traffic.touched`. owned: zeros (ranks)."""
    for k in range(touches.shape[0]):
        best, most = 0, -1
        for rank in range(touches.shape[1]):
            used = touches[k, rank]
            count = 2 if used == COLUMN | ROW else 1 if used else 0
            if count > most or (count == most and owned[rank] < owned[best]):
                best, most = rank, count
        owners[k] = best
        owned[best] += 1
