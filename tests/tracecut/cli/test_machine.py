"""`tracecut machine`, `map` and `simulate`: what a user types, from a graph to a prediction."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.placement import Placement
from tracecut.mapping.simulation.result import Simulation
from tracecut.support.errors import ArtefactError, TracecutError, UsageError

from tracecut.cli.clustered_graph import told_while
from tracecut.cli.map import run_map
from tracecut.cli.simulate import run_simulate

from ..forked import completed, started


def command(*words: str | Path, status: int = 0, folder: Path | None = None, run: Any = completed) -> str:
    """Standard output, or standard error where the command is to fail."""
    done = run(*words, folder=folder)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if status else done.stdout


def alone(*words: str | Path, folder: Path | None = None) -> Any:
    """In a process of its own, where all kernels run as Python, as here those of `tests/plain_rooms.py`."""
    return started(*words, folder=folder, NUMBA_DISABLE_JIT="1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain of 60 instructions as a dependence graph, and a grid as a matrix."""
    here = tmp_path_factory.mktemp("cli")
    n = 60
    src, dst = np.arange(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    ones = np.ones(n - 1, np.int32)
    graph = DependenceGraph(src, dst, ones, ones.astype(np.uint8), np.zeros(n, np.int32), np.ones(n, np.int32))
    graph.save(here / "chain.npz")
    edges = [(8 * y + x, 8 * y + x + 1) for y in range(8) for x in range(7)]
    edges += [(8 * y + x, 8 * y + x + 8) for y in range(7) for x in range(8)]
    (here / "grid.txt").write_text("".join(f"{a} {b}\n" for a, b in edges))
    (here / "halves.txt").write_text("0\n" * 30 + "1\n" * 30)
    return here


def test_a_machine_is_shown_and_saved(tmp_path: Path) -> None:
    text = command("machine", "show", "mesh:4x4", "-o", tmp_path / "m.toml", "--svg", tmp_path / "m.svg")
    assert text.startswith("mesh:4x4\n  16 cores\n")
    assert Machine.load(tmp_path / "m.toml") == Machine.mesh(4, 4)
    picture = ElementTree.parse(tmp_path / "m.svg").getroot()
    assert len(picture.findall(".//{*}rect[@class='core']")) == 16
    assert len(picture.findall(".//{*}line")) == 24
    told = json.loads(command("machine", "show", tmp_path / "m.toml", "--json"))
    assert told["network"]["shape"] == [4, 4] and len(told["cores"]) == 16
    assert len(json.loads(command("machine", "--json", run=started))["cores"]) >= 1


def test_a_graph_is_put_into_a_machine(folder: Path, tmp_path: Path) -> None:
    text = command(
        "map", folder / "grid.txt", "--machine", "mesh:2x2", "-o", tmp_path / "cores.txt", "--svg", tmp_path / "m.svg"
    )
    assert "reddest link: 4 messages" in (tmp_path / "m.svg").read_text()
    assert "64 data, 112 jobs, partitioned into the machine on mesh:2x2" in text
    cores = np.loadtxt(tmp_path / "cores.txt", int)
    assert np.bincount(cores, minlength=4).tolist() == [16] * 4
    numbers = json.loads(command("map", folder / "grid.txt", "--machine", "mesh:2x2", "--json", run=alone))
    assert numbers["hop_cost"] == 16.0 and numbers["edge_cut"] == 16.0
    assert numbers["bytes_as_vertexcut_counts"] == 8 * 16 == numbers["bytes_moved"] and "kept_balance" not in numbers


def test_a_balance_that_cannot_be_kept_is_told(folder: Path) -> None:
    numbers = json.loads(command("map", folder / "grid.txt", "--machine", "mesh:3x3", "--json"))
    assert numbers["kept_balance"] == numbers["imbalance"] == 8 * 9 / 64


def test_memories_of_a_machine_hold_what_is_put_into_it(folder: Path) -> None:
    words = ("map", folder / "grid.txt", "--machine", "cpu_gpu:3:1")  # a GPU with 8.5 of 14.5 parts of the memory
    cores = np.array(command(*words, "--memory", "1.2").split(), int)
    assert np.bincount(cores)[0] <= int(1.2 * 64 * 8.5 / 14.5) < int(64 * 8 / 11)
    assert json.loads(command(*words, "--memory", "1.2", "--json"))["memory_violations"] == 0


def test_clusters_are_placed_and_simulated(folder: Path, tmp_path: Path) -> None:
    words = ("--machine", "mesh:4x1", "--parts", folder / "halves.txt", "--of", "data")
    text = command("map", folder / "chain.npz", *words, "--save", tmp_path / "p.npz", "-o", tmp_path / "cores.txt")
    assert "2 clusters, 1 interactions, placed by memory-centric on mesh:4x1" in text
    placed = Placement.load(tmp_path / "p.npz")
    files = ("--timeline", tmp_path / "t.json", "--svg", tmp_path / "s.svg", "-o", tmp_path / "s.npz")
    files += ("--gantt", tmp_path / "g.svg")
    text = command("simulate", folder / "chain.npz", *words, "--placement", tmp_path / "p.npz", *files)
    assert "60 instructions in 2 clusters on mesh:4x1, predicted by simulation" in text
    hops = abs(int(placed.core_of[0]) - int(placed.core_of[1]))
    assert Simulation.load(tmp_path / "s.npz").time == 60 + 2 * hops
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert ElementTree.parse(tmp_path / "s.svg").getroot().findall(".//{*}rect")
    assert "critical path" in (tmp_path / "g.svg").read_text()
    assert ElementTree.parse(tmp_path / "g.svg").getroot().findall(".//{*}rect[@class='busy']")
    numbers = json.loads(
        command("simulate", folder / "chain.npz", *words, "--place", "round-robin", "--json", run=alone)
    )
    assert numbers["notes"][1:] == list(Machine.mesh(4, 1).notes) and "no virtual channels" in numbers["notes"][1]
    assert numbers["cycles"] == 62 and numbers["bytes_moved"] == numbers["bytes_as_vertexcut_counts"] == 8


def test_clusters_are_made_on_the_way(folder: Path) -> None:
    words = ("--machine", "mesh:2x2", "-k", "4", "--json")
    for method in ("wb-libra", "powergraph", "metis"):
        found = json.loads(command("simulate", folder / "chain.npz", *words, "--method", method))
        assert found["k"] == 4 and found["method"] == method and found["cycles"] >= 60


def test_caches_are_simulated_where_the_graph_has_addresses(folder: Path, tmp_path: Path) -> None:
    """The chain as writes of one line, by two neighbours: the line goes to and fro once."""
    words = ("--machine", "mesh:2x1", "--parts", folder / "halves.txt", "--of", "data", "--place", "round-robin")
    text = command("simulate", folder / "chain.npz", *words)
    assert "accesses take the cycles that the graph states: the graph has no addresses, which `tracecut graph" in text
    chain = DependenceGraph.load(folder / "chain.npz")
    more = {"address": np.zeros(60, np.int64), "access": np.full(60, 2, np.uint8)}
    replace(chain, **more).save(tmp_path / "writes.npz")
    text = command("simulate", tmp_path / "writes.npz", *words, "-o", tmp_path / "s.npz")
    assert (
        "hits in own l1                           58" in text and "invalidations                             1" in text
    )
    assert Simulation.load(tmp_path / "s.npz").time == 200 + 29 * 4 + 2 + 24 + 29 * 4
    told = json.loads(command("simulate", tmp_path / "writes.npz", *words, "--json"))
    assert (told["hits_in_other_l1"], told["misses_to_memory"], told["bank_lines"]) == (1, 1, [1, 0])
    off = json.loads(command("simulate", tmp_path / "writes.npz", *words, "--json", "--caches", "off"))
    assert off["cycles"] == 62 and off["why_no_caches"] == "caches are switched off" and "hits_in_own_l1" not in off


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["machine", "show"], 2, "show needs a machine"),
        (["machine", "detect", "mesh:2x2"], 2, "detect takes no machine"),
        (["machine", "draw"], 2, "draw: detect or show expected"),
        (["machine", "show", "mesh:2"], 1, "names no machine"),
        (["machine", "show", "no.toml"], 1, "No such file"),
        (["map", "grid.txt"], 2, "--machine"),
        (["map", "grid.txt", "--machine", "mesh:2x2", "--method", "metis"], 2, "give -k as well"),
        (
            ["map", "grid.txt", "--machine", "topo1:4:1:1", "-k", "2", "--memory", "2"],
            2,
            "--memory needs a graph without",
        ),
        (["map", "grid.txt", "--machine", "topo1:4:1:1", "--memory", "0.9"], 1, "does not fit"),
        (["map", "grid.txt", "--machine", "mesh:4x4", "--memory", "1.2"], 1, "states none for some of its cores"),
        (["map", "grid.txt", "--machine", "topo1:4:1:1", "--memory", "nan"], 1, "memory = nan, a finite number"),
        (["map", "grid.txt", "--machine", "topo1:4:1:1", "--memory", "-1"], 1, "memory = -1.0, a finite number"),
        (["map", "chain.npz", "--machine", "mesh:2x2"], 2, "Give -k or --parts"),
        (["map", "grid.txt", "--machine", "mesh:2x2", "--place", "best", "-k", "2"], 2, "One of memory-centric"),
        (["map", "grid.txt", "--machine", "mesh:2x2", "--place", "swap"], 2, "one of --parts and -k is required"),
        (["simulate", "chain.npz", "--machine", "mesh:2x2"], 2, "one of --parts and -k is required"),
        (["simulate", "grid.txt", "--machine", "mesh:2x2", "-k", "2"], 2, "a dependence graph (.npz) expected"),
        (["simulate", "chain.npz", "--machine", "mesh:2x2", "--parts", "halves.txt"], 1, "the graph has 59 edges"),
        (
            ["simulate", "chain.npz", "--machine", "mesh:2x2", "-k", "2", "--caches", "on"],
            1,
            "cannot be simulated: the graph has no addresses",
        ),
        (["simulate", "chain.npz", "--machine", "mesh:2x2", "-k", "2", "--caches", "some"], 2, "--caches"),
        (["simulate", "no.npz", "--machine", "mesh:2x2", "-k", "2"], 1, "no.npz"),
        (["simulate", "halves.txt", "--machine", "mesh:2x2", "-k", "2"], 2, "a dependence graph (.npz) expected"),
    ],
)
def test_what_is_refused(words: list[str], status: int, why: str, folder: Path) -> None:
    assert why in command(*words, status=status, folder=folder)


