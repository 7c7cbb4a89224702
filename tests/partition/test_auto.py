"""`method="auto"`: it takes the best of what fits in its budget, and says what it did."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir import ArgumentError, BackendError, LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import auto, partition

PLACES = np.stack(np.divmod(np.arange(576), 24), 1).astype(float)


def star(leaves: int) -> LocalityGraph:
    return LocalityGraph.from_edges(np.zeros(leaves, np.int32), np.arange(1, leaves + 1))


def grid() -> LocalityGraph:
    names = np.arange(576).reshape(24, 24)
    u = np.concatenate([names[:, :-1].ravel(), names[:-1].ravel()])
    v = np.concatenate([names[:, 1:].ravel(), names[1:].ravel()])
    return LocalityGraph.from_edges(u, v, 576)


def test_a_large_budget_gives_the_best_of_the_candidates(mesh: LocalityGraph) -> None:
    found = partition(mesh, 6, "auto", budget=None)
    for name in ("chunks", "expansion", "multilevel", "metis"):
        assert found.cost() <= 1.05 * partition(mesh, 6, name).cost()
    assert partition(mesh, 6).labels.tolist() == found.labels.tolist()
    assert partition(mesh, 6, seed=0, threads=2).labels.tolist() == found.labels.tolist()


def test_no_budget_gives_chunks(mesh: LocalityGraph) -> None:
    found = partition(mesh, 6, "auto", budget=0.0)
    assert found.method == "chunks"
    assert found.labels.tolist() == partition(mesh, 6, "chunks").labels.tolist()
    assert any(line.startswith("expansion: not run, about ") for line in found.why)


LADDER = ["chunks", "wb-libra", "wb-libra, 2 passes", "expansion", "metis", "spac, km1", "multilevel", "metis, km1"]


def test_each_step_of_the_ladder_is_reached(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """With seconds that rise along it, each budget runs the dearest method that fits."""
    monkeypatch.setattr(auto, "SECONDS", {name: (2.0**step, 0.0, 0.0, 0.0) for step, name in enumerate(LADDER)})
    costs = []
    for step, name in enumerate(LADDER):
        spent = 1 + (8 if name in LADDER[4:] else 0) + (2 if name == LADDER[2] else 0) + (64 if step == 7 else 0)
        budget = spent * (step > 0) + 2.0**step
        found = partition(mesh, 6, budget=budget)
        ran = [line.split(":")[0] for line in found.why if ": cost " in line]
        assert ran[-1] == name, (budget, found.why)
        again = partition(mesh, 6, found.method, seed=found.seed, **found.options)
        assert again.labels.tolist() == found.labels.tolist(), "its record makes it again"
        costs.append(found.cost())
    assert costs[:4] == sorted(costs[:4], reverse=True) and costs[-1] == min(costs) < costs[0]


def test_the_choice_is_explained(mesh: LocalityGraph) -> None:
    report = partition(mesh, 6, "auto").report()
    assert report["why"][0] == "1104 jobs on 576 data, without hubs, without coordinates"
    assert report["why"][-1] == f"{report['method']} had the lowest cost"
    assert f"cost {report['cost']:.0f}" in " ".join(report["why"])
    assert "why" not in partition(mesh, 6, "rcm").report()
    assert partition(star(99), 4).why[0] == "99 jobs on 100 data, with hubs, without coordinates"


def test_coordinates_bring_in_the_geometric_methods() -> None:
    graph = grid()
    found = partition(graph, 6, "auto", coords=PLACES)
    assert any(line.startswith("geographer-r, km1: cost ") for line in found.why)
    assert found.cost() <= partition(graph, 6, "auto").cost() * 1.05
    data = partition(graph, 6, "auto", of="data", coords=PLACES)
    assert any(line.startswith("geographer-r: cost ") for line in data.why) and data.kind == "data"


def test_plain_answers_are_chunks(mesh: LocalityGraph) -> None:
    assert partition(mesh, 1).method == "chunks"
    for graph in (LocalityGraph([0], [], 0), LocalityGraph([0], [], 3), LocalityGraph([0, 0, 0], [], 1)):
        found = partition(graph, 3)
        assert found.labels.size == graph.n_jobs and found.method == "chunks"
        assert partition(graph, 3, of="data").labels.size == graph.n_data


def test_a_star_is_cut_no_more_than_it_must_be() -> None:
    graph = star(99)
    assert vertex_copies(graph, partition(graph, 4)) == 3


def test_a_failing_backend_is_said_and_passed_over(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BackendError("METIS was killed by SIGSEGV")

    monkeypatch.setattr("tracecut.partition.metis.run_metis", fail)
    found = partition(mesh, 6, "auto", of="data")
    assert found.method == "parcubed-det" and "metis: METIS was killed by SIGSEGV" in found.why
    with pytest.raises(BackendError, match="SIGSEGV"):
        partition(mesh, 6, "metis")


def test_a_hanging_backend_is_left(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def hang(*_: object, time_limit: float, **__: object) -> None:
        seen.append(time_limit)
        raise BackendError(f"METIS ran past its time limit of {time_limit:g} s")

    monkeypatch.setattr("tracecut.partition.metis.run_metis", hang)
    found = partition(mesh, 6)
    assert found.method == "multilevel" and any("metis, km1: METIS ran past its time limit" in why for why in found.why)
    assert 60 < seen[0] < 65


def test_targets_weights_and_balance_are_kept(mesh: LocalityGraph) -> None:
    shares = np.array([0.5, 0.3, 0.2])
    weights = np.where(np.arange(mesh.n_jobs) % 5 == 0, 3.0, 1.0)
    for budget in (0.0, 1e-4, 1e-3, 20.0):
        found = partition(mesh, 3, budget=budget, targets=shares, weights=weights, balance=1.02)
        assert found.imbalance() <= 1.02
        assert found.options["targets"] == [0.5, 0.3, 0.2] and found.options["weights"] == "given"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -1.0}, "budget = -1.0 does not suit method 'auto'"),
        ({"budget": float("nan")}, "budget = nan does not suit"),
        ({"budget": "long"}, "budget = 'long' does not suit"),
        ({"rings": True}, "method 'auto' has no option 'rings'\nIts options: budget."),
        ({"passes": 2}, "method 'auto' makes no use of passes"),
        ({"order": "bfs"}, "method 'auto' makes no use of order"),
        ({"hierarchy": [2, 3]}, "method 'auto' makes no use of hierarchy"),
        ({"method": "rcm", "budget": 1.0}, "method 'rcm' has no option 'budget'"),
    ],
)
def test_wrong_arguments(mesh: LocalityGraph, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        partition(mesh, 6, **{"method": "auto", **arguments})  # type: ignore[arg-type]
