"""The links of a graph, whatever it is given as: a square matrix, arrays of ends, a networkx graph, a file.

- A scipy.sparse matrix or array: entry (u, v) is a link from u to v, its value the weight; those at one place add up.
- A tuple `(u, v)` of two integer arrays, or `(u, v, w)`: links from u[i] to v[i], w[i] their weights.
- A networkx graph: edges of an undirected one are links both ways; the edge attribute `weight` is the weight, 1 where
  it is missing, and those of parallel edges add up.
- The path of a file: `tracecut.read_matrix`.
- A matrix on disk, `tracecut.stream_matrix`: its links stay there (`on_disk`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import rows_of
from tracecut.partition.inputs.matrix_files import read_matrix
from tracecut.partition.inputs.on_disk.disk_matrix import DiskMatrix
from tracecut.support.arrays import Floats, check_compressed, check_range, frozen
from tracecut.support.errors import ArgumentError

from .networkx_links import networkx_parts
from .on_disk.disk_links import DiskLinks, disk_links

Indices = npt.NDArray[Any]
MOST = 2**31  # nodes: their numbers are 32-bit
EXPECTED = "a scipy.sparse matrix, a tuple of arrays (u, v), a networkx graph or the path of a file"


@dataclass(frozen=True, eq=False)
class Links:
    """The links of n nodes, by the node that they come from.

    Attributes:
        offsets: int32 or int64 (n + 1), where the links of each node begin.
        targets: int32 or int64 (links), the nodes that they go to, in any order.
        weights: float64 (links), finite and at least 0; none where all are 1.
        nodes: the names of the nodes; None where they are 0 … n − 1.
    """

    offsets: Indices
    targets: Indices
    weights: Floats
    nodes: Sequence[Any] | None

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return self.offsets.size - 1

    def degrees(self) -> npt.NDArray[np.int64]:
        """How many links each node has."""
        return np.diff(self.offsets).astype(np.int64, copy=False)


def as_any_links(graph: Any, weight: str | None = "weight") -> Links | DiskLinks:
    """As `as_links`, with those of a matrix on disk left there."""
    if isinstance(graph, DiskMatrix):
        return disk_links(graph, _attribute(weight))
    return as_links(graph, weight)


def as_links(graph: Any, weight: str | None = "weight") -> Links:
    """The links of a graph as the module says.

    weight: the edge attribute of a networkx graph; None gives every link of any graph the weight 1.

    Raises ArgumentError, naming the entry, for matrices that are not square or damaged, and for weights that are
    negative or not finite; ArtefactError for a damaged file. O(links).
    """
    weight = _attribute(weight)
    if isinstance(graph, DiskMatrix):
        raise ArgumentError("graph is a DiskMatrix, which this takes in memory alone", hint="graph.to_csr() is there.")
    if isinstance(graph, Links):
        return graph
    if isinstance(graph, str | os.PathLike):
        return _from_matrix(read_matrix(graph), weight)
    if isinstance(graph, tuple) and len(graph) in (2, 3):
        return _from_ends(graph, weight)
    if hasattr(graph, "edges") and hasattr(graph, "nodes") and hasattr(graph, "is_directed"):
        offsets, targets, weights, nodes = networkx_parts(graph, weight)
        return _checked(Links(offsets, targets, weights, nodes))
    if hasattr(graph, "tocsr") and hasattr(graph, "shape"):
        return _from_matrix(graph, weight)
    dense = "scipy.sparse.csr_array(graph) makes one of a dense array." if isinstance(graph, np.ndarray) else ""
    raise ArgumentError(f"graph is a {type(graph).__name__}, {EXPECTED} was expected", hint=dense)


def _attribute(weight: str | None) -> str | None:
    if weight is not None and not isinstance(weight, str):
        raise ArgumentError(f"weight is {weight!r}, the name of an attribute or None was expected")
    return weight


def _from_ends(ends: tuple[Any, ...], weight: str | None) -> Links:
    import scipy.sparse as sp

    u, v = (frozen(name, part, np.int64) for name, part in zip("uv", ends[:2], strict=True))
    if u.size != v.size:
        raise ArgumentError(f"u has {u.size} entries, v has {v.size}; one of each per link was expected")
    for name, part in (("u", u), ("v", v)):
        check_range(name, part, 0, 2**31 - 1)
    n = int(max(u.max(initial=-1), v.max(initial=-1))) + 1
    values = np.ones(u.size) if len(ends) == 2 else frozen("w", ends[2], np.float64)
    if values.size != u.size:
        raise ArgumentError(f"w has {values.size} entries, u has {u.size}; one weight per link was expected")
    ids = (u.astype(np.int32), v.astype(np.int32))
    return _from_matrix(sp.coo_array((values, ids), shape=(n, n)), weight)


def _from_matrix(matrix: Any, weight: str | None) -> Links:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ArgumentError(f"the matrix of the graph has the shape {tuple(matrix.shape)}, a square one was expected")
    if matrix.dtype.kind not in "biuf":
        raise ArgumentError(f"the matrix of the graph holds {matrix.dtype}, real weights were expected")
    n = int(matrix.shape[0])
    if n >= MOST:
        raise ArgumentError(f"the graph has {n} nodes, fewer than 2**31 were expected")
    rows = matrix if matrix.format == "csr" else rows_of(matrix)
    check_compressed("graph.", rows, n, n)
    values = np.zeros(0) if weight is None else np.ascontiguousarray(rows.data, np.float64)
    if values.size and bool((values == 1.0).all()):
        values = np.zeros(0)
    if values.size and not values.all():  # a stored zero is no link
        rows = rows.copy()
        rows.eliminate_zeros()
        values = np.ascontiguousarray(rows.data, np.float64)
    return _checked(Links(rows.indptr, rows.indices, values, None))


def _checked(links: Links) -> Links:
    weights = links.weights
    if weights.size and not (weights.min() >= 0 and weights.max() < np.inf):
        k = int(np.flatnonzero(~((weights >= 0) & (weights < np.inf)))[0])
        u, v = int(np.searchsorted(links.offsets, k, side="right")) - 1, int(links.targets[k])
        ends = (u, v) if links.nodes is None else (links.nodes[u], links.nodes[v])
        raise ArgumentError(
            f"the link from {ends[0]!r} to {ends[1]!r} has the weight {weights[k]}, a finite number of at least 0 was "
            "expected",
            hint="weight=None gives every link the weight 1.",
        )
    return links
