"""Partitioners of other projects: with their wheels, without them, and when they crash or hang."""

from __future__ import annotations

import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import METHODS, partition
from tracecut.partition.datastructures.plain_graphs import PlainGraph
from tracecut.partition.external import adapters, client
from tracecut.partition.external.client import INSTALL, TOOLS, Nets, run_tool
from tracecut.support.errors import ArgumentError, BackendError

PEERS = ["kaminpar", "kahip", "mtkahypar", "mtkahypar-km1"]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_answers_or_says_how_to_install_it(name: str, mesh: LocalityGraph, scratch: Path) -> None:
    """With the wheel: balanced labels of few copies. Without: one sentence, and no file or process."""
    if METHODS[name].installed:
        found = partition(mesh, 6, name, seed=3)
        assert found.imbalance() <= 1.03 and found.method == name
        assert vertex_copies(mesh, found) < vertex_copies(mesh, partition(mesh, 6, "random")) / 3
    else:
        with pytest.raises(BackendError, match=f"method '{name}' needs the module '{METHODS[name].module}'") as caught:
            partition(mesh, 6, name, seed=3)
        assert caught.value.hint == INSTALL == "pip install 'tracecut[partitioners]'"
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("name", PEERS)
def test_an_absent_peer_says_how_to_install_it(name: str, mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "installed", lambda tool: False)
    with pytest.raises(BackendError, match=f"{TOOLS[name].title} is not installed") as caught:
        partition(mesh, 6, name)
    assert "tracecut[partitioners]" in str(caught.value)
    assert partition(mesh, 1, name).sizes().tolist() == [1104], "one cluster needs no library"


@pytest.mark.parametrize("name", PEERS)
def test_targets_shape_the_clusters(name: str, mesh: LocalityGraph) -> None:
    shares = np.array([0.5, 0.3, 0.2])
    if "targets" not in METHODS[name].uses:
        with pytest.raises(ArgumentError, match="'kahip' does not use targets"):
            partition(mesh, 3, name, targets=shares)
    elif METHODS[name].installed:
        found = partition(mesh, 3, name, targets=shares)
        assert found.sizes() / mesh.n_jobs == pytest.approx(shares, abs=0.03)
    else:
        with pytest.raises(BackendError, match="is not installed"):
            partition(mesh, 3, name, targets=shares)


@pytest.mark.parametrize("name", PEERS)
def test_a_crash_names_the_saved_graph_and_the_seed(
    name: str, mesh: LocalityGraph, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "installed", lambda tool: True)
    monkeypatch.setattr(client, "COMMAND", (sys.executable, "-P", "-c", "import os; os.kill(os.getpid(), 11)"))
    with pytest.raises(BackendError, match=rf"{TOOLS[name].title} was killed by SIGSEGV.*k = 6, seed 5\)") as caught:
        partition(mesh, 6, name, seed=5)
    saved = next(scratch.glob(f"tracecut-{name}-*/graph.npz"))
    assert str(saved) in caught.value.detail and str(saved) in caught.value.hint
    assert f"method {name!r}" in caught.value.message


@pytest.mark.parametrize("name", PEERS)
def test_a_hang_ends_at_the_time_limit(name: str, mesh: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "installed", lambda tool: True)
    monkeypatch.setattr(client, "COMMAND", (sys.executable, "-P", "-c", "import time; time.sleep(60)"))
    with pytest.raises(BackendError, match=r"ran longer than 0\.2 s and was stopped"):
        partition(mesh, 6, name, time_limit=0.2)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize(
    "graph",
    [
        LocalityGraph([0], [], 0),
        LocalityGraph([0], [], 5),
        LocalityGraph([0, 0, 0], [], 2),
        LocalityGraph.from_edges([0, 0, 0, 0], [0, 0, 0, 0], 1),
        LocalityGraph(np.arange(7), np.arange(6), 6),
    ],
    ids=["empty", "no-jobs", "no-pins", "self-loops", "singles"],
)
def test_graphs_without_structure_never_reach_a_graph_library(
    name: str, graph: LocalityGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "COMMAND", (sys.executable, "-P", "-c", "raise SystemExit(9)"))
    monkeypatch.setattr(client, "installed", lambda tool: True)
    if name == "mtkahypar-km1" and graph.n_data == 1:  # one datum of four jobs is a net
        with pytest.raises(BackendError, match="left with status 9"):
            partition(graph, 3, name)
    else:
        assert partition(graph, 3, name).labels.size == graph.n_jobs


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("kahip", {"mode": "slow"}, "mode = 'slow', one of fast, eco, strong"),
        ("kaminpar", {"preset": "slow"}, "preset = 'slow', one of default, fast"),
        ("mtkahypar", {"preset": "eco"}, "preset = 'eco', one of default, quality"),
        ("mtkahypar-km1", {"preset": "eco"}, "preset = 'eco', one of default, quality"),
        ("spac", {"inner": "scotch"}, "inner = 'scotch', one of metis, kahip, kaminpar, mtkahypar"),
        ("spac-split", {"inner": "scotch"}, "inner = 'scotch', one of metis"),
        ("kahip", {"mode": 3}, "mode = 3 is not valid for method 'kahip'"),
    ],
)
def test_unknown_presets_are_refused(name: str, option: dict[str, Any], message: str, mesh: LocalityGraph) -> None:
    with pytest.raises(ArgumentError, match=message):
        partition(mesh, 6, name, **option)


