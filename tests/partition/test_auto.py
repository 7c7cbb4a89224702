"""`method="auto"`: it takes the best of what fits in its budget, and says what it did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import auto, partition
from tracecut.support.errors import ArgumentError, BackendError

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


LADDER = [
    *("chunks", "wb-libra", "wb-libra, 2 passes", "expansion", "metis"),
    *("expansion, km1", "spac, km1", "multilevel", "metis, km1"),
]


def test_each_step_of_the_ladder_is_reached(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """With seconds that rise along it, each budget runs the dearest method that fits."""
    monkeypatch.setattr(auto, "SECONDS", {name: (2.0**step, 0.0, 0.0, 0.0, 0.0) for step, name in enumerate(LADDER)})
    costs = []
    for step, name in enumerate(LADDER):
        before = LADDER[3:4] if step > 3 else LADDER[1:2] if step == 2 else []
        before = [*before, *(LADDER[7:8] if step == 8 else [])]
        budget = sum(2.0 ** LADDER.index(other) for other in [*before, name])
        found = partition(mesh, 6, budget=budget)
        ran = [line.split(":")[0] for line in found.why if ": cost " in line]
        assert ran[1:] == ([*before, name] if step else []), (budget, found.why)
        again = partition(mesh, 6, found.method, seed=found.seed, **found.options)
        assert again.labels.tolist() == found.labels.tolist(), "its record makes it again"
        costs.append(found.cost())
    assert costs[:4] == sorted(costs[:4], reverse=True) and costs[-1] == min(costs) < costs[0]


def test_what_is_left_goes_to_a_rival(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind SPAC's short cycles expansion's refinement is tried, and what it leaves is not exceeded."""
    rates = dict.fromkeys(LADDER, (1.0, 0.0, 0.0, 0.0, 0.0)) | {"multilevel": (9.0, 0.0, 0.0, 0.0, 0.0)}
    monkeypatch.setattr(auto, "SECONDS", rates)
    for budget, rival in ((3.0, True), (2.0, False)):
        why = partition(mesh, 6, budget=budget).why
        assert any(line.startswith("spac, km1: cost ") for line in why)
        assert sum(line.startswith("expansion, km1: cost ") for line in why) == rival
        assert any(line.startswith("expansion, km1: not run, about 1 s, 0 s are left") for line in why) != rival


def test_what_costs_little_is_tried_in_any_case(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = dict.fromkeys(LADDER, (1.0, 0.0, 0.0, 0.0, 0.0))
    for seconds, tried in ((0.1, True), (1.0, False)):
        monkeypatch.setattr(auto, "SECONDS", rates | {"expansion, km1": (seconds, 0.0, 0.0, 0.0, 0.0)})
        why = partition(mesh, 6).why
        assert any(line.startswith("multilevel: cost ") for line in why)
        assert sum(line.startswith("expansion, km1: ") for line in why) == tried


def test_streaming_is_tried_where_there_are_hubs(mesh: LocalityGraph) -> None:
    def streamed(graph: LocalityGraph) -> bool:
        return any(line.startswith("wb-libra, 2 passes: cost ") for line in partition(graph, 4).why)

    wheel = LocalityGraph.from_edges(
        np.append(np.zeros(200, np.int32), np.arange(1, 201, dtype=np.int32)),
        np.append(np.arange(1, 201, dtype=np.int32), np.roll(np.arange(1, 201, dtype=np.int32), 1)),
    )
    assert streamed(wheel) and not streamed(mesh)


def test_seconds_are_predicted_from_counts(mesh: LocalityGraph) -> None:
    """Bisection is repeated on small graphs and where much was joined; SPAC starts METIS on small ones."""
    small = auto.Size.of(mesh, 64)
    assert (small.pins, small.small, small.coarse) == (mesh.n_pins, True, mesh.n_jobs)
    assert small.bisected == 4 * mesh.n_jobs
    large = auto.Size(1 << 20, False, 1000, 1000.0, False)
    multilevel, spac = auto.Trial("multilevel"), auto.Trial("spac", {"refine": "km1"})
    rates = auto.SECONDS["multilevel"]
    assert multilevel.seconds(large, 5000.0) == pytest.approx(
        rates[0] + 1e-6 * (rates[1] * (1 << 20) + rates[2] * 5000 + rates[4] * 1000)
    )
    assert spac.seconds(replace(large, small=True), 0.0) > spac.seconds(large, 0.0), "a process is started"
    assert multilevel.seconds(replace(large, hubs=True), 0.0) > multilevel.seconds(large, 0.0)
    assert auto.Trial("metis").seconds(replace(large, hubs=True), 0.0) == auto.Trial("metis").seconds(large, 0.0)
    assert not small.hubs and auto.Size.of(star(99), 4).hubs
    assert auto.Size.of(mesh, 1).bisected > 0 and auto.Size.of(star(3), 2).coarse == 3


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

    monkeypatch.setattr("tracecut.partition.external.metis.run_metis", fail)
    found = partition(mesh, 6, "auto", of="data")
    assert found.method == "parcubed-det" and "metis: METIS was killed by SIGSEGV" in found.why
    with pytest.raises(BackendError, match="SIGSEGV"):
        partition(mesh, 6, "metis")


def test_a_hanging_backend_is_left(mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def hang(*_: object, time_limit: float, **__: object) -> None:
        seen.append(time_limit)
        raise BackendError(f"METIS ran past its time limit of {time_limit:g} s")

    monkeypatch.setattr("tracecut.partition.external.metis.run_metis", hang)
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
        ({"budget": -1.0}, "budget = -1.0 is not valid for method 'auto'"),
        ({"budget": float("nan")}, "budget = nan is not valid"),
        ({"budget": "long"}, "budget = 'long' is not valid"),
        ({"rings": True}, "method 'auto' has no option 'rings'\nIts options: budget."),
        ({"passes": 2}, "method 'auto' does not use passes"),
        ({"order": "bfs"}, "method 'auto' does not use order"),
        ({"hierarchy": [2, 3]}, "method 'auto' does not use hierarchy"),
        ({"method": "rcm", "budget": 1.0}, "method 'rcm' has no option 'budget'"),
    ],
)
def test_wrong_arguments(mesh: LocalityGraph, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        partition(mesh, 6, **{"method": "auto", **arguments})  # type: ignore[arg-type]
