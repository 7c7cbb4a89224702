"""Indices that are computed of floating-point numbers: jobs are ordered by the lines that they reach, and guarded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.graph.guessed_values import guess_addresses
from tracecut.partition import order
from tracecut.support.process.runner import Limits, run

from ..waiting import HUNG
from .harness import Inspected, Program
from .woven_programs import run_woven, woven

Made = tuple[Path, list[ScopeFile], list[str]]
Catalogue = Callable[[str], dict[str, Inspected | str]]
MARKS = ["binned", "warped", "placed", "deposited"]
# Loop that is refused → why.
REFUSED = {
    "twice": "both touch",
    "drifting": "is overwritten at",
    "cascaded": "is overwritten at",
    "askew": "is overwritten at",
}
# What the first argument changes → the loops that notice.
NOTICED: dict[str, set[str]] = {
    "same": set(),
    "one": {"binned", "placed"},
    "scale": {"binned"},
    "place": {"warped"},
    "moved": set(),  # sums may be of anything
}


@pytest.fixture(scope="module")
def loops(inspected: Catalogue) -> list[Inspected]:
    found = [inspected("computed")[mark] for mark in MARKS]
    return [item for item in found if not isinstance(item, str)]


@pytest.fixture(scope="module")
def made(loops: list[Inspected]) -> Made:
    return woven(loops, [item.schedule(item.random(place)) for place, item in enumerate(loops)], name="computed")


def test_verdicts(inspected: Catalogue, loops: list[Inspected]) -> None:
    assert [item.mark for item in loops] == MARKS
    assert all(item.inspection.verdicts[item.region].movable for item in loops)
    assert all(item.scope != item.region for item in loops)


@pytest.mark.parametrize("mark", REFUSED)
def test_near_misses(inspected: Catalogue, mark: str) -> None:
    item = inspected("computed")[mark]
    reason = item if isinstance(item, str) else item.inspection.verdicts[item.region].reason
    assert REFUSED[mark] in reason
    assert isinstance(item, str) or not item.inspection.verdicts[item.region].movable


@pytest.mark.parametrize("mode", NOTICED)
def test_other_input(program: Callable[[str], Program], loops: list[Inspected], made: Made, mode: str) -> None:
    subject = program("computed")
    native = run([subject.compiled.native, mode], folder=subject.folder, name=f"native-{mode}", limits=Limits(HUNG))
    ran = run_woven(subject, made, argv=[mode])
    assert ran.code == native.returncode == 0
    assert ran.stdout == native.stdout.read_bytes()
    refused = {item.mark for item in loops if ran.report["scopes"][str(item.scope)]["refused"]}
    assert refused == NOTICED[mode]


def test_jobs_meet_in_the_lines_that_they_reach(loops: list[Inspected]) -> None:
    """Two jobs share a datum of the graph exactly when their addresses share a line; jobs of one follow each other."""
    item = next(item for item in loops if item.mark == "binned")
    graph = item.graph.graph
    assert item.graph.line_spaces == 1
    np.testing.assert_array_equal(np.diff(graph.offsets), 1)
    accesses = item.inspection.accesses
    (update,) = (access for access in accesses.inside(item.region) if access.site.operator)
    found = accesses.addresses(update)
    assert found is not None and update.object is not None
    lines = (found[0] - update.object.base) // 64
    np.testing.assert_array_equal(graph.data, lines)
    ordered = lines[order(graph, "rcm").jobs]
    assert np.count_nonzero(np.diff(ordered)) == np.unique(lines).size - 1


def test_a_place_is_four_pixels(loops: list[Inspected]) -> None:
    """Pixels side by side lie on one line, or on two; those below on others."""
    item = next(item for item in loops if item.mark == "warped")
    pins = np.diff(item.graph.graph.offsets)
    assert pins.min() == 0 and 4 <= pins.max() <= 8


def test_places_that_move_are_guessed(loops: list[Inspected]) -> None:
    """Jobs are ordered by the lines that they reached first, which no guard asks for; their own records move along."""
    item = next(item for item in loops if item.mark == "deposited")
    accesses, graph = item.inspection.accesses, item.graph.graph
    (update,) = (access for access in accesses.inside(item.region) if access.site.operator)
    assert accesses.addresses(update) is None and update.object is not None
    jobs, addresses = guess_addresses(accesses, update, item.region)
    np.testing.assert_array_equal(jobs, np.arange(graph.n_jobs))
    np.testing.assert_array_equal(graph.data, (addresses - update.object.base) // 64)
    assert sorted(use.mode for use in item.inspection.plan.uses[item.region]) == ["direct", "moved", "old"]
    assert not item.guarded[0].loads
