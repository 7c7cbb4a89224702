"""When a layout is left for what is done beside the sweeps, by a clock of the test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.runtime.pauses import LATER, WATCHED, WITHOUT, Pause

MAIN, SCOPE = 1, 0


class Program:
    """A scope whose iterations take so long: its counters, and the time."""

    def __init__(self, gain: float) -> None:
        self.now = 0
        self.times = SimpleNamespace(calls=0, declined=0, nanoseconds=0)
        self.tables: Any = SimpleNamespace(
            states={MAIN: self.times}, probes={MAIN: 0}, in_force={SCOPE: 0}, depth={SCOPE: 1}
        )
        self.pause = Pause(SCOPE, MAIN, (MAIN,), 3.0, gain, clock=lambda: self.now)

    def enter(self) -> None:
        self.pause.in_force(self.tables, [], [])

    def run(self, count: int, sweep: int, beside: int, *, new: bool = True) -> None:
        for _ in range(count):
            self.now += sweep + beside
            if new:
                self.times.calls += 1
                self.times.nanoseconds += sweep
            else:
                self.times.declined += 1


def test_what_gains_more_than_all_that_is_beside_it_stays() -> None:
    program = Program(gain=2.0)
    program.enter()
    for watched in (WATCHED, WATCHED * LATER):
        assert program.tables.probes[MAIN] == watched + 1
        program.run(watched, sweep=10, beside=20)
        assert not program.pause.outweighed(program.tables)
    program.run(7, sweep=10, beside=21)
    assert program.pause.outweighed(program.tables)


@pytest.mark.parametrize(("before", "slower"), [(30, True), (32, False)])
def test_two_iterations_without_the_layout_decide(before: int, slower: bool) -> None:
    program = Program(gain=1.0)
    program.enter()
    program.run(WATCHED, sweep=10, beside=21)
    assert program.pause.outweighed(program.tables)
    program.pause.end(program.tables)
    program.pause.try_without(program.tables)
    assert program.pause.without and program.tables.probes[MAIN] == WITHOUT + 1
    program.run(WITHOUT, sweep=before, beside=0, new=False)
    assert program.pause.slower(program.tables) == slower
    assert not program.pause.without
    program.enter()
    assert program.tables.probes[MAIN] == WATCHED * LATER + 1  # later


def test_nothing_is_watched_where_nothing_looks_records_up() -> None:
    program = Program(gain=0.0)
    program.enter()
    program.run(9, sweep=1, beside=100)
    assert program.tables.probes[MAIN] == 0 and not program.pause.outweighed(program.tables)


def test_a_call_that_has_come_to_the_scope_again_decides_nothing() -> None:
    program = Program(gain=1.0)
    program.enter()
    program.run(WATCHED, sweep=1, beside=100)
    program.tables.depth[SCOPE] = 2
    assert not program.pause.outweighed(program.tables)
    assert program.tables.probes[MAIN] > 0
