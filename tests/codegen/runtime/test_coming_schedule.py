"""A schedule that is made beside the running program: it changes nothing but the time that the program takes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.runtime import coming_schedule, light_host
from tracecut.codegen.runtime.coming_schedule import LEAST, SHARE, TRIED, ComingSchedule, calls_until_asked
from tracecut.codegen.runtime.inspection_gain import why_not
from tracecut.codegen.runtime.light_host import LightHost
from tracecut.codegen.runtime.listed_scope import ListedScope
from tracecut.codegen.runtime.reinspect import inspect_beside
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.beside import Beside
from tracecut.support.process.runner import Limits, run
from tracecut.tracer.runtime.hooks import RegionState

from tracecut.pipeline.stages.tune import scope_exits

from ...waiting import HUNG
from .. import woven_programs
from ..harness import Inspected, Program
from ..woven_programs import Ran, run_woven, woven

STEPS = 40
FREE = {"original": 5.0, "optimized": 0.0, "inspect": 0.0, "copy": 0.0, "sweeps": 1.0}
Made = tuple[Path, list[ScopeFile], list[str]]


@pytest.fixture(scope="module")
def item(program: Callable[[str], Program]) -> Inspected:
    """The edges over all steps, with what happens in one of them as an exit."""
    subject = program("beside")
    region = subject.loop("beside")
    scope = subject.scopes_of(region)[0]
    for exits, _ in scope_exits(subject.compiled.analysis, subject.traced, scope, region):
        try:
            found = subject.inspect_in("beside", region, scope, exits)
        except UnsupportedError:
            continue
        if found.inspection.gathered(region) == (2, 0):
            return found
    raise AssertionError("nothing can be moved over all steps")


@pytest.fixture(scope="module")
def made(item: Inspected) -> Made:
    library, scopes, names = woven([item], [item.schedule(item.random(1))], name="beside")
    return library, [replace(scope, costs=FREE) for scope in scopes], names


@pytest.fixture(params=["light", "full"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which host looks at the loops: the light one alone, or the full one that takes over from it at new input.

    It does where the listing does not say where all pointers lie.
    """
    if request.param == "full":
        monkeypatch.setattr(woven_programs, "first_look", lambda *given: {**first_look(*given), "complete": False})
        monkeypatch.setattr(LightHost, "_adopt", lambda *_: pytest.fail("the light host has put it in force"))
    return str(request.param)


def waits(poll: Callable[[Beside], bytes | str | None]) -> Callable[[Beside], bytes | str]:
    """As `Beside.poll`, when it is there."""

    def found(beside: Beside) -> bytes | str:
        while (made := poll(beside)) is None:
            time.sleep(0.005)
        return made

    return found


