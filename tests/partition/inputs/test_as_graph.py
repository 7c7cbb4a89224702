"""Everything that `partition` takes as a graph: what label i belongs to, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.partition import partition
from tracecut.partition.inputs.as_graph import as_graph
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick


def pairs(graph: LocalityGraph) -> list[list[int]]:
    assert (np.diff(graph.offsets) == 2).all()
    return graph.data.reshape(-1, 2).tolist()


def test_pairs_stay_in_their_order() -> None:
    graph = as_graph(([3, 0, 2, 2], np.array([1, 0, 1, 1], np.uint64)))
    assert pairs(graph) == [[3, 1], [0, 0], [2, 1], [2, 1]] and graph.n_data == 4
    assert as_graph(([], [])).n_jobs == 0
    assert as_graph((np.array([1.0]), np.array([0.0]))).n_data == 2


SYMMETRIC = np.array([[9, 0, 2, 0], [0, 0, 5, 1], [2, 5, 0, 0], [0, 1, 0, 7]], float)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_a_symmetric_matrix_is_its_strict_upper_triangle(form: str) -> None:
    for matrix in (sp.csr_matrix(SYMMETRIC).asformat(form), sp.csr_array(SYMMETRIC).asformat(form)):
        graph = as_graph(matrix)
        assert pairs(graph) == [[0, 2], [1, 2], [1, 3]] and graph.n_data == 4 and graph.n_spaces == 1


def test_any_other_matrix_is_its_incidence() -> None:
    unsymmetric = SYMMETRIC.copy()
    unsymmetric[0, 2] = 3
    graph = as_graph(sp.csr_array(unsymmetric))
    assert pairs(graph) == [[0, 4], [0, 6], [1, 6], [1, 7], [2, 4], [2, 5], [3, 5], [3, 7]]
    assert graph.space_offsets.tolist() == [0, 4, 8] and graph.names == ("rows", "columns")
    wide = sp.coo_array((np.ones(3), ([1, 0, 1], [2, 0, 2])), shape=(2, 3))
    assert pairs(as_graph(wide)) == [[1, 4], [0, 2], [1, 4]]
    assert as_graph(sp.csr_array((0, 0))).n_jobs == 0 and as_graph(sp.csr_array((0, 5))).n_data == 5


@settings(deadline=None, max_examples=60)
@given(npst.arrays(np.int8, st.tuples(st.integers(0, 6), st.integers(0, 6)), elements=st.integers(0, 1)))
def test_matrices_by_their_entries(dense: np.ndarray[Any, np.dtype[np.int8]]) -> None:
    graph = as_graph(sp.csr_array(dense))
    rows, columns = dense.nonzero()
    if dense.shape[0] == dense.shape[1] and (dense == dense.T).all():
        expected = [[r, c] for r, c in zip(rows.tolist(), columns.tolist(), strict=True) if r < c]
    else:
        expected = [[r, dense.shape[0] + c] for r, c in zip(rows.tolist(), columns.tolist(), strict=True)]
    assert pairs(graph) == expected


def test_networkx_graphs() -> None:
    graph = nx.Graph([("c", "a"), ("a", "b")])
    assert pairs(as_graph(graph)) == [[0, 1], [1, 2]] and as_graph(graph).job_weights.size == 0
    graph.add_edge("b", "b", weight=2.5)
    assert as_graph(graph).job_weights.tolist() == [1.0, 1.0, 2.5]
    several = nx.MultiDiGraph([(1, 0), (1, 0)])
    several.add_node(7)
    assert pairs(as_graph(several)) == [[0, 1], [0, 1]] and as_graph(several).n_data == 3
    graph.add_edge("a", "d", weight=-1)
    with pytest.raises(ArgumentError, match=r"edge \('a', 'd'\) has the weight -1, a finite number"):
        as_graph(graph)
    graph["a"]["d"]["weight"] = "heavy"
    with pytest.raises(ArgumentError, match="has the weight 'heavy'"):
        as_graph(graph)

    graph["a"]["d"]["weight"] = 10**400
    with pytest.raises(ArgumentError, match="has the weight 10000"):
        as_graph(graph)


def test_iterators_hold_rows_or_columns() -> None:
    edges = [(0, 5), (1, 6), (5, 6)]
    for graph in (iter(edges), (edge for edge in edges), zip([0, 1, 5], [5, 6, 6], strict=True), np.array(edges)):
        assert pairs(as_graph(graph)) == [[0, 5], [1, 6], [5, 6]]
    assert pairs(as_graph((iter([0, 1, 5]), iter([5, 6, 6])))) == [[0, 5], [1, 6], [5, 6]]
    heavy = [(0, 5, 2.0), (1, 6, 3.5), (5, 6, 1.0), (5, 0, 4.0)]
    for graph in (iter(heavy), np.array(heavy)):
        assert as_graph(graph).job_weights.tolist() == [2.0, 3.5, 1.0, 4.0]


def broken(indptr: list[int], indices: list[int]) -> sp.csr_array[np.float64]:
    matrix = sp.csr_array((3, 3), dtype=np.float64)
    matrix.indptr, matrix.indices, matrix.data = np.array(indptr), np.array(indices), np.ones(len(indices))
    return matrix


def outside() -> Any:
    matrix = sp.coo_array(([1.0], ([0], [1])), shape=(2, 2))
    matrix.coords = (np.array([0]), np.array([9]))
    return matrix


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (lambda: ([0, -1], [1, 1]), r"u\[1\] = -1 is outside \[0, 2147483647\)"),
        (lambda: ([0], [2**31]), r"v\[0\] = 2147483648 does not fit int32"),
        (lambda: ([0], [2**31 - 1]), r"v\[0\] = 2147483647 is outside"),
        (lambda: ([0.5], [1]), r"u\[0\] = 0.5 is not an integer"),
        (lambda: ([float("nan")], [1]), r"u\[0\] = nan is not an integer"),
        (lambda: ([True], [1]), "u holds booleans"),
        (lambda: (["a"], [1]), "u holds <U1, numbers were expected"),
        (lambda: ([0, 1], [1]), "u has 2 entries, v has 1"),
        (lambda: ([[0]], [[1]]), "u has 2 dimensions, 1 expected"),
        (lambda: ([[0], [1, 2]], [1]), "u is no array of integers"),
        (lambda: broken([0, 2, 1, 2], [0, 1]), r"graph.indptr\[2\] = 1 is below graph.indptr\[1\] = 2"),
        (lambda: broken([0, 1, 1, 3], [0, 1]), "graph.indptr ends at 3, but 2 entries were given"),
        (lambda: broken([0, 1, 2], [0, 1]), "graph.indptr has 3 entries, 4 expected"),
        (lambda: broken([0, 1, 2, 2], [0, 3]), r"graph.indices\[1\] = 3 is outside \[0, 3\)"),
        (lambda: broken([0, 1, 2, 2], [0, -3]), r"graph.indices\[1\] = -3 is outside"),
        (lambda: outside(), r"the column of stored entry\[0\] = 9 is outside \[0, 2\)"),
        (lambda: np.zeros((3, 3)), r"graph is a ndarray of the shape \(3, 3\), a scipy.sparse matrix"),
        (lambda: 7, "graph is a int"),
    ],
)
def test_bad_graphs_are_named(graph: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        partition(graph(), 2, "wb-libra")


@pytest.mark.parametrize("weights", [[1, -2.0], [1, float("nan")], [float("inf"), 1]])
def test_bad_weights_are_named(weights: list[float]) -> None:
    with pytest.raises(ArgumentError, match=r"weights\[[01]\] = .*, a finite number of at least 0"):
        partition(([0, 1], [1, 2]), 2, "wb-libra", weights=weights)


def test_weights_whose_sum_is_no_number_are_named() -> None:
    edges, huge = ([0, 1, 2], [1, 2, 3]), [1.7e308] * 3
    with pytest.raises(ArgumentError, match=r"^weights sum up to more than 1.8e[+]308, which a float64 cannot hold"):
        partition(edges, 2, "chunks", weights=huge)
    with pytest.raises(ArgumentError, match=r"^w sum up to more than"):
        partition((*edges, huge), 2, "chunks")


def test_legal_oddities() -> None:
    found = partition(([2, 2, 2], [2, 2, 0]), 5, "wb-libra")
    assert found.labels.size == 3 and found.report()["empty_parts"] == 5 - len(set(found.labels.tolist()))
    assert partition(([], []), 3, "wb-libra").cost() == 0.0


def test_a_clustering_answers_for_itself() -> None:
    """Two triangles that share a datum, cut there: one copy more than data."""
    edges = ([0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 2])
    found = partition(edges, 2, "chunks")
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.cost() == 1.0 and found.replication_factor() == pytest.approx(1.2) and found.imbalance() == 1.0
    report = found.report()
    assert report["vertex_copies"] == report["boundary"] == 1 and report["max_communication_volume"] == 1
    heavy = partition(edges, 2, "chunks", weights=[6, 2, 1, 1, 1, 1])
    assert heavy.labels.tolist() == [0, 1, 1, 1, 1, 1] and heavy.imbalance() == 1.0
    uneven = partition(edges, 2, "chunks", targets=[4, 2])
    assert uneven.sizes().tolist() == [4, 2] and uneven.imbalance() == 1.0
    by_data = partition(edges, 2, "metis", of="data", balance=1.4)
    assert by_data.cost() == by_data.report()["edge_cut"] and "vertex_copies" not in by_data.report()
    with pytest.raises(ArgumentError, match="the clustering has no graph"):
        Clustering(found.labels, 2).cost()


def test_a_dependence_graph_is_partitioned_by_its_edges() -> None:
    """Four instructions, four dependences: job i is edge i, with its weight."""
    ones = np.ones(4, np.int32)
    ends = np.array([0, 0, 1, 2], np.int32), np.array([1, 2, 3, 3], np.int32)
    graph = DependenceGraph(*ends, np.array([5, 1, 1, 5], np.int32), ones.astype(np.uint8), ones, ones)
    assert pairs(as_graph(graph)) == [[0, 1], [0, 2], [1, 3], [2, 3]]
    assert partition(graph, 2, "chunks").labels.tolist() == [0, 0, 1, 1]
