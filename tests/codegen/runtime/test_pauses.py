"""When a layout is left for what is done beside the sweeps, or for its exits, by a clock of the test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.runtime.pauses import COSTLY, LATER, SPARED, WATCHED, WITHOUT, Pause

MAIN, SCOPE = 1, 0


class Program:
    """A scope whose iterations take so long: its counters, and the time."""

    def __init__(self, gain: float) -> None:
        self.now = 0
        self.times = SimpleNamespace(calls=0, declined=0, nanoseconds=0, original_nanoseconds=0)
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
                self.times.original_nanoseconds += sweep

    def stay(self, calls: int, copies: int) -> int:
        """The layout comes into force and an exit ends it; sweeps until it is asked for again, 0: not any more."""
        self.pause.in_force(self.tables, [], [], copies // 2)
        self.run(calls, sweep=10, beside=0)
        self.pause.end(self.tables)
        self.pause.exit(self.tables, copies - copies // 2)
        return int(self.tables.probes[MAIN])


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


def test_after_exits_that_pay_the_next_region_asks() -> None:
    program = Program(gain=0.0)  # copies that pay after three sweeps
    assert [program.stay(calls, copies=30) for calls in (3, 7, 1, 5)] == [1, 1, 1, 1]  # one early exit is no rule


def test_after_two_exits_that_came_too_early_the_original_order_runs_for_long() -> None:
    program = Program(gain=0.0)
    assert [program.stay(2, copies=30) for _ in range(3)] == [1, 2 * SPARED + 1, 3 * SPARED + 1]
    assert program.stay(6, copies=30) == 1  # that one paid


def test_a_layout_whose_copies_cost_too_much_is_given_up() -> None:
    program = Program(gain=0.0)
    asked = [program.stay(0, copies=30) for _ in range(4)]
    assert asked[-2:] == [9 * SPARED + 1, 0] and program.pause.too_costly == COSTLY


def test_what_is_measured_tells_that_exits_pay() -> None:
    """A sweep in the original order takes longer than in the run that was traced: copies pay after one, not three."""
    program = Program(gain=0.0)
    asked = [program.stay(1, copies=30) for _ in range(2)]
    program.run(asked[-1] - 1, sweep=50, beside=0, new=False)
    assert [program.stay(1, copies=30) for _ in range(9)] == [1] * 9


def test_what_is_measured_tells_that_exits_do_not_pay() -> None:
    """A sweep in the original order takes hardly longer than in the new one: copies pay after thirty, not three."""
    program = Program(gain=0.0)
    asked = [program.stay(4, copies=30)]
    program.run(1, sweep=11, beside=0, new=False)
    asked += [program.stay(4, copies=30) for _ in range(2)]
    assert asked == [1, 1, 2 * 26 * SPARED + 1]
