"""Which reason is told of a scope that was tried in several variants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
from tracecut.codegen.tuning import choose_scope
from tracecut.codegen.tuning.choose_scope import ScopeChoice
from tracecut.codegen.tuning.inspect_variant import RefusedByTextError
from tracecut.support.errors import ArtefactError, UnsupportedError
from tracecut.support.process.cpu_limit import CpuTime

from ...waiting import HUNG, burn

pytestmark = pytest.mark.quick

WHY: dict[tuple[int, tuple[str, ...]], Exception] = {
    (3, ()): UnsupportedError("the loop contains a call to malloc"),
    (3, ("rare",)): UnsupportedError("the loop carries a value across iterations"),
    (3, ("rare", "rarer")): ArtefactError("what is left cannot be described"),
}
VARIANTS = {"3": [[[], 0], [["rare"], 2], [["rare", "rarer"], 3]]}


def test_it_is_that_of_the_last_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exits are around what stopped those before; one that cannot be described says nothing of the program."""

    def refuse(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        if scope == 3:
            raise WHY[scope, exits]
        return captured, inspection(movable=True)

    found = chosen(monkeypatch, refuse, VARIANTS)
    assert found.chosen is not None and found.chosen.scope == 7
    assert found.refused == {3: str(WHY[3, ("rare",)])}


@pytest.mark.parametrize("understood", [True, False])
def test_a_loop_that_keeps_its_order_by_itself_is_looked_at_in_no_other_scope(
    monkeypatch: pytest.MonkeyPatch, understood: bool
) -> None:
    """As soon as a first scope fails; a few are looked at anyway."""
    looked = []

    def refuse(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        looked.append((scope, exits))
        if scope == 7 and understood:
            return captured, inspection(movable=False)
        raise WHY.get((scope, exits), UnsupportedError("iterations 0 and 1 both touch x"))

    found = chosen(monkeypatch, refuse, VARIANTS)
    assert looked == [(3, ()), (7, ())]
    if understood:
        assert found.chosen is not None and found.chosen.scope == 7
    else:
        assert found == ScopeChoice(
            None, {3: str(WHY[3, ()]), 7: "iterations 0 and 1 both touch x"}, "iterations 0 and 1 both touch x"
        )
    looked.clear()
    chosen(monkeypatch, refuse, {"3": VARIANTS["3"][:2]})
    assert looked == [(3, ()), (3, ("rare",)), (7, ())]


def test_what_the_text_refuses_is_no_reason_to_look_at_a_loop_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took no time, and the next scope may do."""
    looked = []

    def refuse(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        looked.append((scope, exits))
        if scope == 3 and exits != ("rare", "rarer"):
            raise RefusedByTextError("the loop contains a call to malloc")
        return captured, inspection(movable=True)

    found = chosen(monkeypatch, refuse, VARIANTS)
    assert looked == [(3, ()), (3, ("rare",)), (3, ("rare", "rarer")), (7, ())]
    assert found.chosen is not None and found.chosen.scope == 3


def inspection(*, movable: bool, moved: int = 1) -> Any:
    """Of loop 7."""
    return SimpleNamespace(
        verdicts={7: SimpleNamespace(movable=movable)},
        rank=lambda region: (movable, moved),
        why_less=lambda region: "x would stay where it is: it is read",
        enough=lambda region: False,
    )


@pytest.mark.parametrize(("worth", "told"), [(1, {}), (-1, {"3": "x would stay where it is: it is read"})])
def test_it_is_told_of_scopes_around_the_best_alone(
    worth: int, told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is understood may be worth less than a smaller one."""

    def understood(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        return captured, inspection(movable=True, moved=worth if scope == 3 else 0)

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
        burn(HUNG)

    found = chosen(monkeypatch, inspect, {}, CpuTime(0.05))
    assert found.chosen is None and found.unfinished and found.reason == told
    assert looked == ([3] if first == "slow" else [3, 7])


def test_the_best_scope_that_was_found_in_time_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def inspect(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> Any:
        if scope == 7:
            burn(HUNG)
        return captured, inspection(movable=True)

    found = chosen(monkeypatch, inspect, {}, CpuTime(0.05))
    assert found.chosen is not None and found.chosen.scope == 3 and found.unfinished


def chosen(
    monkeypatch: pytest.MonkeyPatch, inspect: Any, exits: dict[str, Any], time: CpuTime | None = None
) -> ScopeChoice:
    """The scope of loop 7, which lies in loop 3."""
    monkeypatch.setattr(choose_scope, "inspect_variant", inspect)
    captured: Any = SimpleNamespace(region=7, tables=(), capture=SimpleNamespace(values={3: (), 7: ()}))
    return choose_scope.choose_scope(captured, {"scopes": [3, 7], "exits": exits}, {3: 1, 7: 60}, lambda: ANY, time)
