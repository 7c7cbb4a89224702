"""`tracecut annotate` counts what each line executes, from a run or from a trace file."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import tracecut
from tracecut.cli.annotate import listing, measure

from ..forked import completed, started

SOURCE = r"""
#include <stdlib.h>
double values[500];
int main(int count, char **words) {
    double sum = 0;
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < 500; i++)
            sum += values[i] * (i + turn);
    if (count > 1) abort();
    return sum < 0;
}
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`tracecut annotate` in a folder."""
    return completed("annotate", *words, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sum.c").write_text(SOURCE)
    return tmp_path


def test_a_run_and_its_trace_give_the_same_lines(folder: Path) -> None:
    traced = tracecut.trace(folder / "sum.c", output=folder / "sum.tct")
    first, second = measure(folder / "sum.c"), measure(folder / "sum.tct")
    assert first.lines == second.lines and first.unit == "instructions"
    assert sum(line.count for line in first.lines) == traced.totals["instructions"]
    hottest = first.lines[0]
    assert (hottest.line, hottest.functions) == (8, ("main",)) and hottest.count >= 50_000 and hottest.share > 0.5
    weighed = measure(folder / "sum.tct", cycles=True)
    assert weighed.unit == "cycles" and weighed.lines[0].line == 8
    assert [line.count for line in weighed.lines if line.line == 8] == [hottest.count]


def test_the_listing_in_the_terminal(folder: Path) -> None:
    done = started("annotate", "sum.c", "-O1", folder=folder)
    assert done.returncode == 0 and done.stderr == ""
    [row] = [line for line in done.stdout.splitlines() if "sum += values[i]" in line]
    assert float(row.split()[0]) > 50 and row.split()[1] == "%" and "  8  " in row
    assert "#include" not in done.stdout and "#include" in run(folder, "sum.c", "--whole").stdout
    found = json.loads(run(folder, "sum.c", "--json").stdout)
    assert found["unit"] == "instructions" and found["lines"][0]["line"] == 8


def test_a_program_that_fails_is_shown_up_to_its_end(folder: Path) -> None:
    done = run(folder, "sum.c", "--", "now")
    assert done.returncode == 1 and "SIGABRT" in done.stderr
    assert "sum += values[i]" in done.stdout


def test_a_source_outside_of_the_current_folder(folder: Path) -> None:
    """By its whole name, by a relative one, and as a trace that was made in another folder."""
    (folder / "elsewhere").mkdir()
    assert tracecut.trace(folder / "sum.c", output=folder / "sum.tct").ok
    for name in (str(folder / "sum.c"), "../sum.c", "../sum.tct"):
        done = run(folder / "elsewhere", name)
        assert done.returncode == 0 and "sum += values[i]" in done.stdout, done
        assert "not shown" not in done.stdout


def test_sources_that_are_gone_are_named(folder: Path) -> None:
    found = measure(folder / "sum.c")
    (folder / "sum.c").unlink()
    text = listing(found)
    assert "sum += values[i]" not in text and re.search(r"not shown: \S*sum\.c 100\.0 %", text)


@pytest.mark.parametrize(
    ("words", "message"),
    [((), "no source file was given"), (("x.tct", "-O1"), "x.tct is a trace"), (("gone.c",), "gone.c: no such file")],
)
def test_bad_command_lines(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = run(folder, *words)
    assert done.returncode != 0 and message in done.stderr and "Traceback" not in done.stderr
