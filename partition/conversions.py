"""Pairs, matrices and networkx graphs as locality graphs; what label i belongs to is said in `inputs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..ir.arrays import Ints, Longs, check_offsets, check_range, frozen
from ..ir.errors import ArgumentError
from ..ir.graph import LocalityGraph

if TYPE_CHECKING:
    import scipy.sparse as sp


def from_pairs(u: npt.ArrayLike, v: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> LocalityGraph:
    """One job a pair. Raises ArgumentError for ids that are negative, no integers or above 2**31 - 2. O(jobs)."""
    first, second = _ids("u", u), _ids("v", v)
    if first.size != second.size:
        raise ArgumentError(f"u has {first.size} entries, v has {second.size}; one of each per job was expected")
    n_data = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    return _incidence(first, second, n_data, None, weights)


def from_networkx(graph: Any) -> LocalityGraph:
    """See `inputs`. Raises ArgumentError for a weight that is not positive and finite. O(edges)."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    rows = [(place[u], place[v], weight) for u, v, weight in graph.edges(data="weight")]
    u, v = (np.array([row[side] for row in rows], np.int32) for side in (0, 1))
    weights = None
    if any(row[2] is not None for row in rows):
        weights = [1.0 if row[2] is None else row[2] for row in rows]
        for edge, weight in zip(graph.edges, weights, strict=True):
            try:
                good = 0 < float(weight) < float("inf")
            except (TypeError, ValueError):
                good = False
            if not good:
                raise ArgumentError(f"the edge {edge} has the weight {weight!r}, a positive number was expected")
        weights = [float(weight) for weight in weights]
    return _incidence(u, v, len(place), None, weights)


def from_matrix(matrix: Any) -> LocalityGraph:
    """See `inputs`. Raises ArgumentError for broken offsets or indices. O(stored entries), sorting."""
    rows, columns, values, shape = _entries(matrix)
    if shape[0] == shape[1] and _is_symmetric(rows, columns, values, shape[0]):
        key = np.unique((rows.astype(np.int64) * shape[0] + columns)[rows < columns])
        u, v = key // max(1, shape[0]), key % max(1, shape[0])
        return _incidence(u.astype(np.int32), v.astype(np.int32), shape[0], None, None)
    if sum(shape) >= 2**31:
        raise ArgumentError(f"graph has the shape {shape}: rows and columns together must be below 2**31")
    spaces = np.array([0, shape[0], sum(shape)], np.int64)
    return _incidence(rows, columns + np.int32(shape[0]), sum(shape), spaces, None)


def upper_triangle(rows: Ints, columns: Ints, size: int, weights: npt.NDArray[np.float64] | None) -> LocalityGraph:
    """The graph of a square symmetric matrix given by its strict upper entries in any order, each once; row-major."""
    order = np.argsort(rows.astype(np.int64) * size + columns, kind="stable")
    return _incidence(rows[order], columns[order], size, None, None if weights is None else weights[order])


def _incidence(u: Ints, v: Ints, n_data: int, spaces: Longs | None, weights: npt.ArrayLike | None) -> LocalityGraph:
    pins = np.empty(2 * u.size, np.int32)
    pins[0::2], pins[1::2] = u, v
    optional: dict[str, Any] = {} if weights is None else {"job_weights": weights}
    if spaces is not None:
        optional |= {"space_offsets": spaces, "names": ("rows", "columns")}
    return LocalityGraph(np.arange(u.size + 1, dtype=np.int64) * 2, pins, n_data, **optional)


def _ids(name: str, values: npt.ArrayLike) -> Ints:
    try:
        source = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name} is no array of integers: {error}") from None
    if source.dtype == bool:
        raise ArgumentError(f"{name} holds booleans, integer ids were expected")
    ids = frozen(name, source, np.int32)
    check_range(name, ids, 0, 2**31 - 1)
    return ids


def _entries(matrix: Any) -> tuple[Ints, Ints, npt.NDArray[Any], tuple[int, int]]:
    """Rows, columns and values in stored order, checked here: SciPy accepts indices outside the matrix."""
    if len(matrix.shape) != 2:
        raise ArgumentError(f"graph has {len(matrix.shape)} dimensions, a matrix was expected")
    shape = int(matrix.shape[0]), int(matrix.shape[1])
    if max(shape) >= 2**31:
        raise ArgumentError(f"graph has the shape {shape}: both must be below 2**31")
    if matrix.format == "csc":
        _check_compressed(matrix, shape[1], shape[0])
    if matrix.format == "coo":
        rows, columns, values = matrix.row, matrix.col, matrix.data
        if not rows.size == columns.size == values.size:
            raise ArgumentError(f"graph has {rows.size} rows, {columns.size} columns and {values.size} values")
    else:
        compressed: sp.csr_array = matrix if matrix.format == "csr" else matrix.tocsr()
        _check_compressed(compressed, shape[0], shape[1])
        rows = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(compressed.indptr))
        columns, values = compressed.indices, compressed.data
    for name, ids, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        check_range(f"the {name} of stored entry", ids, 0, size)
    return rows.astype(np.int32), columns.astype(np.int32), values, shape


def _check_compressed(matrix: Any, major: int, minor: int) -> None:
    if matrix.indptr.size != major + 1:
        raise ArgumentError(f"graph.indptr has {matrix.indptr.size} entries, {major + 1} expected")
    check_offsets("graph.indptr", matrix.indptr, matrix.indices.size)
    check_range("graph.indices", matrix.indices, 0, minor)
    if matrix.data.size != matrix.indices.size:
        raise ArgumentError(f"graph.data has {matrix.data.size} entries, graph.indices has {matrix.indices.size}")


def _is_symmetric(rows: Ints, columns: Ints, values: npt.NDArray[Any], size: int) -> bool:
    """Whether the matrix equals its transpose, stored zeros being entries like others. Duplicates are summed."""
    import scipy.sparse as sp

    own = sp.coo_array((values, (rows, columns)), shape=(size, size)).tocsr()
    own.sort_indices()
    other = own.T.tocsr()
    other.sort_indices()
    return bool(
        np.array_equal(own.indptr, other.indptr)
        and np.array_equal(own.indices, other.indices)
        and np.array_equal(own.data, other.data)
    )
