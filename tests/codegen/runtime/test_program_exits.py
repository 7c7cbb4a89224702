"""However a layout scope is left, the data are in the program's order behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.support.process.runner import Limits, run

from ...waiting import HUNG
from ..harness import Inspected, Program
from ..woven_programs import run_woven, woven

Made = tuple[Path, list[ScopeFile], list[str]]
WAYS = {
    "all": 0,
    "end": 0,
    "many": 0,
    "exit": 3,
    "quick": 4,
    "abort": -6,
    "raise": -15,
    "longjmp": 0,
    "signal": 0,
}


@pytest.fixture(scope="module")
def loops(inspected: Callable[[str], dict[str, Inspected | str]]) -> list[Inspected]:
    return [item for item in inspected("exits").values() if not isinstance(item, str)]


@pytest.fixture(scope="module")
def made(loops: list[Inspected]) -> Made:
    return woven(loops, [item.schedule(item.random(place)) for place, item in enumerate(loops)], name="leaving")


@pytest.mark.parametrize("how", WAYS)
def test_ways_out(program: Callable[[str], Program], loops: list[Inspected], made: Made, how: str) -> None:
    subject = program("exits")
    native = run([subject.compiled.native, how], folder=subject.folder, name=f"native-{how}", limits=Limits(HUNG))
    ran = run_woven(subject, made, argv=[how])
    assert native.returncode == ran.code == WAYS[how]
    assert ran.stdout == native.stdout.read_bytes()
    if how == "signal":
        assert "handles signals" in ran.stderr
        assert ran.used[str(next(item.scope for item in loops if item.mark == "interrupted"))] == 1
        return
    assert ran.stderr == ""
    if ran.report["scopes"]:  # a program that was killed has no time for a report
        used = {item.mark: ran.used[str(item.scope)] for item in loops}
        entries = {"breaking": 1, "returning": 1, "nested": 200 if how == "many" else 4, "recursive": 4}
        assert {mark: used[mark] for mark in entries} == entries
        assert used["leaving"] >= (3 if how in ("all", "longjmp") else 1)


def test_what_the_scopes_are(loops: list[Inspected]) -> None:
    """A call that does not come back, and output, keep a loop from being a scope; breaks and returns do not."""
    wide = {item.mark: item.scope != item.region for item in loops}
    assert wide == {
        "interrupted": True,
        "breaking": True,
        "returning": True,
        "nested": True,
        "recursive": True,
        "leaving": False,
    }
