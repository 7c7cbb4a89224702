"""Choosing among measured orders: in turns, by what was measured for that, apart from what is reported."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tracecut.codegen.tuning import interleaved_timing
from tracecut.codegen.tuning.interleaved_timing import best_of, drop_slow, look_again, measure_apart
from tracecut.codegen.tuning.trial import Candidate

pytestmark = pytest.mark.quick

SUBJECT: Any = None


def candidate(method: str, one: float | None, every: float | None = None, **more: Any) -> Candidate:
    """Measured on one thread and, where given, on two."""
    found = Candidate(method, region_ms=one, region_all_ms=every, copy_ms=0.0, inspect_ms=1.0, **more)
    found.variants = {count: "job" for count, ms in ((1, one), (2, every)) if ms is not None}
    return found


class Clock:
    """Answers of `time_again`, method by method, and who was asked in which order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: dict[str, dict[int, list[float]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        monkeypatch.setattr(interleaved_timing, "time_again", self.time_again)

    def time_again(self, _: Any, item: Candidate) -> dict[int, float]:
        self.asked.append(item.method)
        return {count: self.answers[item.method][count].pop(0) for count in item.variants}


def test_the_code_that_is_kept_goes_with_the_threads_that_are_faster_in_the_end() -> None:
    """Turns may change which number of threads is the faster: the schedule and the code change with it."""
    found = candidate("rcm", 5.0, 4.9)
    found.variants, found.schedules = {1: "a", 4: "b"}, {1: SUBJECT, 4: SUBJECT}
    assert (found.fastest, found.variant) == (4, "b")
    found.region_ms = 4.0
    assert (found.fastest, found.variant) == (1, "a")
    found.region_all_ms = None
    assert (found.fastest, found.variant) == (1, "a")


def test_the_cheapest_is_taken_and_of_those_alike_the_first_to_be_found() -> None:
    original, quick = candidate("original", 10.0), candidate("rcm", 5.0, 3.0)
    slow = candidate("metis", 4.95, 2.99)
    slow.inspect_ms = 50.0
    assert best_of([original, quick, slow], 8.0) is quick
    slow.region_all_ms = 2.5
    assert best_of([original, quick, slow], 8.0) is slow
    assert best_of([original, quick, slow], 8.0, alone=True) is quick
    slow.copy_ms = 8.0
    assert best_of([original, quick, slow], 8.0) is quick, "copies count, shared out over the sweeps"


def test_what_is_only_compared_or_did_not_run_is_never_taken() -> None:
    original, failed = candidate("original", 10.0), candidate("rcm", None)
    assert best_of([original, failed, candidate("metis", 1.0, compared=True)], 8.0) is original
    assert best_of([original, failed], 8.0, alone=True) is original


@pytest.mark.parametrize(("before", "asked"), [(9.9, ["original", "rcm"] * 2), (10.1, [])])
def test_an_original_that_may_have_been_disturbed_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, before: float, asked: list[str]
) -> None:
    original, good = candidate("original", before), candidate("rcm", 5.0)
    clock = Clock(monkeypatch, {"original": {1: [5.0, 5.0]}, "rcm": {1: [5.0, 5.0]}})
    look_again(SUBJECT, [original, good], 8.0)
    assert clock.asked == asked
    assert (best_of([original, good], 8.0) is original) == bool(asked)


def test_a_second_look_rights_what_others_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order that was measured in a bad moment takes turns with the one that was not; those far off have none."""
    monkeypatch.setattr(interleaved_timing, "ROUNDS", 2)
    original, far = candidate("original", 9.0), candidate("random", 50.0, 30.0)
    good, bad = candidate("rcm", 5.0, 3.0), candidate("degree-z", 6.4, 3.8)
    answers = {"rcm": {1: [5.5, 5.1], 2: [3.2, 3.1]}, "degree-z": {1: [4.0, 6.5], 2: [2.5, 2.6]}}
    clock = Clock(monkeypatch, {"original": {1: [8.5, 9.5]}, **answers})
    every = [original, good, bad, far]
    assert best_of(every, 8.0) is good
    look_again(SUBJECT, every, 8.0)
    assert clock.asked == ["original", "rcm", "degree-z"] * 2, "the original too: the gain over it is reported"
    assert (good.region_ms, good.region_all_ms, bad.region_ms, bad.region_all_ms) == (5.0, 3.0, 4.0, 2.5)
    assert original.region_ms == 8.5 and best_of(every, 8.0) is bad


@pytest.mark.parametrize(
    ("times", "rounds"),
    [
        ([5.0, 5.1, 5.2], 2),
        ([5.0, 4.9, 4.9], 3),  # it became shorter by two per cent
        ([4.0, 4.0, 3.0], 2),
        ([6.0, 4.0, 3.0, 3.0], 4),
    ],
)
def test_a_round_that_shortens_no_time_is_the_last(
    monkeypatch: pytest.MonkeyPatch, times: list[float], rounds: int
) -> None:
    clock = Clock(monkeypatch, {"original": {1: [6.0] * 9}, "rcm": {1: [*times, *times[-1:] * 5]}})
    look_again(SUBJECT, [candidate("original", 6.0), candidate("rcm", 5.0)], 8.0)
    assert clock.asked == ["original", "rcm"] * rounds


@pytest.mark.parametrize(("own", "rounds"), [(0.0, 1), (math.inf, 4)])
def test_rounds_end_when_they_took_as_long_as_the_loop(
    monkeypatch: pytest.MonkeyPatch, own: float, rounds: int
) -> None:
    clock = Clock(monkeypatch, {"original": {1: [6.0] * 9}, "rcm": {1: [6.0, 4.0, 3.0, 3.0]}})
    look_again(SUBJECT, [candidate("original", 6.0), candidate("rcm", 5.0)], 8.0, own)
    assert clock.asked == ["original", "rcm"] * rounds


def test_one_that_has_no_rival_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, {})
    look_again(SUBJECT, [candidate("original", 9.0), candidate("rcm", 2.0), candidate("metis", None)], 8.0)
    assert clock.asked == []


def test_what_is_measured_apart_changes_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleaved_timing, "APART_ROUNDS", (3, 3))
    first, second, failed = candidate("original", 9.0), candidate("rcm", 2.0, 1.5), candidate("metis", None)
    clock = Clock(monkeypatch, {"original": {1: [8.0, 1.0, 9.0]}, "rcm": {1: [4.0, 3.0, 2.0], 2: [3.0, 9.0, 3.0]}})
    measure_apart(SUBJECT, [first, second, failed])
    assert clock.asked == ["original", "rcm"] * 3, "in turns"
    assert (first.apart_ms, second.apart_ms, failed.apart_ms) == ({1: 8.0}, {1: 3.0, 2: 3.0}, {})
    assert (first.region_ms, second.region_ms, second.region_all_ms) == (9.0, 2.0, 1.5)
    assert best_of([first, second, failed], 8.0) is second and math.isinf(failed.cost(8.0, alone=True))


def test_orders_that_are_far_from_the_best_are_forgotten() -> None:
    original, first, near = candidate("original", 1.0), candidate("rcm", 5.0, 3.0), candidate("metis", 5.5, 9.0)
    far = candidate("degree-z", 7.0, 4.0)
    for item in (original, first, near, far):
        item.schedules = {1: SUBJECT}
    drop_slow([original, first, near, far], 8.0)
    assert [bool(item.schedules) for item in (original, first, near, far)] == [True, True, True, False]
    assert far.fastest == 2, "what was measured stays"
    lonely = candidate("rcm", 50.0)
    lonely.schedules = {1: SUBJECT}
    drop_slow([original, lonely], 8.0)
    assert lonely.schedules, "the best of the other orders may be asked for, though the original is faster"
