"""Splits by counting (TileSpMV §3.2): rows dealt out by length, contiguous columns, a grid."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .split import Entries, Pairs, Ranks, Split, nobody, others


def bitonic(matrix: Entries, ranks: int) -> Split:
    """Rows by falling length are dealt out to the ranks, forwards and backwards in turn. O(n log n + entries).

    So all ranks have equally many rows, and nearly equally many entries: who gets the longest row of a round gets the
    shortest one of the next. No sums are exchanged.
    """
    order = np.argsort(-matrix.row_lengths(), kind="stable")
    turn = np.concatenate([np.arange(ranks), np.arange(ranks)[::-1]]).astype(np.uint16)
    owners = np.empty(matrix.size, np.uint16)
    owners[order] = np.resize(turn, matrix.size)
    return by_rows("bitonic", matrix, owners, ranks)


def by_rows(name: str, matrix: Entries, owners: Ranks, ranks: int) -> Split:
    """Each entry of the matrix is multiplied by the owner of its row."""
    return Split(name, owners, np.repeat(owners, matrix.row_lengths()), others(ranks), nobody(ranks))


def columns(matrix: Entries, ranks: int) -> Split:
    """Contiguous columns of nearly equally many entries. No entries of x are exchanged. O(n + entries)."""
    owners = _chunks(matrix.column_lengths() + 1, ranks)
    return Split("columns", owners, owners[matrix.columns], nobody(ranks), others(ranks))


def grid(matrix: Entries, ranks: int) -> Split:
    """Blocks of a grid of ranks, as square as their number allows. O(n + entries).

    The vectors are cut into a contiguous chunk for each rank, of nearly equally many entries in its rows and columns.
    Rank (r, c) multiplies the rows that row r of the grid owns with the columns that column c owns: entries of x stay
    in a column of the grid, sums in a row.
    """
    high = grid_rows(ranks)
    wide = ranks // high
    owners = _chunks(matrix.row_lengths() + matrix.column_lengths() + 1, ranks)
    down, across = np.arange(ranks) // wide, np.arange(ranks) % wide
    places = np.repeat((owners // wide) * wide, matrix.row_lengths()) + (owners % wide)[matrix.columns]
    expands, folds = (_same(line) & others(ranks) for line in (across, down))
    return Split("grid", owners, places.astype(np.uint16, copy=False), expands, folds)


def grid_rows(ranks: int) -> int:
    """Rows of the grid: the largest divisor that is not above the square root."""
    return max(high for high in range(1, int(ranks**0.5) + 1) if ranks % high == 0)


def _same(line: npt.NDArray[np.int64]) -> Pairs:
    return np.asarray(line[:, None] == line[None, :])


def _chunks(work: npt.NDArray[np.int64], ranks: int) -> Ranks:
    """Contiguous chunks of nearly equal work: the rank of each member, rising."""
    before = np.cumsum(work) - work
    total = int(work.sum())
    goals = np.array([total * rank // ranks for rank in range(1, ranks)], np.int64)
    return np.searchsorted(goals, before, side="right").astype(np.uint16)