@pytest.mark.parametrize("inner", ["metis", "kahip", "kaminpar", "mtkahypar"])
@pytest.mark.parametrize("method", ["spac", "spac-split"])
def test_spac_around_any_vertex_partitioner(method: str, inner: str, mesh: LocalityGraph) -> None:
    if client.installed(inner):
        found = partition(mesh, 6, method, inner=inner)
        assert found.imbalance() <= 1.03 and found.options["inner"] == inner
        assert vertex_copies(mesh, found) < vertex_copies(mesh, partition(mesh, 6, "random")) / 3
    else:
        with pytest.raises(BackendError, match=f"{TOOLS[inner].title} is not installed: method '{method}'"):
            partition(mesh, 6, method, inner=inner)


def test_weights_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "installed", lambda tool: True)
    nets = Nets(3, np.array([0, 3]), np.array([0, 1, 2], np.int32), np.array([1]))
    with pytest.raises(BackendError, match="counts in 32 bits, weights that sum to 2147483648 do not fit"):
        run_tool("mtkahypar-km1", nets, 2, np.array([1, 1, 2**31 - 2]))


# The calls themselves, against libraries that write down what they get.

PATH = {
    "offsets": np.array([0, 1, 3, 4]),
    "members": np.array([1, 0, 2, 1], np.int32),
    "edge_weights": np.array([5, 5, 7, 7]),
    "vertex_weights": np.array([1, 2, 3]),
}
META = {"size": 3, "k": 2, "balance": 1.5, "seed": 8, "threads": 2}


@pytest.mark.parametrize(("weights", "slack"), [([1, 1, 1], 1 / 3), ([6, 1, 1], 0.75), ([0, 0, 0], 0.0)])
def test_no_library_is_asked_for_a_balance_that_no_partition_has(weights: list[int], slack: float) -> None:
    """KaHIP never came back from 6 vertices of which one weighs more than a cluster may hold."""
    arrays = PATH | {"vertex_weights": np.array(weights)}
    assert adapters._slack(arrays, META | {"balance": 1.0}) == pytest.approx(slack)
    assert adapters._slack(arrays, META | {"balance": 2.5}) == 1.5


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Callable[..., types.ModuleType]:
    def plant(name: str, **members: Any) -> types.ModuleType:
        module = types.ModuleType(name)
        for key, value in members.items():
            setattr(module, key, value)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return plant


def test_the_call_of_kahip(library: Any) -> None:
    said: list[Any] = []
    library("kahip", STRONG=2, kaffpa=lambda *words: (said.append(words), (0, [0, 1, 1]))[1])
    assert adapters.call("kahip", PATH, META | {"options": {"mode": "strong"}}).tolist() == [0, 1, 1]
    assert said == [([1, 2, 3], [0, 1, 3, 4], [5, 5, 7, 7], [1, 0, 2, 1], 2, 0.5, True, 8, 2)]


