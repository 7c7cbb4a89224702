"""Random programs, and changed inputs, with the loops on an emulated card. More: `python -m tests.fuzz.on_card`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracecut.codegen.devices.emulated_backend import IR
from tracecut.support.errors import KernelError
from tracecut.support.process.runner import Limits, run

from ..codegen.harness import trace
from ..codegen.kernels.test_kernel_file import kernel as by_hand
from ..codegen.offload.on_card import Asked, card_scopes, run_on_card
from . import time_loops
from .generate import generate
from .guards import LOOPS, SECONDS, SOON, TOLERANCE, Figures, compare, source_of
from .on_card import CardTally, check_on_card
from .strict_card import strict_card

INPUTS = 150


@pytest.mark.parametrize("anyhow", [False, True])
def test_thirty_loops(anyhow: bool, tmp_path: Path) -> None:
    tally = CardTally()
    check_on_card(generate(950, 30), tmp_path, tally, anyhow=anyhow)
    assert tally.wrong == {}
    assert tally.ran >= (0.5 if anyhow else 0.9) * tally.accepted > 0, tally


def test_warps_that_take_turns(tmp_path: Path) -> None:
    """In a random order, and without a race or an access outside of an array."""
    tally = CardTally()
    check_on_card(generate(951, 20), tmp_path, tally, strict=True)
    assert tally.wrong == {} and tally.ran >= 0.9 * tally.accepted > 0, tally


def test_a_stray_access_and_a_race_are_found_on_the_strict_card() -> None:
    card, kernel = strict_card(1), by_hand()
    loaded = card.load(kernel.ir.encode(), kernel.name, ending=IR)
    there = card.put(kernel.arrays[0].data)

    def launch(threads: int, place: int) -> None:
        card.launch(loaded, 2, threads, 0, [card.address(there, place), np.float64(2.0)])

    with pytest.raises(KernelError) as caught:
        launch(9, 64)
    assert "out of bounds" in caught.value.detail
    with pytest.raises(KernelError) as caught:
        launch(8, 64)  # both blocks double the same numbers
    assert "race" in caught.value.detail


@pytest.mark.long
@pytest.mark.parametrize("first", range(960, 1000, 10))
def test_two_thousand_programs(first: int, tmp_path: Path) -> None:
    tally = CardTally()
    for seed in range(first, first + 10):
        (tmp_path / str(seed)).mkdir()
        check_on_card(generate(seed, 100), tmp_path / str(seed), tally, anyhow=seed % 3 == 2)
    assert tally.wrong == {} and tally.ran > 400, tally


@pytest.mark.long
@pytest.mark.parametrize("first", range(4000, 4020, 5))
def test_two_thousand_programs_with_warps_that_take_turns(first: int, tmp_path: Path) -> None:
    tally = CardTally()
    for seed in range(first, first + 5):
        (tmp_path / str(seed)).mkdir()
        check_on_card(generate(seed, 100), tmp_path / str(seed), tally, anyhow=seed % 3 == 2, strict=True)
    assert tally.wrong == {} and tally.ran > 200, tally


def test_time_loops(tmp_path: Path) -> None:
    tally = time_loops.Tally()
    time_loops.check(1001, 10, tmp_path, tally)
    assert tally.wrong == [] and tally.ran >= 9 and tally.launches > 150, tally


@pytest.mark.parametrize("strict", [False, True])
def test_time_loops_that_run_as_often_as_data_say(strict: bool, tmp_path: Path) -> None:
    tally = time_loops.Tally()
    time_loops.check(1003 + strict, 8, tmp_path, tally, data_count=True, strict=strict)
    assert tally.wrong == [] and tally.ran >= 7 and tally.launches > 100, tally


@pytest.mark.long
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("first", range(3000, 3100, 25))
def test_a_thousand_time_loops_that_run_as_often_as_data_say(first: int, strict: bool, tmp_path: Path) -> None:
    tally = time_loops.Tally()
    for seed in range(first, first + 25):
        (tmp_path / str(seed)).mkdir()
        time_loops.check(seed + 1000 * strict, 10, tmp_path / str(seed), tally, data_count=True, strict=strict)
    assert tally.wrong == [] and tally.ran >= 225, tally


@pytest.mark.long
@pytest.mark.parametrize("first", range(2000, 2100, 25))
def test_a_thousand_time_loops(first: int, tmp_path: Path) -> None:
    tally = time_loops.Tally()
    for seed in range(first, first + 25):
        (tmp_path / str(seed)).mkdir()
        time_loops.check(seed, 10, tmp_path / str(seed), tally)
    assert tally.wrong == [] and tally.ran >= 225, tally


@pytest.mark.parametrize(
    "program", [one if one in SOON else pytest.param(one, marks=pytest.mark.long) for one in LOOPS]
)
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
