"""Flags that iterations set are reductions; ends of loops that lie in memory count as long as nothing writes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tracecut.support.process.runner import Limits, run

from ..waiting import HUNG
from .harness import Inspected, Program
from .woven_programs import run_woven, woven

Catalogue = Callable[[str], dict[str, Inspected | str]]


def loop(inspected: Catalogue, mark: str) -> Inspected:
    item = inspected("flags")[mark]
    assert not isinstance(item, str), item
    return item


@pytest.mark.parametrize(("mark", "operators"), [("flags", ("and", "or")), ("flag_of_rows", ("or",))])
def test_a_flag_is_a_reduction(inspected: Catalogue, mark: str, operators: tuple[str, ...]) -> None:
    item = loop(inspected, mark)
    verdict = item.inspection.verdicts[item.region]
    assert (verdict.kind, verdict.operators, verdict.rounding) == ("reduction", operators, False)
    assert item.scope != item.region  # over all sweeps


@pytest.mark.parametrize("mark", ["last_flag", "flag_that_is_read"])
def test_a_flag_that_is_none(inspected: Catalogue, mark: str) -> None:
    item = loop(inspected, mark)
    verdict = item.inspection.verdicts[item.region]
    assert (verdict.kind, verdict.reason) == ("ordered", "the loop carries a value across iterations")


def test_a_loop_that_a_sweep_begins_with_is_a_loop_of_its_own(inspected: Catalogue) -> None:
    item = loop(inspected, "sweeps_begin")
    assert item.inspection.verdicts[item.region].kind == "parallel"
    assert item.scope != item.region  # over all sweeps
    item = loop(inspected, "sweeps_in_order")
    assert item.inspection.verdicts[item.region].kind == "ordered"


def test_an_end_in_memory(inspected: Catalogue) -> None:
    for mark in ("end_in_memory", "end_beside", "end_among_data"):
        item = loop(inspected, mark)
        assert item.inspection.verdicts[item.region].movable
    item = loop(inspected, "end_between")
    assert item.inspection.verdicts[item.region].movable and item.scope == item.region  # each sweep has its own
    item = loop(inspected, "end_that_moves")
    assert item.inspection.verdicts[item.region].reason == "the loop has a trip count that is not known"


def test_a_store_that_changes_the_end_in_another_run(program: Callable[[str], Program], inspected: Catalogue) -> None:
    subject, item = program("flags"), loop(inspected, "end_beside")
    made = woven([item], [item.schedule(item.random(3))], name="ends")
    for words, used in ([], 1), (["moves"], 0):
        native = run([subject.compiled.native, *words], folder=subject.folder, name="native", limits=Limits(HUNG))
        ran = run_woven(subject, made, argv=words)
        assert ran.code == native.returncode == 0 and ran.stdout == native.stdout.read_bytes()
        assert bool(ran.used[str(item.scope)]) is bool(used)
