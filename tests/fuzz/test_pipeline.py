"""100 random kernels through the whole pipeline: no wrong answer, no crash, no unfounded verdict, few refusals.

800 of them, 2,000, and 20,000 others: `pytest -m long tests/fuzz`, or `python -m tests.fuzz --first 100 --seeds 200`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from .generate import generate, suite_of
from .pipeline import check
from .report import Tally

ROOT = Path(__file__).parents[2]
# `python -m tests.fuzz`, with the package that is installed: from here, its folder would come before it.
RUN = "import runpy, sys; sys.path.append(sys.argv.pop(1)); runpy.run_module('tests.fuzz', run_name='__main__')"
SHARE = 0.95  # accepted, of those that brute force accepts


def test_a_hundred_kernels() -> None:
    judged(tallies([0], seeds=1))


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 4])
def test_four_hundred_kernels(first: int) -> None:
    judged(tallies([first], seeds=4))


@pytest.mark.parametrize(("seed", "number"), [(90079, 86), (90103, 75), (90180, 70)])
def test_kernels_that_once_ended_with_an_error(seed: int, number: int, tmp_path: Path) -> None:
    """A constant address, jobs that skip, an index in a way that no iteration takes."""
    report = check(suite_of([generate(seed).kernels[number]], seed), tmp_path)
    assert (report.wrong, report.stopped, report.unsteady) == ({}, {}, {})
    assert report.ran is not None and report.ran.code == 0


def test_the_command_starts_in_the_root() -> None:
    """Where the folder `tracecut` holds a part of the package only."""
    command = [sys.executable, "-m", "tests.fuzz", "--seeds", "1", "--count", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "seed 0: " in done.stderr, done.stderr[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("first", [0, *range(100, 300, 20)])
def test_two_thousand_kernels(first: int) -> None:
    judged(tallies(range(first, first + 20, 10), seeds=10))


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 8])
def test_kernels_whose_arrays_are_rows_behind_pointers(first: int) -> None:
    judged(tallies([first, first + 4], 4, "--rows"))


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 8])
def test_kernels_of_the_newest_shapes(first: int) -> None:
    """Pieces that are told of, complex numbers, loaded bounds, and what their time loops grow, tell and ask for."""
    judged(tallies([first, first + 4], 4, "--shapes"))


def test_one_kernel_alone_may_have_rows() -> None:
    """Also in the test of its loop."""
    command = [sys.executable, "-m", "tests.fuzz", "--rows", "--first", "17", "--kernel", "6"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "while (list[i][0] >= 0)" in done.stdout, done.stderr[-2000:]


def tallies(firsts: Iterable[int], seeds: int, *kind: str) -> list[Tally]:
    """Counts of programs of their own, side by side: whatever happens there does not end this one."""
    command = [sys.executable, "-P", "-c", RUN, str(ROOT), *kind, "--json", "--seeds", str(seeds), "--first"]
    running = [
        subprocess.Popen([*command, str(first)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for first in firsts
    ]
    found = []
    for process in running:
        out, err = process.communicate()
        assert out.startswith("{"), f"it ended with {process.returncode}: {err[-3000:]}"
        data = json.loads(out)
        found.append(Tally(**{**data, **{name: Counter(data[name]) for name in ("reasons", "by_chance")}}))
    return found


def judged(found: list[Tally]) -> None:
    """Assert what has to be true of them together."""
    for tally in found:
        text = "\n".join(tally.lines())
        assert (tally.failed, tally.wrong, tally.stopped, tally.unsteady, tally.unsound) == ([], [], [], [], []), text
    possible, accepted = sum(tally.possible for tally in found), sum(tally.accepted for tally in found)
    assert accepted >= SHARE * possible, "\n".join(text for tally in found for text in tally.lines())
    assert sum(tally.scheduled for tally in found) >= 0.95 * accepted
