"""Whether a result is kept, by the times of whole runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracecut.pipeline import steps
from tracecut.pipeline.artefact import Artefact
from tracecut.pipeline.stages.accept import HOPELESS, ROUNDS, Weighed, beyond_doubt, hopeless, weigh
from tracecut.pipeline.stages.capture import Traced
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.stages.weave import Run

pytestmark = pytest.mark.quick


class Clock:
    """Runs that take what is written here, one after the other; the last time again and again."""

    def __init__(self, original: list[float], optimized: dict[int, list[float]]) -> None:
        self.original, self.optimized = list(original), {count: list(times) for count, times in optimized.items()}
        self.runs: list[int] = []

    def weigh(self) -> Weighed:
        first = {count: self.next(times) for count, times in self.optimized.items()}
        return weigh(self.next(self.original), first, self.run_original, self.run_optimized, min_gain=0.02)

    def run_original(self) -> float:
        self.runs.append(0)
        return self.next(self.original)

    def run_optimized(self, threads: int) -> float:
        self.runs.append(threads)
        return self.next(self.optimized[threads])

    @staticmethod
    def next(times: list[float]) -> float:
        return times.pop(0) if len(times) > 1 else times[0]


def test_a_clear_gain_takes_one_more_run_of_the_original() -> None:
    clock = Clock([2.0], {1: [1.0], 2: [0.7]})
    assert clock.weigh() == Weighed(2, 2.0, 0.7, pays=True)
    assert clock.runs == [0]


def test_a_clear_loss_does_too() -> None:
    clock = Clock([2.0], {1: [3.0], 2: [2.5]})
    assert clock.weigh() == Weighed(2, 2.0, 2.5, pays=False, slower=(1, 2))
    assert clock.runs == [0]


def test_an_original_that_was_slow_by_chance_is_found_out() -> None:
    clock = Clock([3.0, 2.0], {1: [2.4]})
    assert not clock.weigh().pays


def test_what_is_close_runs_again() -> None:
    clock = Clock([2.0], {1: [1.9, 1.9], 2: [2.6]})
    assert clock.weigh() == Weighed(1, 2.0, 1.9, pays=True, slower=(2,))
    assert clock.runs == [0] + [1, 0] * ROUNDS


@pytest.mark.parametrize(
    "optimized",
    [
        [1.99],  # less than two per cent
        [1.9, 2.0, 2.0, 2.0],  # one lucky run
        [2.1, 1.97, 2.1, 2.1],
    ],
)
def test_in_doubt_the_program_stays(optimized: list[float]) -> None:
    assert not Clock([2.0], {1: optimized}).weigh().pays


def test_a_result_that_was_slow_by_chance_gets_another_chance() -> None:
    assert Clock([2.0], {1: [2.1, 1.6, 1.6, 1.6]}).weigh().pays


def test_two_runs_without_a_gain_end_the_comparison() -> None:
    clock = Clock([2.0], {1: [2.1, 2.0]})
    assert not clock.weigh().pays
    assert clock.runs == [0, 1, 0]


def test_without_doubt_nothing_runs_again() -> None:
    runs = {1: 0.9, 2: 0.5}

    def run(*_: int) -> float:
        raise AssertionError("nothing runs again")

    assert weigh(2.0, runs, run, run, min_gain=0.02, certain=True) == Weighed(2, 2.0, 0.5, pays=True)


@pytest.mark.parametrize(
    ("runs", "certain"),
    [
        ([(1.0, 1.1), (0.6, 1.2)], True),
        ([(1.0, 1.1), (4.0, 4.0)], True),  # on two threads it does not pay, as clearly
        ([(1.0, 1.1), (1.9, 1.9)], False),
        ([(1.0, 1.7)], False),  # as much work in half the time: the original may have waited for other programs
        ([(1.3, 1.1)], False),
        ([(3.9, 3.9)], False),
    ],
)
def test_a_run_of_each_tells_enough(runs: list[tuple[float, float]], certain: bool) -> None:
    assert beyond_doubt((2.0, 2.0), runs) is certain


def test_fewer_threads_are_taken_when_they_are_as_good() -> None:
    assert Clock([2.0], {1: [1.0], 2: [1.0]}).weigh().threads == 1
    # The second number of threads is close: it runs again too, and turns out to be better.
    found = Clock([1.1], {1: [1.0], 2: [1.05, 0.8]}).weigh()
    assert found == Weighed(2, 1.1, 0.8, pays=True)


def test_what_is_far_slower_is_hopeless_on_any_number_of_threads() -> None:
    assert hopeless(2.0, [2.0 * HOPELESS, 3.0]) and not hopeless(2.0, [1.9 * HOPELESS, 3.0])
    clock = Clock([2.0, 2.5], {1: [2.0 * HOPELESS], 2: [3.0]})
    assert not clock.weigh().pays


@pytest.mark.parametrize(
    ("seconds", "force", "ran"),
    [
        ((3.0, 2.9), False, ["threads 1", "threads 2"]),
        ((3.0, 1.2), False, ["threads 1", "threads 2", "original", "native"]),
        ((3.0, 2.9), True, ["threads 1", "threads 2", "original"]),
    ],
)
def test_the_original_runs_again_only_where_something_may_pay(
    seconds: tuple[float, float], force: bool, ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs are compared all the same."""
    found = []
    printed = tmp_path / "stdout"
    printed.write_bytes(b"1 2 3")
    native: Any = SimpleNamespace(undisturbed_seconds=2.0, cpu_seconds=2.0, stdout=printed)

    def run(artefact: Artefact, threads: int, *, original: bool = False) -> Run:
        found.append("original" if original else f"threads {threads}")
        return Run(2.0 if original else seconds[threads - 1], 2.0, b"1 2 3", {"regions": {}, "scopes": {}})

    def again(*_: Any) -> Any:
        found.append("native")
        return native

    monkeypatch.setattr(steps, "_run", run)
    monkeypatch.setattr(steps, "_original", again)
    monkeypatch.setattr(steps, "_counts", lambda _: [1, 2])
    monkeypatch.setattr(steps, "_sealed", lambda artefact: artefact)
    nothing: Any = None
    traced = Traced(nothing, {}, native)
    progress: Any = SimpleNamespace(detail=lambda _: None)
    settings = Settings(("a.c",), force=force)
    made = steps.accept_result(
        Artefact(settings, progress, nothing, tmp_path, tmp_path, native=native, captured=traced)
    )
    assert found == ran and bool(made.runs) == ("original" in ran)