@pytest.mark.parametrize("label", ["2000000000", "-1", "0.5", "nan", "8192"])
@pytest.mark.parametrize("command_", ["map", "simulate"])
def test_a_wrong_label_is_named(label: str, command_: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "px.txt").write_text("0\n" * 58 + f"{label}\n")
    words = (command_, str(folder / "chain.npz"), "--machine", "mesh:2x2", "--parts", str(tmp_path / "px.txt"))
    with pytest.raises(ArtefactError, match=rf"px.txt: row 59: label {label}, a whole number from 0 to 8191 was"):
        {"map": run_map, "simulate": run_simulate}[command_](list(words[1:]))


def test_weights_are_ignored_where_clusters_are_placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 nan\n3 2 1\n"
    (tmp_path / "nan.mtx").write_text(text)
    words = [str(tmp_path / "nan.mtx"), "--machine", "mesh:2x2", "--place", "swap", "-k", "2", "--method", "chunks"]
    assert run_map([*words, "--unweighted"]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    with pytest.raises(TracecutError, match="nan"):
        run_map(words)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--place", "foo", "-k", "2"], "--place foo: unknown method"),
        (["--method", "metsi", "-k", "2"], "--method metsi: unknown method"),
        (["--parts", "none.txt", "--budget", "1"], "--budget and --parts exclude each other"),
    ],
)
def test_names_are_checked_before_any_work(words: list[str], why: str, folder: Path) -> None:
    """Of `map` and `simulate`; the first two before the graph is read, which is missing here."""
    graph = str(folder / "chain.npz") if "--parts" in words else "none.npz"
    for run in (run_map, run_simulate):
        with pytest.raises(UsageError, match=why):
            run([graph, "--machine", "mesh:2x2", *words])
    with pytest.raises(UsageError, match="give -k as well"):
        run_map(["none.txt", "--machine", "mesh:2x2", "--budget", "1"])


