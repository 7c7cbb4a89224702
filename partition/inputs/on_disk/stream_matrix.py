"""A matrix of any size from a text file to the disk, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.argument_checks import size_in_bytes
from tracecut.support.errors import ArgumentError
from tracecut.support.memory_budget import default_budget

from ..entries.coordinate_lines import Chunk
from ..entries.file_layouts import Head, counted_chunks, edges_head, market_head
from ..entries.sort_piece import piece_cuts
from ..entries.text_pieces import Told
from ..entries.to_csr import GENERAL, HERMITIAN, SKEW
from ..file_endings import ending_of
from ..progress_line import ProgressLine
from .disk_matrix import NODE_BYTES, TEXT_BYTES, DiskMatrix, check_room, entries_of_piece
from .row_file import RowFile
from .scratch import Scratch
from .sort_rows import ENTRY_BYTES, SLICE, Entries, sort_rows, sorted_pieces

ENDINGS = (".mtx", ".txt", ".el", ".edges", ".edgelist", ".tsv")
MOST = 2**31 - 1  # rows and columns: vectors of them take 16 GiB each


def stream_matrix(
    path: str | os.PathLike[str], *, memory: int | str | None = None, told: Told | None = None
) -> DiskMatrix:
    """The sparse matrix in a file, of any size, on disk: the entries that `tracecut.read_matrix` finds.

    Args:
        path: Matrix Market (`.mtx`) or an edge list (`.txt`, `.el`, `.edges`, `.edgelist`, `.tsv`), each also `.gz`.
        memory: most bytes that reading, and later work with the matrix, may take beside Python and its libraries
            (about 200 MiB), such as `2 << 30`; `"2G"` is the same. None: half of the free memory.
        told: called with the share of the file that has been read. None: a line on a terminal, after a second.

    Takes 16 bytes of the temporary folder (TMPDIR) for each entry while it reads, 32 with values that are not all 1,
    and 4 or 12 bytes afterwards, in files without a name.

    Raises ArgumentError for a missing file, an ending that no reader knows, and vectors or a row that do not fit in
    `memory`, with the bytes that are needed; ArtefactError naming the file, the line, what stands there and what was
    expected; OutputError for a full disk. O(entries · log of the columns).
    """
    file = Path(path)
    budget = default_budget() if memory is None else size_in_bytes("memory", memory)
    ending = ending_of(file, ENDINGS, "the path", "a matrix to keep on disk")
    with ProgressLine(f"reading {file.name}") as line:
        head = market_head(file) if ending == ".mtx" else edges_head(file)
        return to_disk(head, budget, line if told is None else told)


def to_disk(head: Head, memory: int, told: Told, most: int | None = None) -> DiskMatrix:
    """As `stream_matrix`. most: entries of a piece; None for what the memory allows."""
    dtype = np.dtype(head.dtype)
    spilled = _Spilled(Scratch("entries"), Scratch("values"), dtype, memory)
    try:
        if head.entries is not None:
            spilled.grow(head.layout.rows, head.layout.columns)
        for chunk in counted_chunks(head, told)():
            spilled.add(chunk, head.mirror)
        shape = (spilled.rows, spilled.columns)
        allowed = entries_of_piece(memory, *shape)
        return DiskMatrix(shape, memory, most or allowed, _rows(spilled, most or allowed))
    finally:
        spilled.close()


@dataclass(eq=False)
class _Spilled:
    """Entries on disk in the order of the file, those above the diagonal that follow behind each chunk.

    Attributes:
        counts: int64 (at least rows), entries of each row. sorted: whether rows rise.
    """

    keys: Scratch
    values: Scratch
    dtype: np.dtype[Any]
    memory: int
    rows: int = 0
    columns: int = 0
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    sorted: bool = True
    last: int = 0

    def grow(self, rows: int, columns: int) -> None:
        """Raises ArgumentError where vectors of this length do not fit."""
        if max(rows, columns) > MOST:
            raise ArgumentError(f"a matrix of {rows} × {columns}, at most {MOST} rows and columns were expected")
        self.rows, self.columns = max(rows, self.rows), max(columns, self.columns)
        entries_of_piece(self.memory, self.rows, self.columns)
        if self.rows > self.counts.size:
            more = max(self.rows, min(2 * self.counts.size, self.memory // NODE_BYTES))
            self.counts = np.concatenate([self.counts, np.zeros(more - self.counts.size, np.int64)])

    def add(self, chunk: Chunk, mirror: int) -> None:
        if not chunk.rows.size:
            return
        widest = int(chunk.rows.max()) + 1, int(chunk.columns.max()) + 1
        if max(widest) > max(self.rows, self.columns):
            self.grow(max(widest), max(widest))
        values = chunk.values.view(self.dtype)
        self._append(chunk.rows, chunk.columns, values)
        if mirror != GENERAL:
            off = chunk.rows != chunk.columns
            across = values[off] if values.size else values
            across = -across if mirror == SKEW else np.conj(across) if mirror == HERMITIAN else across
            self._append(chunk.columns[off], chunk.rows[off], across)

    def _append(self, rows: npt.NDArray[Any], columns: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        if not rows.size:
            return
        np.add.at(self.counts, rows, 1)
        self.sorted &= int(rows[0]) >= self.last and bool((rows[1:] >= rows[:-1]).all())
        self.last = int(rows[-1])
        self.keys.append((rows.astype(np.uint64) << np.uint64(32)) | columns.astype(np.uint64))
        self.values.append(values)

    def entries(self) -> Iterator[Entries]:
        """As they stand there, in slices; with the last one the disk is free again."""
        total = self.keys.bytes // 8
        for first in range(0, total, SLICE):
            count = min(SLICE, total - first)
            keys = np.empty(count, np.uint64)
            self.keys.read(8 * first, keys)
            values = np.empty(count, self.dtype) if self.values.bytes else None
            if values is not None:
                self.values.read(self.dtype.itemsize * first, values)
            yield keys, values
        self.close()

    def close(self) -> None:
        self.keys.close()
        self.values.close()


def _rows(spilled: _Spilled, most: int) -> RowFile:
    counts = spilled.counts[: spilled.rows]
    longest = int(counts.max(initial=0))
    if longest > most:
        beside = TEXT_BYTES + NODE_BYTES * max(spilled.rows, spilled.columns)
        row = int(counts.argmax())
        check_room(f"row {row}, of {longest} entries,", beside + ENTRY_BYTES * longest, spilled.memory)
    cuts = piece_cuts(counts, most)
    if not spilled.sorted:
        return sort_rows(spilled.entries(), cuts, counts, spilled.dtype)
    ends = np.concatenate([[0], np.cumsum(counts)])[cuts]
    values = spilled.values if spilled.values.bytes else None
    return sorted_pieces(spilled.keys, values, cuts, ends, spilled.dtype)
