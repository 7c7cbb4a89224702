"""Random programs: the graph of the traced run beside the slow interpreter, edge for edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracecut.api.dependence_graph import build_graph

from ...fuzz.generate import generate
from .interpreter import Interpreter
from .test_edges import edges_of

LONGEST = 400_000  # instructions that the interpreter follows


def check(folder: Path, seed: int, opt: str) -> int:
    """Compare the graph of one random kernel; its number of edges."""
    source = folder / f"{seed}-{opt}.c"
    source.write_text(generate(seed, 1).source)
    command = [str(source), "-ffp-contract=off", "-lm"]
    built = build_graph(command, opt=opt, weights="unit", output=folder / f"{seed}-{opt}.tct")
    machine = Interpreter(built.trace.static.text, limit=LONGEST)
    status = machine.run()
    assert built.trace.outcome == f"left with status {status}", seed
    assert built.graph.instruction.tolist() == machine.executed, seed
    assert edges_of(built.graph) == machine.edges, seed
    return built.graph.m


@pytest.mark.parametrize(("seed", "opt"), [(701, "O1"), (702, "O1"), (703, "O1"), (704, "seed"), (705, "seed")])
def test_random_kernels(tmp_path: Path, seed: int, opt: str) -> None:
    assert check(tmp_path, seed, opt) > 1000


@pytest.mark.long
@pytest.mark.parametrize("opt", ["O1", "seed"])
def test_five_hundred_random_kernels(tmp_path: Path, opt: str) -> None:
    assert sum(check(tmp_path, 20_000 + seed, opt) for seed in range(500)) > 1_000_000
