"""The inputs of `partition`, and their conversion to a locality graph. Label i belongs to job i.

- A `LocalityGraph`: unchanged.
- A tuple `(u, v)` of two integer arrays or lists, or `(u, v, w)`: job i touches the data u[i] and v[i], and weighs
  w[i]. Self-loops and duplicates are legal.
- A list or an iterator of pairs, or an array of two columns: job i touches the two data of row i. Of triples, or three
  columns, the third is its weight. What is a tuple holds columns, what is not holds rows: `([0, 1], [5, 6])` and
  `[(0, 5), (1, 6)]` are the same two edges. A tuple of pairs could be meant either way and is refused, as are three
  rows of three.
- A SciPy sparse matrix or array. Symmetric, in pattern and values: one job for each entry of the strict upper triangle,
  row by row, columns rising, touching the data row and column; the diagonal is dropped. Any other: the incidence of the
  sparse matrix-vector product, one job for each stored entry, touching the datum of its row and that of its column, two
  index spaces; entries in the order in which a COO matrix stores them, or a CSR matrix, which others are turned into.
  Values are the weights of the jobs, as for every other program that reads a matrix as a graph; those of duplicates add
  up. Values that cannot be weights (negative, complex, no numbers) are refused. `unweighted` uses only the pattern;
  use it if the values are the coefficients of an operator.
- A networkx graph: data are the nodes in their order, job i is the i-th of `graph.edges`; the attribute "weight" of
  edges is the weight of the jobs, that of nodes the weight of the data (1 for those without, where any has it).
- A `DependenceGraph`: data are the instructions, job i is edge i, with its weight (1 for edges that weigh nothing).
- The path of a file: `graph_files.read_graph`.

`unweighted` leaves out the weights of any of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.errors import ArgumentError

from .conversions import from_matrix, from_networkx, from_pairs, from_rows

EXPECTED = "a scipy.sparse matrix, a tuple of arrays (u, v), a list of pairs, a networkx graph or the path of a file"
HINT = "tracecut.partition(([0, 1], [1, 2]), 2) takes the edges 0-1 and 1-2; so does [(0, 1), (1, 2)]."


def as_graph(graph: Any, *, unweighted: bool = False) -> LocalityGraph:
    """The locality graph of any input that the module docstring names.

    Raises ArgumentError naming what was given and the first offending entry; ArtefactError for a damaged file. O(pins).
    """
    if not isinstance(unweighted, bool):
        raise ArgumentError(f"unweighted = {unweighted!r}, True or False was expected")
    found = _converted(graph, unweighted)
    if unweighted and (found.job_weights.size or found.data_weights.size):
        none = np.zeros(0)
        found = replace(found, job_weights=none, data_weights=none, more_data_weights=np.zeros((0, 0)))
    return found


def _converted(graph: Any, unweighted: bool) -> LocalityGraph:
    if isinstance(graph, LocalityGraph):
        return graph
    if hasattr(graph, "as_locality"):  # a DependenceGraph, whose module takes longer to import than this one
        locality: LocalityGraph = graph.as_locality()
        return locality
    if isinstance(graph, str | os.PathLike):
        from .graph_files import read_graph

        return read_graph(graph, unweighted=unweighted)
    if isinstance(graph, tuple) and len(graph) in (2, 3):
        if all(isinstance(part, tuple) and len(part) == 2 for part in graph):
            raise ArgumentError(
                "graph is a tuple of pairs, which could be edges or columns",
                hint="A list of pairs holds edges; a tuple of arrays or lists holds columns, (u, v).",
            )
        return from_pairs(*(list(part) if isinstance(part, Iterator) else part for part in graph))
    if isinstance(graph, Iterator):  # a generator, zip(u, v)
        return from_rows(list(graph))
    table = isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape != (3, 3)
    if isinstance(graph, list | tuple) or (table and graph.shape[1] in (2, 3)):
        return from_rows(graph)
    if hasattr(graph, "edges") and hasattr(graph, "nodes") and hasattr(graph, "is_directed"):
        return from_networkx(graph, unweighted=unweighted)
    if hasattr(graph, "tocoo") and hasattr(graph, "shape"):
        return from_matrix(graph, unweighted=unweighted)
    shape = f" of the shape {graph.shape}" if isinstance(graph, np.ndarray) else ""
    raise ArgumentError(f"graph is a {type(graph).__name__}{shape}, {EXPECTED} was expected", hint=HINT)