def test_a_budget_bounds_the_search(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(folder / "grid.txt"), "--machine", "mesh:2x2", "-k", "2"]
    assert run_map([*words, "--budget", "0"]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    with pytest.raises(TracecutError, match="'chunks' has no option 'budget'"):
        run_map([*words, "--budget", "1", "--method", "chunks"])


def test_long_work_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracecut.cli.clustered_graph.EVERY", 0.001)
    said = ""
    with told_while("making 3 clusters"):
        while not said:
            said = capsys.readouterr().err
    assert re.fullmatch(r"(tracecut: [0-9]+ s: making 3 clusters\n)+", said)


def test_a_placement_is_a_file_of_save(folder: Path, tmp_path: Path) -> None:
    words = [str(folder / "chain.npz"), "--machine", "mesh:2x2", "--of", "data", "--parts", str(folder / "halves.txt")]
    with pytest.raises(UsageError, match="--placement and --place exclude each other"):
        run_simulate([*words, "--placement", "p.npz", "--place", "swap"])
    for content in (b"0\n1\n", b""):
        (tmp_path / "w.txt").write_bytes(content)
        with pytest.raises(ArtefactError, match=r"w.txt: not a placement, which `tracecut map --save FILE` writes"):
            run_simulate([*words, "--placement", str(tmp_path / "w.txt")])
    (tmp_path / "p.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ArtefactError, match="damaged"):
        run_simulate([*words, "--placement", str(tmp_path / "p.npz")])
