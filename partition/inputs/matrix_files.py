"""Matrices in files of other programs. The ending of the name says which; `.gz` may follow any but `.npz`.

- `.mtx`: Matrix Market, `coordinate`; fields pattern, real, integer and complex, and unsigned-integer, which scipy
  writes; all symmetries, either triangle.
- `.graph`: METIS. The matrix is symmetric; weights of the vertices are left out.
- `.txt`, `.el`, `.edges`, `.edgelist`, `.tsv`: an edge a line, from the first id to the second, both from 0, and
  perhaps its value; `#` and `%` begin comments. The matrix is square.
- `.npz`: a sparse matrix that `scipy.sparse.save_npz` wrote.

Unlike `graph_files.read_graph`, which reads the same files as locality graphs, this keeps values and direction. Values
may be anything that IEEE 754 has, indices are checked.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tracecut.support.argument_checks import size_in_bytes
from tracecut.support.arrays import check_offsets, check_range
from tracecut.support.errors import ArgumentError, ArtefactError

from .entries.adjacency_files import metis_head, read_adjacency
from .entries.file_layouts import counted_chunks, edges_head, market_head
from .entries.text_pieces import Told
from .entries.to_csr import to_csr
from .file_endings import ending_of
from .progress_line import ProgressLine

if TYPE_CHECKING:
    import scipy.sparse as sp

ENDINGS = (".mtx", ".graph", ".npz", ".txt", ".el", ".edges", ".edgelist", ".tsv")


def read_matrix(
    path: str | os.PathLike[str], *, memory: int | str | None = None, told: Told | None = None
) -> sp.csr_array[Any]:
    """The sparse matrix in a file: float64, int64 or complex128 values, rows and columns rising, duplicates summed.

    Indices are int32 where both dimensions and the number of entries are below 2**31, else int64. `pattern` entries,
    and edges without a value, are 1.0. Whole numbers that int64 does not hold are refused. Values that are saved in
    another type (`.npz`) become int64 (whole numbers, and truth values as 0 and 1), float64 or complex128; those that
    would not stay exactly what they are, are refused.

    Args:
        path: the file; the module says which are read.
        memory: most bytes that the matrix and what it is made from may take, such as `2 << 30`; `"2G"` is the same.
            Where only the matrix fits, the file is read twice. None: half of the free memory.
        told: called with the share of the file that has been read. None: a line on a terminal, after a second.

    Raises ArgumentError for a missing file, an ending that no reader knows and a matrix that does not fit in `memory`;
    ArtefactError naming the file, the line, what stands there and what was expected.

    O(bytes of the text) time. Memory: the matrix, its entries once more if that fits, and a few megabytes of text for
    each thread.
    """
    file = Path(path)
    budget = None if memory is None else size_in_bytes("memory", memory)
    ending = ending_of(file, ENDINGS, "the path", "a scipy.sparse matrix")
    if ending == ".npz":
        return _saved(file)
    with ProgressLine(f"reading {file.name}") as line:
        return _text(file, ending, budget, line if told is None else told)


def _text(file: Path, ending: str, budget: int | None, told: Told) -> sp.csr_array[Any]:
    if ending == ".graph":
        return _adjacency(file, told)
    head = market_head(file) if ending == ".mtx" else edges_head(file)
    shape = None if head.entries is None else (head.layout.rows, head.layout.columns)
    return to_csr(counted_chunks(head, told), shape, head.dtype, head.mirror, budget)


def _adjacency(file: Path, told: Told) -> sp.csr_array[Any]:
    import scipy.sparse as sp

    found = read_adjacency(metis_head(file), told)
    n, data = found.head.vertices, found.weights if found.weights.size else np.ones(found.near.size)
    whole: Any = sp.csr_array((data, found.near, found.offsets), shape=(n, n))
    matrix = whole.tocsc().T  # symmetric: its columns are its rows, now with rising indices
    matrix.has_canonical_format = True
    return matrix


def _saved(file: Path) -> sp.csr_array[Any]:
    import scipy.sparse as sp

    try:
        with open(file, "rb") as raw:
            found: Any = sp.load_npz(raw)
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ArtefactError(
            f"{file}: no sparse matrix: {error}", hint="scipy.sparse.save_npz writes what is expected here."
        ) from None
    if len(found.shape) != 2:
        raise ArtefactError(f"{file}: a sparse array of {len(found.shape)} dimensions, a matrix was expected")
    if found.dtype.kind not in "biufc":
        raise ArtefactError(f"{file}: a matrix of {found.dtype}, numbers were expected")
    try:
        if found.format in ("csr", "csc"):
            major, minor = found.shape if found.format == "csr" else found.shape[::-1]
            if found.indptr.size != major + 1 or found.data.size != found.indices.size:
                raise ArgumentError(f"{found.indptr.size} offsets and {found.data.size} values do not fit its shape")
            check_offsets("indptr", found.indptr, found.indices.size)
            check_range("indices", found.indices, 0, minor)
        elif found.format == "coo":
            check_range("row", found.row, 0, found.shape[0])
            check_range("col", found.col, 0, found.shape[1])
        elif found.format == "bsr":
            check_offsets("indptr", found.indptr, found.indices.size)
            check_range("indices", found.indices, 0, found.shape[1] // max(1, found.blocksize[1]))
    except ArgumentError as error:
        raise ArtefactError(f"{file}: {error.message}") from None
    wide = found.dtype.kind != "b"  # True twice at one place is True
    matrix: Any = sp.csr_array(_widened(file, found) if wide else found)
    matrix.sum_duplicates()
    return _widened(file, matrix)


def _widened(file: Path, found: Any) -> Any:
    """With values of float64, int64 or complex128, each exactly what it was."""
    kind = found.dtype.kind
    wide = np.dtype(np.int64 if kind in "biu" else np.float64 if kind == "f" else np.complex128)
    if found.dtype == wide:
        return found
    if not np.can_cast(found.dtype, wide):
        with np.errstate(over="ignore"):
            same = found.data.astype(wide) == found.data if kind != "u" else found.data <= np.iinfo(np.int64).max
        bad = found.data[~same & (found.data == found.data)]
        if bad.size:
            raise ArtefactError(
                f"{file}: the value {bad[0]!s}, of {found.dtype}: what {wide} holds exactly was expected",
                hint="Save the matrix after astype(numpy.float64), say, to have its values rounded.",
            )
    return found.astype(wide)
