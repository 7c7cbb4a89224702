"""What `partition` takes as a graph, and how it becomes a locality graph. Label i belongs to job i.

- A `LocalityGraph`: as it is.
- `(u, v)`, two integer arrays: job i touches the data u[i] and v[i]. Self-loops and duplicates are legal.
- A SciPy sparse matrix or array. Symmetric, in pattern and values: one job for each entry of the strict upper triangle,
  row by row, columns rising, touching the data row and column; the diagonal is dropped. Any other: the incidence of the
  sparse matrix-vector product, one job for each stored entry, touching the datum of its row and that of its column, two
  index spaces; entries in the order in which a COO matrix stores them, or a CSR matrix, which others are turned into.
- A networkx graph: data are the nodes in their order, job i is the i-th of `graph.edges`; the edge attribute "weight",
  where any edge has it, is the weight of the jobs (1 for edges without).
- A `DependenceGraph`: data are the instructions, job i is edge i, with its weight (1 for edges that weigh nothing).
- The path of a file: `graph_files.read_graph`.
"""

from __future__ import annotations

import os
from typing import Any

from ..ir.errors import ArgumentError
from ..ir.graph import LocalityGraph
from .conversions import from_matrix, from_networkx, from_pairs

EXPECTED = "a LocalityGraph, a scipy.sparse matrix, (u, v) arrays, a networkx or dependence graph or the path of a file"


def as_graph(graph: Any) -> LocalityGraph:
    """The locality graph of any input that the module docstring names.

    Raises ArgumentError naming what was given and the first offending entry; ArtefactError for a damaged file. O(pins).
    """
    if isinstance(graph, LocalityGraph):
        return graph
    if hasattr(graph, "as_locality"):  # a DependenceGraph, whose module takes longer to import than this one
        locality: LocalityGraph = graph.as_locality()
        return locality
    if isinstance(graph, str | os.PathLike):
        from .graph_files import read_graph

        return read_graph(graph)
    if isinstance(graph, tuple | list) and len(graph) == 2:
        return from_pairs(*graph)
    if hasattr(graph, "edges") and hasattr(graph, "nodes") and hasattr(graph, "is_directed"):
        return from_networkx(graph)
    if hasattr(graph, "tocoo") and hasattr(graph, "shape"):
        return from_matrix(graph)
    raise ArgumentError(
        f"graph is a {type(graph).__name__}, {EXPECTED} was expected",
        hint="LocalityGraph.from_edges(u, v) makes one from an edge list.",
    )