@pytest.mark.parametrize("targets", [{}, {"targets": np.array([0.75, 0.25])}], ids=["equal", "targets"])
def test_the_call_of_kaminpar(library: Any, targets: dict[str, Any], tmp_path: Path) -> None:
    said: dict[str, Any] = {}

    class Solver:
        def __init__(self, threads: int, context: str) -> None:
            said["made"] = (threads, context)

        def compute_partition(self, graph: bytes, *words: Any) -> list[int]:
            said["graph"], said["words"] = np.frombuffer(graph, np.int64), words
            return [1, 0, 0]

    library(
        "kaminpar",
        KaMinPar=Solver,
        GraphFileFormat=types.SimpleNamespace(PARHIP="parhip"),
        load_graph=lambda path, form: Path(path).read_bytes(),
        reseed=lambda seed: said.update(seed=seed),
        context_by_name=str.upper,
    )
    meta = META | {"options": {"preset": "fast"}, "folder": str(tmp_path)}
    assert adapters.call("kaminpar", PATH | targets, meta).tolist() == [1, 0, 0]
    assert said["made"] == (2, "FAST") and said["seed"] == 8
    # Version 0 (64 bits, both weights), 3 vertices, 4 entries; neighbours begin at byte 56.
    head = [0, 3, 4, 56, 64, 80, 88]
    assert said["graph"].tolist() == [*head, 1, 0, 2, 1, 1, 2, 3, 5, 5, 7, 7]
    # Of 6: 1.5 times three quarters is above one heaviest vertex more; of the other cluster it is not.
    assert said["words"] == (([8, 5],) if targets else (2, 0.5))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["mtkahypar", "mtkahypar-km1"])
def test_the_call_of_mtkahypar(name: str, library: Any) -> None:
    said: dict[str, Any] = {}

    class Context:
        def set_partitioning_parameters(self, *words: Any) -> None:
            said["parameters"] = words

        def set_individual_target_block_weights(self, loads: list[int]) -> None:
            said["loads"] = loads

    class Made:
        def partition(self, context: Context) -> Made:
            return self

        def get_partition(self) -> list[int]:
            return [0, 0, 1]

    class Session:
        def context_from_preset(self, preset: str) -> Context:
            said["preset"] = preset
            return Context()

        def create_graph(self, context: Context, *words: Any) -> Made:
            said["graph"] = words
            return Made()

        create_hypergraph = create_graph

    library(
        "mtkahypar",
        initialize=lambda threads, warnings: said.update(threads=threads) or Session(),
        PresetType=types.SimpleNamespace(LARGE_K="large"),
        Objective=types.SimpleNamespace(CUT="cut", KM1="km1"),
        set_seed=lambda seed: said.update(seed=seed),
    )
    meta = META | {"options": {"preset": "large-k"}}
    nets = PATH | {"offsets": np.array([0, 2, 4]), "edge_weights": np.array([1, 1]), "targets": np.array([0.5, 0.5])}
    arrays = nets if name == "mtkahypar-km1" else PATH
    assert adapters.call(name, arrays, meta).tolist() == [0, 0, 1]
    if name == "mtkahypar":
        assert said["graph"] == (3, 2, [(0, 1), (1, 2)], [1, 2, 3], [5, 7])
    else:
        assert said["graph"] == (3, 2, [[1, 0], [2, 1]], [1, 2, 3], [1, 1])
        assert said["loads"] == [6, 6]
    assert said["parameters"] == (2, 0.5, "km1" if name.endswith("km1") else "cut")
    assert (said["preset"], said["threads"], said["seed"]) == ("large", 2, 8)


def test_nets_hold_each_job_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Datum 0 twice in job 0; datum 1 in jobs 0 and 2; datum 2 in one job only, datum 3 in none."""
    seen: list[Any] = []
    monkeypatch.setattr(client, "installed", lambda tool: True)

    def ask(title: str, about: str, arrays: dict[str, Any], meta: Any, limit: Any) -> client.Answer:
        seen.append(arrays)
        return client.Answer(np.zeros(3, np.int32), 0.0)

    monkeypatch.setattr(client, "_ask", ask)
    graph = LocalityGraph([0, 3, 4, 6], [0, 0, 1, 2, 1, 0], 4)
    partition(graph, 2, "mtkahypar-km1")
    assert seen[0]["offsets"].tolist() == [0, 2, 4] and seen[0]["members"].tolist() == [0, 2, 0, 2]


def test_a_graph_that_is_none_is_refused_before_any_library() -> None:
    plain = PlainGraph(np.array([0, 1, 2]), np.array([1, 9], np.int32), np.array([1, 1]))
    with pytest.raises(ArgumentError, match=r"offsets\[2\] = 1 is below"):
        run_tool("metis", PlainGraph(np.array([0, 2, 1, 2, 2]), plain.neighbours, plain.edge_weights), 2)
    with pytest.raises(ArgumentError, match=r"neighbours\[1\] = 9"):
        run_tool("metis", PlainGraph(np.array([0, 1, 2, 2]), plain.neighbours, plain.edge_weights), 2)
