"""The registry, and the two calls on top of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import load_imbalance, target_imbalance, vertex_copies, weight_imbalance
from tracecut.partition import METHODS, methods, order, partition
from tracecut.partition.balance.rebalance import capacities
from tracecut.partition.methods import ARGUMENTS, AUTO, Method
from tracecut.support.errors import ArgumentError

HERE = [method for method in METHODS.values() if method.installed]
BLIND = [method.name for method in HERE if "coords" not in method.uses]
CHEAP = [name for name in BLIND if not METHODS[name].module and "METIS" not in METHODS[name].complexity]
COUNTING = {"dbh", "powergraph", "powergraph-simple", "libra"}  # balance numbers of jobs
UNBOUNDED = {"dbh", "powergraph", "powergraph-simple", "libra", "w-pg", "w-libra"}


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_record_fits_its_function(method: Method) -> None:
    parameters = inspect.signature(method.function).parameters
    taken = {name for name in parameters if name in ARGUMENTS}
    assert method.uses <= ARGUMENTS
    assert taken == method.uses
    fixed = [name for name, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert fixed == (["graph"] if method.kind == "order" else ["graph", "k"])
    assert METHODS[method.name] is method and method.source and method.complexity
    assert method.kind in ("order", "jobs", "data")
    assert method.function.__doc__


def test_methods_by_kind() -> None:
    assert {"metis", "kmeans", "parcubed-det"} <= {method.name for method in methods("data")}
    assert methods() == (*METHODS.values(), AUTO)
    assert len(METHODS) == sum(len(methods(kind)) for kind in ("order", "jobs", "data"))
    with pytest.raises(ArgumentError, match="kind = 'all'"):
        methods("all")


@pytest.mark.parametrize("name", CHEAP)
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
@settings(deadline=None, max_examples=40)
@given(data=st.data(), k=st.integers(1, 9))
def test_cheap_partitions_hold(
    name: str, graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int
) -> None:
    graph = data.draw(graphs)
    found = partition(graph, k, name, seed=1, unweighted=name in COUNTING)
    assert found.k == k and found.kind == "jobs" and found.method == name and found.labels.size == graph.n_jobs
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    bound = weights.sum() / k + weights.max(initial=0) if name not in UNBOUNDED else weights.sum()
    assert np.bincount(found.labels, weights, k).max() <= max(bound, 1.03 * weights.sum() / k) * (1 + 1e-9)
    again = partition(graph, k, name, seed=1, threads=2, unweighted=name in COUNTING)
    assert again.labels.tolist() == found.labels.tolist()


@pytest.mark.parametrize("name", ["metis", "spac", "auto"])
def test_metis_partitions_keep_the_balance(mesh: LocalityGraph, name: str) -> None:
    found = partition(mesh, 6, name, seed=2, balance=1.02)
    weights = np.ones(mesh.n_jobs)
    assert (found.sizes() <= capacities(weights, np.full(6, 1 / 6), 1.02)).all()
    assert load_imbalance(mesh, found) <= 1.02
    again = partition(mesh, 6, name, seed=2, balance=1.02)
    assert again.labels.tolist() == found.labels.tolist()
    assert vertex_copies(mesh, found) < vertex_copies(mesh, partition(mesh, 6, "random")) / 3


def test_data_partitions(mesh: LocalityGraph) -> None:
    found = partition(mesh, 4, "metis", of="data")
    assert found.kind == "data" and found.labels.size == mesh.n_data
    assert load_imbalance(mesh, found) <= 1.03
    assert partition(mesh, 4, of="data").labels.tolist() == found.labels.tolist()
    shares = np.array([4.0, 2.0, 1.0, 1.0]) / 8
    heavy = np.where(np.arange(mesh.n_data) % 3 == 0, 2.0, 1.0)
    uneven = partition(mesh, 4, "metis", of="data", targets=shares, weights=heavy)
    assert (
        target_imbalance(LocalityGraph(mesh.offsets, mesh.data, mesh.n_data, data_weights=heavy), uneven, shares) < 1.04
    )
    with pytest.raises(ArgumentError, match="partitions jobs, a partition of the data was asked for"):
        partition(mesh, 4, "rcm", of="data")


@pytest.mark.parametrize("name", ["rcm", "chunks", "metis", "spac"])
def test_targets_and_weights(mesh: LocalityGraph, name: str) -> None:
    shares = np.array([0.5, 0.3, 0.2])
    weights = np.where(np.arange(mesh.n_jobs) % 5 == 0, 3.0, 1.0)
    found = partition(mesh, 3, name, targets=shares, weights=weights)
    heavy = LocalityGraph(mesh.offsets, mesh.data, mesh.n_data, job_weights=weights)
    assert target_imbalance(heavy, found, shares) < 1.04
    assert found.options["targets"] == [0.5, 0.3, 0.2] and found.options["weights"] == "given"
    same = partition(heavy, 3, name, targets=shares)
    assert same.labels.tolist() == found.labels.tolist()
    assert weight_imbalance(heavy, partition(heavy, 3, name)) < 1.04


def test_chunks_of_another_order(mesh: LocalityGraph) -> None:
    by_name = partition(mesh, 5, "chunks", order="rcm")
    assert by_name.labels.tolist() == partition(mesh, 5, "rcm").labels.tolist()
    by_array = partition(mesh, 5, "chunks", order=order(mesh, "rcm").jobs)
    assert by_array.labels.tolist() == by_name.labels.tolist()


def test_a_clustering_is_saved_with_what_made_it(mesh: LocalityGraph, tmp_path: Path) -> None:
    found = partition(mesh, 4, "spac", seed=9, ring=True, time_limit=np.float32(600), balance=1.5)
    loaded = Clustering.load(found.save(tmp_path / "clustering.npz"))
    assert (loaded.method, loaded.seed) == ("spac", 9)
    assert loaded.options == {"balance": 1.5, "ring": True, "time_limit": 600.0}
    again = partition(mesh, 4, loaded.method, seed=loaded.seed, **loaded.options)
    assert again.labels.tolist() == found.labels.tolist()


def test_targets_as_loads(mesh: LocalityGraph) -> None:
    loads = np.array([0.5, 0.25, 0.25]) * mesh.n_jobs
    for name in ("chunks", "wb-libra", "rcm"):
        by_loads = partition(mesh, 3, name, targets=loads)
        assert by_loads.labels.tolist() == partition(mesh, 3, name, targets=[0.5, 0.25, 0.25]).labels.tolist()
        assert by_loads.sizes() == pytest.approx(loads, rel=0.04)


@pytest.mark.parametrize("name", BLIND)
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
def test_orders_with_blocks(mesh: LocalityGraph, name: str) -> None:
    found = order(mesh, name, k=3, seed=4, time_limit=600)
    sizes = np.diff(found.blocks)
    assert sizes.size == 3 and (name in UNBOUNDED or sizes.max() <= 1.05 * sizes.mean())
    assert sorted(found.jobs.tolist()) == list(range(mesh.n_jobs))
    assert found.method == name
    again = order(mesh, name, k=3, seed=4)
    assert again.jobs.tolist() == found.jobs.tolist() and again.data.tolist() == found.data.tolist()


@pytest.mark.parametrize("name", BLIND)
@pytest.mark.parametrize("n_data", [0, 3])
def test_an_empty_graph(name: str, n_data: int) -> None:
    graph = LocalityGraph([0], [], n_data)
    assert partition(graph, 2, name).labels.size == 0
    found = order(graph, name, seed=1)
    assert found.jobs.size == 0 and sorted(found.data.tolist()) == list(range(n_data))
    if name != "random":
        assert found.data.tolist() == list(range(n_data))


MESH = LocalityGraph.from_edges([0, 1, 2], [1, 2, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": "mesh"}, "graph is the path 'mesh', whose ending is none of"),
        ({"k": 0}, "k = 0, a whole number from 1"),
        ({"k": 2.0}, "k = 2.0, a whole number"),
        ({"k": True}, "k = True, a whole number"),
        ({"method": "best"}, "there is no partitioning method 'best'"),
        ({"method": ["rcm"]}, "there is no partitioning method"),
        ({"method": "expension"}, "there is no partitioning method 'expension'\nDid you mean 'expansion'?"),
        ({"of": "edges"}, "of = 'edges', 'jobs' or 'data' expected"),
        ({"balance": 0.9}, "balance = 0.9, a finite number of at least 1"),
        ({"balance": float("nan")}, "balance = nan"),
        ({"seed": -1}, "seed = -1, a whole number from 0"),
        ({"seed": 2**31 - 1}, "seed = 2147483647"),
        ({"threads": 0}, "threads = 0, a whole number from 1"),
        ({"passes": 0}, "passes = 0"),
        ({"targets": [1.0]}, "targets has 1 entries, 2 expected"),
        ({"targets": [1.0, 1.0]}, "targets sum to 2; 1 was expected, or the whole load of 3"),
        ({"targets": [2.0, 1.0], "weights": [1, 2, 3]}, "targets sum to 3; 1 was expected, or the whole load of 6"),
        ({"targets": [1.0, 0.0]}, r"targets\[1\] = 0.0 is not positive"),
        ({"weights": [1, 2]}, "weights has 2 entries, 3 expected"),
        ({"weights": [1, 2, -1]}, r"weights\[2\] = -1.0, a finite number of at least 0"),
        ({"coords": [1, 2, 3]}, "coords has 1 dimensions, 2 expected"),
        ({"coords": [[1], [2]]}, r"coords has shape \(2, 1\), \(3, dimensions\) expected"),
        ({"coords": [[1], [2], [float("inf")]]}, r"coords\[2\] = \[inf\] is not finite"),
        ({"coords": [[1], [2], [3]]}, "method 'chunks' does not use coords\nMethods that do: hilbert, "),
        ({"passes": 2}, "method 'chunks' does not use passes"),
        ({"refine": "fm"}, "refine = 'fm' for a partition of jobs; 'km1'"),
        ({"hierarchy": [2, 1]}, "does not use hierarchy"),
        ({"method": "rcm", "order": [0, 1, 2]}, "'rcm' does not use order\nMethods that do: chunks"),
        ({"method": "auto", "passes": 2}, "method 'auto' does not use passes"),
        ({"order": [0, 1]}, "order has 2 entries, 3 jobs were expected"),
        ({"order": [0, 1, 1]}, "order is not a permutation: 2 is missing"),
        ({"order": "metis"}, "there is no order 'metis'\nKnown: natural, shuffled, bfs, degree, original"),
        ({"ring": True}, "method 'chunks' has no option 'ring'\nIts options: none."),
        ({"method": "auto", "rings": True}, "method 'auto' has no option 'rings'"),
        ({"method": "spac", "ring": 1}, "ring = 1 is not valid for method 'spac'"),
        ({"method": "spac", "time_limit": -1.0}, "time_limit = -1.0 is not valid"),
        ({"method": "rcm", "sweeps": 1.5}, "sweeps = 1.5 is not valid for method 'rcm'; the default is 1"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    given_all = {"graph": MESH, "k": 2, "method": "chunks", **arguments}
    with pytest.raises(ArgumentError, match=message):
        partition(**given_all)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": None}, "graph is a NoneType"),
        ({"method": "auto"}, "there is no partitioning method 'auto'"),
        ({"k": 0}, "k = 0"),
        ({"seed": "x"}, "seed = 'x'"),
        ({"time_limit": -1}, "time_limit = -1"),
        ({"ring": True}, "method 'rcm' has no option 'ring'"),
    ],
)
def test_wrong_arguments_of_order_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        order(**{"graph": MESH, "method": "rcm", **arguments})  # type: ignore[arg-type]


def test_importing_the_stage_is_light() -> None:
    code = (
        "import sys, tracecut.partition\n"
        "heavy = {'numba', 'llvmlite', 'pymetis', 'networkx', 'tracecut.partition.linear_orders.cuthill_mckee'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
