"""How long it is looked for a loop that may be reordered."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracecut.pipeline.stages import tune
from tracecut.pipeline.stages.deadline import Deadline
from tracecut.pipeline.stages.looking_time import SECONDS, TIMES, LookingTime
from tracecut.pipeline.stages.settings import Settings

pytestmark = pytest.mark.quick
ALL = SECONDS + TIMES * 2.0  # of a program of two seconds


def test_each_loop_gets_its_share_and_what_others_left() -> None:
    looking = LookingTime(2.0)
    assert looking.share(0.6, 0.8) == pytest.approx(0.75 * ALL)
    looking = looking.after({"inspected": 0.25 * ALL}, gained=False)
    assert looking.share(0.2, 0.2) == looking.left == pytest.approx(0.75 * ALL)
    tried = {"inspected": 0.125 * ALL, "tried": 0.25 * ALL, "candidates": []}
    assert looking.after(tried, gained=True).left == looking.left
    assert looking.after(tried, gained=False).left == pytest.approx(0.375 * ALL)
    assert looking.after({}, gained=False) == looking
    assert looking.after({"inspected": 99.0}, gained=False).left == 0.0


@pytest.mark.parametrize(
    ("takes", "looked"),
    [
        (0.0, [(1, 0.6), (3, 0.6), (2, 1.0)]),
        (0.2, [(1, 0.6), (3, 0.4), (2, 0.6)]),
        (0.6, [(1, 0.6), (2, 0.4)]),
        (2.0, [(1, 0.6)]),
    ],
)
def test_loops_are_looked_at_until_it_is_spent(
    monkeypatch: pytest.MonkeyPatch, takes: float, looked: list[tuple[int, float]]
) -> None:
    """Two loops, one of them with another one inside, that take a part of all the time each."""
    found, given = run(monkeypatch, takes)
    assert [loop for loop, _ in given] == [loop for loop, _ in looked]
    assert [share for _, share in given] == pytest.approx([share * ALL for _, share in looked])
    assert [result.loop for result in found] == [1, 2]
    assert found[0].refused == "a reason; the program takes 2 s: --budget S looks for longer"
    assert found[0].refused == found[0].data["reason"]
    if len(looked) == 1:
        assert found[1].refused.startswith("no loop that was looked at before it gained anything, which took 40 s")


def test_what_was_tried_in_vain_is_not_there_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first loop may be reordered, and gains nothing: its orders took what the second could have had."""
    assert [loop for loop, _ in run(monkeypatch, 0.1, tried=0.5)[1]] == [1, 2]
    found, given = run(monkeypatch, 0.1, tried=0.9)
    assert [loop for loop, _ in given] == [1]
    assert found[1].refused.startswith("no loop that was looked at before it gained anything")


@pytest.mark.parametrize(("settings", "budget"), [({"force": True}, None), ({}, 60.0)])
def test_it_is_looked_for_as_long_as_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], budget: float | None
) -> None:
    found, given = run(monkeypatch, 2.0, Settings(("a.c",), **settings), Deadline(budget, 0.0, lambda: 0.0))
    assert given == [(1, None), (3, None), (2, None)]
    assert found[0].refused == "a reason"


def run(
    monkeypatch: pytest.MonkeyPatch,
    takes: float,
    settings: Settings = Settings(("a.c",)),  # noqa: B008
    deadline: Deadline = Deadline(),  # noqa: B008
    tried: float | None = None,
) -> tuple[list[tune.RegionResult], list[tuple[int, float | None]]]:
    """The results, and (loop, seconds that it might take) of what was looked at.

    `takes`, `tried`: parts of all the time that each inspection and each trial of orders takes; None: there are none.
    """
    given = []

    def tuned_one(settings: Any, analysis: Any, hot: Any, spec: Any, *_: Any) -> tune.RegionResult:
        given.append((spec["region"], spec.get("looking")))
        unfinished = spec.get("looking") is not None
        data = {"class": "rejected", "reason": "a reason", "inspected": takes * ALL, "unfinished": unfinished}
        if tried is not None:
            data |= {"class": "parallel", "candidates": [], "tried": tried * ALL}
        return tune.RegionResult(hot, spec["region"], data, refused="a reason")

    monkeypatch.setattr(tune, "_tune_one", tuned_one)
    monkeypatch.setattr(tune, "_kept_by_its_text", lambda *_: None)
    monkeypatch.setattr(tune, "called_from", lambda *_: None)
    monkeypatch.setattr(tune, "layout_scopes", lambda *_: ([], {}))
    monkeypatch.setattr(tune, "executed_work", lambda *_: {1: 0.6, 2: 0.4, 3: 0.6})
    monkeypatch.setattr(tune, "region_spec", lambda settings, analysis, traced, loop, *_: {"region": loop})
    hots: Any = [
        SimpleNamespace(loop=1, inside=(3,), share=0.6, captured=True, verdict=None),
        SimpleNamespace(loop=2, inside=(), share=0.4, captured=True, verdict=None),
    ]
    nothing: Any = None
    traced: Any = SimpleNamespace(profile=SimpleNamespace(captures={1: "one", 2: "two", 3: "three"}))
    found = tune.tune_regions(settings, nothing, traced, hots, Path(), (), lambda _: None, deadline, seconds=2.0)
    return found, given