@pytest.fixture
def asked_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has the new schedule asked for after so many sweeps, and waited for then."""
    monkeypatch.setattr(light_host, "LOADING", 0.0)
    monkeypatch.setattr(light_host, "PRICES", 0.0)
    monkeypatch.setattr(coming_schedule, "TRIED", 10 * STEPS)  # so short loops take as long as it happens
    poll = Beside.poll

    def after(sweeps: int) -> None:
        monkeypatch.setattr(coming_schedule, "calls_until_asked", lambda *_: sweeps)
        monkeypatch.setattr(Beside, "poll", waits(poll))

    return after


def compared(subject: Program, made: Made, *words: str, beside: Any = inspect_beside) -> Ran:
    """A run that does what the original program does."""
    ran = run_woven(subject, made, argv=words, beside=beside)
    native = run([subject.compiled.native, *words], folder=subject.folder, name="native", limits=Limits(HUNG))
    assert (ran.code, ran.stdout) == (native.returncode, native.stdout.read_bytes())
    return ran


def counts(ran: Ran, item: Inspected) -> tuple[int, int]:
    """(sweeps in a new order, sweeps in the original one)."""
    found = ran.report["regions"][str(item.region)]
    return found["calls"], found["declined"]


@pytest.mark.parametrize("sweeps", [1, 2, 7, STEPS - 2])
def test_it_comes_into_force_between_any_two_sweeps(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str, sweeps: int
) -> None:
    check_switch(item, made, asked_after, sweeps)


@pytest.mark.long
@pytest.mark.parametrize("sweeps", range(1, STEPS - 1))
def test_it_comes_into_force_between_all_two_sweeps(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str, sweeps: int
) -> None:
    check_switch(item, made, asked_after, sweeps)


def check_switch(item: Inspected, made: Made, asked_after: Callable[[int], None], sweeps: int) -> None:
    asked_after(sweeps)
    ran = compared(item.program, made, "other")
    assert "inspected anew beside the program" in ran.stderr
    assert counts(ran, item) == (STEPS - 1 - sweeps, 1 + sweeps)  # it begins before the second sweep


def test_the_program_does_not_wait_for_it(
    item: Inspected, made: Made, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> Iterable[bytes]:
        part = item.program.folder / "inspector.part"
        part.write_text(str(os.getpid()))
        part.rename(item.program.folder / "inspector")  # it may end at any moment
        while True:
            time.sleep(1)

    monkeypatch.setattr(light_host, "LOADING", 0.0)
    monkeypatch.setattr(light_host, "PRICES", 0.0)
    monkeypatch.setattr(coming_schedule, "TRIED", 10 * STEPS)  # so short loops take as long as it happens
    monkeypatch.setattr(coming_schedule, "calls_until_asked", lambda *_: 1)
    for how in ("other", "exit", "kill", "exec"):
        ran = compared(item.program, made, how, "20", beside=never)
        assert "beside" not in ran.stderr
        if ran.report["regions"]:
            assert counts(ran, item) == (0, STEPS if how == "other" else 21)
        mark = item.program.folder / "inspector"
        if mark.exists():  # it had got so far when the program ended
            end = time.monotonic() + HUNG
            while _alive(int(mark.read_text())) and time.monotonic() < end:
                time.sleep(0.02)
            assert not _alive(int(mark.read_text()))
            mark.unlink()


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_children_of_the_program_are_its_own(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str
) -> None:
    for sweeps in (1, 10, 30):
        asked_after(sweeps)
        ran = compared(item.program, made, "fork", "20")
        assert ran.stdout.startswith(b"1 7 -1\n")
        assert counts(ran, item) == (STEPS - 1 - sweeps, 1 + sweeps)


def test_a_child_that_goes_on_is_left_alone(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str
) -> None:
    """It began while the schedule was made, and runs the original order to its end; the program gets the new one."""
    for sweeps in (10, 30):
        asked_after(sweeps)
        ran = compared(item.program, made, "both", "20")
        assert len(set(ran.stdout.split())) == 1 and len(ran.stdout.split()) == 2
        assert counts(ran, item) == (STEPS - 1 - sweeps, 1 + sweeps)


def test_input_that_changes_while_it_is_made_is_met_by_the_guard(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str
) -> None:
    asked_after(20)
    ran = compared(item.program, made, "rewrite", "10")
    assert ran.stderr.count("inspected anew beside the program") == 1
    assert "the original order runs" in ran.stderr and counts(ran, item) == (0, STEPS)
    ran = compared(item.program, made, "rewrite", "30")
    assert counts(ran, item) == (10, STEPS - 10)  # from the 22nd sweep on, to the 31st, behind which the input changes


def test_what_fails_beside_the_program_is_told(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str
) -> None:
    def refused(*_: object) -> Iterable[bytes]:
        raise UnsupportedError("nothing is known of it")

    def killed(*_: object) -> Iterable[bytes]:
        os.kill(os.getpid(), 9)
        return ()

    asked_after(3)
    for how, told in ((refused, "nothing is known of it"), (killed, "it was ended")):
        ran = compared(item.program, made, "other", beside=how)
        assert f"it was not inspected anew: {told}" in ran.stderr
        assert counts(ran, item) == (0, STEPS)


def test_what_would_come_too_late_is_not_made(
    item: Inspected, made: Made, asked_after: Callable[[int], None], by: str
) -> None:
    library, scopes, names = made
    slow = [replace(scope, costs={**FREE, "inspect": 1e9}) for scope in scopes]
    asked_after(3)
    ran = compared(item.program, (library, slow, names), "other")
    assert "an inspection would pay after" in ran.stderr and counts(ran, item) == (0, STEPS)


def test_what_comes_too_late_to_pay_for_the_copies_is_left(
    item: Inspected, made: Made, asked_after: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def expects(_: ListedScope, per_call: float, sweeps: float, **how: bool) -> str | None:
        return "too late" if how.get("made") and sweeps < 7 else None

    monkeypatch.setattr(ListedScope, "expects", expects)
    for left, used in ((11, 11), (7, 7), (6, 0)):
        asked_after(STEPS - 1 - left)
        ran = compared(item.program, made, "other")
        assert "inspected anew beside the program" in ran.stderr and counts(ran, item) == (used, STEPS - used)
        assert ("too late" in ran.stderr) == (used == 0)


def test_what_a_new_order_has_to_gain() -> None:
    costs = {"original": 10.0, "optimized": 2.0, "inspect": 400.0, "copy": 16.0}
    assert why_not(costs, 100, 2.7, 1000.0, made=True) is None  # a sweep saves 800 ns, the copies cost 1.3 times 1600
    assert why_not(costs, 100, 2.5, 1000.0, made=True) == "an inspection would pay after 3 sweeps, 2 are expected"
    assert why_not(costs, 100, 42.7, 1000.0, beside=True) is None  # 40 sweeps pass until it is there
    assert why_not(costs, 100, 42.5, 1000.0, beside=True) is not None
    assert why_not(costs, 100, 67.7, 1000.0) is None  # stopped for it: 1.3 times 40,000 ns in addition
    assert why_not(costs, 100, 67.5, 1000.0) is not None
    assert why_not(costs, 100, 1e9, 200.0, made=True) == "the original order is as fast as a new one"


@pytest.mark.parametrize(("nanoseconds", "slower"), [(299, False), (301, True)])
def test_a_new_order_that_is_slower_is_left(nanoseconds: int, slower: bool) -> None:
    said: list[str] = []
    probes = [0]
    coming = ComingSchedule(4, 0, True, probes, said.append)
    coming.per_call = 100.0
    assert not coming.slower(RegionState())  # none is tried out
    coming.try_out(RegionState(calls=5, nanoseconds=1000))
    assert probes == [TRIED + 1]  # the call that asks has not run yet
    later = RegionState(calls=8, nanoseconds=1000 + nanoseconds)
    assert coming.slower(later) == slower
    assert said == (["scope 4: the new order takes 1.00 times as long as the original one"] if slower else [])
    assert not coming.slower(later)  # once


@given(st.floats(0, 1e4), st.floats(0.1, 1e12))
def test_how_often_it_is_asked_for(seconds: float, per_call: float) -> None:
    """Between two questions lie a twentieth of the time until now, but no less than a sweep and five milliseconds."""
    calls = calls_until_asked(seconds, per_call)
    wait = max(LEAST, SHARE * seconds) * 1e9
    assert calls == 1 or calls == coming_schedule.MOST or (calls - 1) * per_call < wait * (1 + 1e-9)
    assert calls == coming_schedule.MOST or calls * max(1.0, per_call) >= wait * (1 - 1e-9)
    assert calls == math.floor(calls)
