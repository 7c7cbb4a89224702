"""Which reason is told of a scope that was tried in several variants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
from tracecut.codegen.tuning import choose_scope
from tracecut.codegen.tuning.choose_scope import ScopeChoice
from tracecut.support.errors import ArtefactError, UnsupportedError
from tracecut.support.process.cpu_limit import CpuTime

pytestmark = pytest.mark.quick

WHY: dict[tuple[int, tuple[str, ...]], Exception] = {
    (3, ()): UnsupportedError("the loop contains a call to malloc"),
    (3, ("rare",)): UnsupportedError("the loop carries a value across iterations"),
    (3, ("rare", "rarer")): ArtefactError("what is left cannot be described"),
    (7, ()): UnsupportedError("iterations 0 and 1 both touch x"),
}


def test_it_is_that_of_the_last_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exits are around what stopped those before; one that cannot be described says nothing of the program."""

    def refuse(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> None:
        raise WHY[scope, exits]

    found = chosen(monkeypatch, refuse, {"3": [[[], 0], [["rare"], 2], [["rare", "rarer"], 3]]})
    assert found == ScopeChoice(None, {3: str(WHY[3, ("rare",)]), 7: str(WHY[7, ()])}, str(WHY[7, ()]))


@pytest.mark.parametrize(("worth", "told"), [(1, {}), (-1, {"3": "x would stay where it is: it is read"})])
def test_it_is_told_of_scopes_around_the_best_alone(
    worth: int, told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is understood may be worth less than a smaller one."""

    def understood(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        moved = worth if scope == 3 else 0
        why = "x would stay where it is: it is read"
        found = SimpleNamespace(
            verdicts={7: None},
            rank=lambda region: (True, moved),
            why_less=lambda region: why,
            enough=lambda region: False,
        )
        return captured, found

    choice = chosen(monkeypatch, understood, {})
    assert choice.chosen is not None and choice.chosen.scope == (3 if worth > 0 else 7)
    assert {str(scope): why for scope, why in choice.refused.items()} == told


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("slow", "its inspection was stopped after 0.05 s of CPU time"),
        (
            "malloc",
            "the loop contains a call to malloc; smaller scopes were not looked at, 0.05 s of CPU time were spent",
        ),
    ],
)
def test_it_is_looked_no_longer_than_it_may_take(monkeypatch: pytest.MonkeyPatch, first: str, told: str) -> None:
    """What was found until then is told."""
    looked = []

    def inspect(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> None:
        looked.append(scope)
        if first == "malloc" and scope == 3:
            raise UnsupportedError("the loop contains a call to malloc")
        while True:
            pass

    found = chosen(monkeypatch, inspect, {}, CpuTime(0.05))
    assert found.chosen is None and found.unfinished and found.reason == told
    assert looked == ([3] if first == "slow" else [3, 7])


def test_the_best_scope_that_was_found_in_time_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def inspect(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        while scope == 7:
            pass
        rank = {"rank": lambda region: (True, 1), "why_less": lambda region: "", "enough": lambda region: False}
        return captured, SimpleNamespace(verdicts={7: None}, **rank)

    found = chosen(monkeypatch, inspect, {}, CpuTime(0.05))
    assert found.chosen is not None and found.chosen.scope == 3 and found.unfinished


def chosen(
    monkeypatch: pytest.MonkeyPatch, inspect: Any, exits: dict[str, Any], time: CpuTime | None = None
) -> ScopeChoice:
    """The scope of loop 7, which lies in loop 3."""
    monkeypatch.setattr(choose_scope, "inspect_variant", inspect)
    captured: Any = SimpleNamespace(region=7, capture=SimpleNamespace(values={3: (), 7: ()}))
    return choose_scope.choose_scope(captured, {"scopes": [3, 7], "exits": exits}, {3: 1, 7: 60}, lambda: ANY, time)
