"""Pairs, matrices and networkx graphs as locality graphs; what label i belongs to is said in `inputs`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.arrays import Floats, Ints, Longs, check_compressed, check_range, check_weights, frozen
from tracecut.support.errors import ArgumentError

if TYPE_CHECKING:
    import scipy.sparse as sp

UNWEIGHTED = "unweighted=True (--unweighted) uses only the pattern."


def from_pairs(u: npt.ArrayLike, v: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> LocalityGraph:
    """One job a pair. Raises ArgumentError for ids that are negative, no integers or above 2**31 - 2. O(jobs)."""
    first, second = _ids("u", u), _ids("v", v)
    if first.size != second.size:
        raise ArgumentError(f"u has {first.size} entries, v has {second.size}; one of each per job was expected")
    n_data = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    own = None if weights is None else frozen("w", weights, np.float64)
    if own is not None:
        if own.size != first.size:
            raise ArgumentError(f"w has {own.size} entries, u has {first.size}; one weight per job was expected")
        check_weights("w", own)
    return _incidence(first, second, n_data, None, own)


def from_rows(rows: npt.ArrayLike) -> LocalityGraph:
    """One job a row: its two data, and perhaps its weight. Raises ArgumentError for rows of another size. O(jobs)."""
    try:
        table = np.asarray(rows)
    except ValueError:
        table = np.empty((0, 0))  # rows of different sizes
    if table.size == 0 and table.ndim < 2:
        table = table.reshape(0, 2)
    if table.ndim != 2 or table.shape[1] not in (2, 3) or table.shape == (3, 3):  # that could be a matrix
        raise ArgumentError(
            f"graph is a {type(rows).__name__} of the shape {table.shape}, rows of two data each were expected, "
            "and perhaps of a weight",
            hint="For example [(0, 1), (1, 2)]; two arrays of ends are given as a tuple, (u, v).",
        )
    return from_pairs(table[:, 0], table[:, 1], table[:, 2] if table.shape[1] == 3 else None)


def from_networkx(graph: Any, *, unweighted: bool = False) -> LocalityGraph:
    """See `inputs`. Raises ArgumentError for a weight that is negative or no finite number. O(edges)."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    rows = [(place[u], place[v], weight) for u, v, weight in graph.edges(data="weight")]
    u, v = (np.array([row[side] for row in rows], np.int32) for side in (0, 1))
    if unweighted:
        return _incidence(u, v, len(place), None, None)
    weights = _attributes("edge", graph.edges, [row[2] for row in rows])
    nodes = _attributes("node", graph.nodes, [weight for _, weight in graph.nodes(data="weight")])
    return _incidence(u, v, len(place), None, weights, nodes)


def _attributes(what: str, members: Any, values: list[Any]) -> Floats | None:
    """The "weight" of all edges or nodes, 1 for those without; None where none has any."""
    if all(value is None for value in values):
        return None
    found = np.ones(len(values))
    for i, (member, value) in enumerate(zip(members, values, strict=True)):
        try:
            found[i] = 1.0 if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            found[i] = np.nan
        if not 0 <= found[i] < np.inf:
            raise ArgumentError(
                f"the {what} {member!r} has the weight {value!r}, a finite number of at least 0 was expected",
                hint="unweighted=True ignores the weights.",
            )
    return found


def from_matrix(matrix: Any, *, unweighted: bool = False) -> LocalityGraph:
    """See `inputs`. Raises ArgumentError for broken offsets or indices, and for values that are no weights.

    O(stored entries), sorting.
    """
    rows, columns, values, shape = _entries(matrix)
    symmetric = shape[0] == shape[1] and _is_symmetric(rows, columns, values, shape[0])
    weights = None if unweighted or values.dtype == bool else _values_as_weights(rows, columns, values)
    if symmetric:
        own = rows < columns
        key, entry = np.unique((rows.astype(np.int64) * shape[0] + columns)[own], return_inverse=True)
        u, v = key // max(1, shape[0]), key % max(1, shape[0])
        sums = None if weights is None else np.bincount(entry, weights[own], key.size).astype(np.float64)
        return _incidence(u.astype(np.int32), v.astype(np.int32), shape[0], None, sums)
    if sum(shape) >= 2**31:
        raise ArgumentError(f"graph has the shape {shape}: rows and columns together must be below 2**31")
    spaces = np.array([0, shape[0], sum(shape)], np.int64)
    return _incidence(rows, columns + np.int32(shape[0]), sum(shape), spaces, weights)


def _values_as_weights(rows: Ints, columns: Ints, values: npt.NDArray[Any]) -> Floats:
    if values.dtype.kind not in "iuf":
        raise ArgumentError(f"the matrix holds {values.dtype} values, which are no weights of edges", hint=UNWEIGHTED)
    weights = frozen("values", values, np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)) & (rows != columns))
    if bad.size:
        place = int(bad[0])
        raise ArgumentError(
            f"entry ({rows[place]}, {columns[place]}) of the matrix is {values[place]}, which is no weight of an edge: "
            "a finite number of at least 0 was expected",
            hint=UNWEIGHTED,
        )
    return weights


def upper_triangle(rows: Ints, columns: Ints, size: int, weights: Floats | None, own: Floats) -> LocalityGraph:
    """The graph of a square symmetric matrix given by its strict upper entries in any order, each once; row-major.

    `own` is float64 (size, any): the weights of each datum.
    """
    order = np.argsort(rows.astype(np.int64) * size + columns, kind="stable")
    first = own[:, 0] if own.shape[1] else None
    found = _incidence(rows[order], columns[order], size, None, None if weights is None else weights[order], first)
    if own.shape[1] < 2:
        return found
    return replace(found, data_weights=own[:, 0], more_data_weights=own[:, 1:])


def _incidence(
    u: Ints, v: Ints, n_data: int, spaces: Longs | None, weights: Floats | None, data_weights: Floats | None = None
) -> LocalityGraph:
    """Weights that are all 1 are none."""
    pins = np.empty(2 * u.size, np.int32)
    pins[0::2], pins[1::2] = u, v
    optional: dict[str, Any] = {}
    for name, given in (("job_weights", weights), ("data_weights", data_weights)):
        if given is not None and (given != 1.0).any():
            optional[name] = given
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
        check_compressed("graph.", matrix, shape[1], shape[0])
    if matrix.format == "coo":
        rows, columns, values = matrix.row, matrix.col, matrix.data
        if not rows.size == columns.size == values.size:
            raise ArgumentError(f"graph has {rows.size} rows, {columns.size} columns and {values.size} values")
    else:
        compressed: sp.csr_array = matrix if matrix.format == "csr" else matrix.tocsr()
        check_compressed("graph.", compressed, shape[0], shape[1])
        rows = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(compressed.indptr))
        columns, values = compressed.indices, compressed.data
    for name, ids, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        check_range(f"the {name} of stored entry", ids, 0, size)
    return rows.astype(np.int32), columns.astype(np.int32), values, shape


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
        and np.array_equal(own.data, other.data, equal_nan=own.dtype.kind in "fc")
    )
