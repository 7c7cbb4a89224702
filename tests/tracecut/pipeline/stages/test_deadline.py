"""`--budget`: what is still begun when it is spent, on a clock that the test turns."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracecut.pipeline.stages import tune
from tracecut.pipeline.stages.accept import weigh
from tracecut.pipeline.stages.deadline import GRACE, Deadline
from tracecut.pipeline.stages.settings import Settings

pytestmark = pytest.mark.quick


class Clock:
    """A clock that only the test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_that_is_left(clock: Clock) -> None:
    deadline = Deadline(30.0, 100.0, clock)
    clock.now = 110.0
    assert (deadline.left, deadline.spent) == (20.0, False)
    assert deadline.share_ends(0.3, 0.4) == 125.0
    assert deadline.limit(600.0) == 20.0 + GRACE + 15.0
    assert deadline.limit(5.0) == 5.0
    clock.now = 131.0
    assert deadline.spent
    assert deadline.share_ends(0.3, 0.4) == 131.0
    assert deadline.limit(600.0) == GRACE + 15.0
    assert deadline.why == "the budget of 30 s for the whole job was spent"


def test_without_a_budget_nothing_ends(clock: Clock) -> None:
    deadline = Deadline(clock=clock)
    assert (deadline.left, deadline.spent, deadline.share_ends(1.0, 1.0)) == (math.inf, False, None)
    assert deadline.limit(600.0) == 600.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(("seconds", "tuned"), [(None, [1, 2, 3]), (25.0, [1, 2, 3]), (15.0, [1, 2]), (0.5, [1])])
def test_loops_are_tuned_until_the_budget_is_spent(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, seconds: float | None, tuned: list[int]
) -> None:
    """Each of three loops takes ten seconds; the first is always tuned."""
    ends = []

    def tuned_one(
        settings: Any, analysis: Any, hot: Any, spec: Any, deadline: Any, say: Any, early: Any
    ) -> tune.RegionResult:
        ends.append(spec["deadline"])
        clock.now += 10.0
        data = {"class": "parallel", "reason": "", "candidates": []}
        return tune.RegionResult(hot, hot.loop, data, refused="no order was faster")

    monkeypatch.setattr(tune, "_tune_one", tuned_one)
    monkeypatch.setattr(tune, "_kept_by_its_text", lambda *_: None)
    monkeypatch.setattr(tune, "called_from", lambda *_: None)
    monkeypatch.setattr(tune, "layout_scopes", lambda *_: ([], {}))
    monkeypatch.setattr(tune, "region_spec", lambda settings, analysis, traced, loop, *_: {"region": loop})
    hots: Any = [
        SimpleNamespace(loop=loop, inside=(), share=share, captured=True, verdict=None)
        for loop, share in ((1, 0.5), (2, 0.3), (3, 0.2))
    ]
    nothing: Any = None
    deadline = Deadline(seconds, 100.0, clock)
    found = tune.tune_regions(nothing, nothing, nothing, hots, Path(), (), lambda _: None, deadline)
    assert [result.loop for result in found] == [1, 2, 3]
    assert [result.loop for result in found if "candidates" in result.data] == tuned
    for result in found[len(tuned) :]:
        assert (
            result.refused
            == f"its inspection was not done when the budget of {seconds:g} s for the whole job was spent"
        )
    if seconds is not None:
        assert ends[0] == 100.0 + 0.5 * seconds


@pytest.mark.parametrize(("loops", "given", "stopped"), [((1, 2), [True, False], False), ((), [], True)])
def test_the_first_loop_gets_the_worker_that_waits(
    monkeypatch: pytest.MonkeyPatch, loops: tuple[int, ...], given: list[bool], stopped: bool
) -> None:
    """Without a loop it is ended."""
    workers, ended = [], []

    def tuned_one(settings: Any, analysis: Any, hot: Any, spec: Any, deadline: Any, say: Any, early: Any) -> Any:
        workers.append(early is not None)
        return tune.RegionResult(hot, hot.loop, {"class": "parallel"}, refused="no order was faster")

    monkeypatch.setattr(tune, "_tune_one", tuned_one)
    monkeypatch.setattr(tune, "_kept_by_its_text", lambda *_: None)
    monkeypatch.setattr(tune, "called_from", lambda *_: None)
    monkeypatch.setattr(tune, "layout_scopes", lambda *_: ([], {}))
    monkeypatch.setattr(tune, "region_spec", lambda settings, analysis, traced, loop, *_: {"region": loop})
    hots: Any = [SimpleNamespace(loop=loop, inside=(), share=0.5, captured=True, verdict=None) for loop in loops]
    nothing: Any = None
    early: Any = SimpleNamespace(stop=lambda: ended.append(True))
    tune.tune_regions(nothing, nothing, nothing, hots, Path(), (), lambda _: None, early=early)
    assert (workers, bool(ended)) == (given, stopped)


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, True),
        ({"force": True}, False),
        ({"method": "rcm"}, False),
        ({"loop_budget": 1.0}, False),
        ({"k": 4}, False),
        ({"region": "a.c:3"}, False),
        ({"gpu": "h200"}, False),
        ({"compare": ("rcm",)}, False),
    ],
)
def test_loops_that_are_not_worth_their_time_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], left: bool
) -> None:
    """With all that is in them, unless something was asked for that needs them."""
    tried = []

    def tuned_one(settings: Any, analysis: Any, hot: Any, spec: Any, *_: Any) -> tune.RegionResult:
        tried.append((spec["region"], spec.get("worth")))
        return tune.RegionResult(hot, hot.loop, {"class": "rejected", "passed_over": True}, refused="no order pays")

    monkeypatch.setattr(tune, "_tune_one", tuned_one)
    monkeypatch.setattr(tune, "_kept_by_its_text", lambda *_: None)
    monkeypatch.setattr(tune, "called_from", lambda *_: None)
    monkeypatch.setattr(tune, "layout_scopes", lambda *_: ([9, 1], {}))
    monkeypatch.setattr(tune, "executed_work", lambda *_: {9: 0.8, 1: 0.5})
    monkeypatch.setattr(tune, "region_spec", lambda settings, analysis, traced, loop, *_: {"region": loop})
    hots: Any = [SimpleNamespace(loop=1, inside=(2, 3), share=0.5, captured=True, verdict=None)]
    nothing: Any = None
    traced: Any = SimpleNamespace(profile=None)
    asked = Settings(("a.c",), **settings)
    tune.tune_regions(asked, nothing, traced, hots, Path(), (), lambda _: None, seconds=2.0)
    assert tried == [(1, {"seconds": 2.0, "share": 0.5, "around": 0.8} if left else None)]


def test_close_times_are_not_measured_again_without_time() -> None:
    def run(*_: int) -> float:
        runs.append(1)
        return 1.0

    for patience, expected in ((60.0, 7), (0.0, 1)):
        runs: list[int] = []
        weigh(1.0, {1: 0.97}, run, run, min_gain=0.02, patience=patience)
        assert len(runs) == expected
