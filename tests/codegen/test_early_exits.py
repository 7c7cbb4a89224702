"""Loops that something may end early: any order, as long as nothing does; and the program's own when it would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.codegen.ptx.refusals import check_loop
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run

from ..waiting import HUNG
from .harness import Inspected, Program, trace
from .woven_programs import run_woven, woven

Made = tuple[Path, list[ScopeFile], list[str]]
MARKS = ["checked", "searched", "both", "late", "ended", "open_ended"]

# What the first argument changes → the loops that notice.
NOTICED: dict[str, set[str]] = {
    "same": set(),
    "checked": {"checked"},
    "searched": {"searched"},
    "first": {"searched"},
    "both": {"both", "late"},
    "late": {"both", "late"},
    "quiet": {"searched", "both", "late"},
    "ended": {"ended"},
    "open": set(),  # the rows may end anywhere
}


@pytest.fixture(scope="module")
def loops(inspected: Callable[[str], dict[str, Inspected | str]]) -> list[Inspected]:
    found = [inspected("early")[mark] for mark in MARKS]
    return [item for item in found if not isinstance(item, str)]


@pytest.fixture(scope="module")
def made(loops: list[Inspected]) -> Made:
    return woven(loops, [item.schedule(item.random(place)) for place, item in enumerate(loops)], name="early")


def test_verdicts(inspected: Callable[[str], dict[str, Inspected | str]], loops: list[Inspected]) -> None:
    assert [item.mark for item in loops] == MARKS
    assert all(item.inspection.verdicts[item.region].movable for item in loops)
    assert "may be left early" in str(inspected("early")["written"])


def test_the_places_where_a_loop_may_end_are_named(program: Callable[[str], Program], loops: list[Inspected]) -> None:
    behind = {"checked": [1], "searched": [1], "both": [4], "late": [2]}
    subject = program("early")
    for item in loops[:4]:
        info = item.program.nest(item.region).loops[item.region]
        assert [place.line - subject.lines[item.mark] for place in info.left] == behind[item.mark]
        assert f"({info.left[0]})" in info.told
    assert not any(item.program.nest(item.region).loops[item.region].left for item in loops[4:])


def test_a_loop_that_is_left_early_is_not_captured(program: Callable[[str], Program]) -> None:
    subject = program("early")
    lines = (subject.folder / "program.c").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.endswith("// left early"))
    (loop,) = (record.id for record in subject.compiled.analysis.records if record.place.line == line)
    assert subject.traced.profile.iterations[loop] == 301
    assert loop not in subject.traced.profile.captures


@pytest.mark.parametrize("mode", NOTICED)
def test_other_input(program: Callable[[str], Program], loops: list[Inspected], made: Made, mode: str) -> None:
    subject = program("early")
    native = run([subject.compiled.native, mode], folder=subject.folder, name=f"native-{mode}", limits=Limits(HUNG))
    ran = run_woven(subject, made, argv=[mode])
    assert ran.code == native.returncode == (3 if mode == "checked" else 0)
    assert ran.stdout == native.stdout.read_bytes()
    refused = {item.mark for item in loops if ran.report["scopes"][str(item.scope)]["refused"]}
    assert refused == NOTICED[mode]
    assert {item.mark for item in loops if not ran.used[str(item.scope)]} == refused


def test_a_device_would_not_stop(loops: list[Inspected]) -> None:
    left = [item for item in loops if item.program.nest(item.region).loops[item.region].ends_early]
    assert [item.mark for item in left] == MARKS[:4]
    for item in left:
        view = item.program.compiled.analysis.view_of(item.region)
        nest = item.program.nest(item.region)
        with pytest.raises(UnsupportedError, match="left"):
            check_loop(view, nest, view.loops[item.region], [])


def test_an_end_that_is_no_branch_is_no_early_exit(tmp_path: Path) -> None:
    """Of a loop that an exception may leave: the block that it ends in has no condition."""
    source = """
    #include <cstdio>
    #include <vector>
    struct Cell { float x, y; };
    int main(int count, char **) {
        std::vector<Cell> cells(500);
        std::vector<int> place(2000);
        unsigned s = 1;
        for (int &one : place) one = (s = s * 1664525u + 1013904223u) >> 8 & 255;
        for (int t = 0; t < 20; t++) {
            for (int e = 0; e < 2000; e++) // @sums
                cells[place[e]].x += 0.5f;
            if (t == 7 && count == 5) { cells.push_back(cells[0]); cells.shrink_to_fit(); }
        }
        float sum = 0;
        for (const Cell &one : cells) sum += one.x;
        std::printf("%g\\n", sum);
    }
    """
    item = trace(source, tmp_path, suffix=".cpp").inspect("sums")
    assert item.inspection.verdicts[item.region].kind == "reduction"
