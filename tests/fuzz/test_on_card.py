"""Random programs, and changed inputs, with the loops on an emulated card. More: `python -m tests.fuzz.on_card`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.support.process.runner import Limits, run

from ..codegen.harness import trace
from ..codegen.offload.on_card import Asked, card_scopes, run_on_card
from . import time_loops
from .generate import generate
from .guards import LOOPS, SECONDS, TOLERANCE, Figures, compare, source_of
from .on_card import CardTally, check_on_card

INPUTS = 150


@pytest.mark.parametrize("anyhow", [False, True])
def test_thirty_loops(anyhow: bool, tmp_path: Path) -> None:
    tally = CardTally()
    check_on_card(generate(950, 30), tmp_path, tally, anyhow=anyhow)
    assert tally.wrong == {}
    assert tally.ran >= (0.5 if anyhow else 0.9) * tally.accepted > 0, tally


@pytest.mark.long
@pytest.mark.parametrize("first", range(960, 1000, 10))
def test_two_thousand_programs(first: int, tmp_path: Path) -> None:
    tally = CardTally()
    for seed in range(first, first + 10):
        (tmp_path / str(seed)).mkdir()
        check_on_card(generate(seed, 100), tmp_path / str(seed), tally, anyhow=seed % 3 == 2)
    assert tally.wrong == {} and tally.ran > 400, tally


def test_time_loops(tmp_path: Path) -> None:
    tally = time_loops.Tally()
    for seed in (1001, 1002):
        (tmp_path / str(seed)).mkdir()
        time_loops.check(seed, 10, tmp_path / str(seed), tally)
    assert tally.wrong == [] and tally.ran >= 18 and tally.launches > 300, tally


@pytest.mark.long
@pytest.mark.parametrize("first", range(2000, 2100, 25))
def test_a_thousand_time_loops(first: int, tmp_path: Path) -> None:
    tally = time_loops.Tally()
    for seed in range(first, first + 25):
        (tmp_path / str(seed)).mkdir()
        time_loops.check(seed, 10, tmp_path / str(seed), tally)
    assert tally.wrong == [] and tally.ran >= 225, tally


@pytest.mark.parametrize("program", LOOPS)
def test_changed_inputs(program: str, tmp_path: Path) -> None:
    """Kernels that were made for other inputs are not taken, or are right for these too."""
    made = trace(source_of(program), tmp_path, argv=["0"])
    loops = [made.inspect(mark) for mark in made.lines]
    native = run([made.compiled.native, str(INPUTS)], folder=tmp_path, name="many", limits=Limits(SECONDS))
    scopes = card_scopes([Asked(item, "swap", item.random(place)) for place, item in enumerate(loops)])
    ran = run_on_card(made, scopes, argv=[str(INPUTS)], seconds=SECONDS)
    assert native.ok and ran.code == 0, ran.stderr[-500:]
    found = Figures(program)
    kinds = [item.inspection.verdicts[item.region].rounding for item in loops]
    compare(native.stdout.read_text(), ran.stdout.decode(), TOLERANCE if any(kinds) else 0.0, found)
    assert found.wrong == [] and found.inputs >= INPUTS
    counts = ran.report["scopes"].values()
    assert sum(scope["used"] for scope in counts) > INPUTS // 10, counts
