"""Loops that are too short for a sample: all their iterations are looked at, in the loop by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.schedule.graph.fixed_cache_lines import LINE
from tracecut.codegen.tuning import inspect_variant, sampled_verdict
from tracecut.codegen.tuning.inspect_variant import Captured, Wanted
from tracecut.ir.machine.machine import Machine

from ..conftest import PROGRAMS
from ..harness import trace

SOURCE = """
int main(int argc, char **argv)
{
    int *a = ints(30000, 30000);
    long *x = longs(30000, 1000), *r = longs(30000, 1000);
    for (int j = 0; ORDERED && j < 30000; j++)
        a[j] = j;
    for (int t = 0; t < 3; t++)
        for (long j = 0; j < 30000; j++) // @sweep
            BODY
    printf("%ld\\n", r[7]);
    return 0;
}
"""
MACHINE = Machine.named("mesh:2x2")
SMALL = replace(MACHINE, caches=tuple(replace(cache, size=4096, line=LINE) for cache in MACHINE.caches))
SUM, STEP = "r[a[j]] += x[a[j]] & 15;", "r[a[j]] = 3 * r[a[j]] + 1;"


def seconds(body: str, folder: Path, *, ordered: bool) -> float | None:
    text = SOURCE.replace("ORDERED", str(int(ordered))).replace("BODY", body)
    subject = trace((PROGRAMS / "prelude.h").read_text() + text, folder)
    region = subject.loop("sweep")
    analysis, traced = subject.compiled.analysis, subject.traced
    found = Captured(analysis, subject.capture(region), region, traced.values, with_rows=traced.with_rows)
    return sampled_verdict._seconds_alone(found, SMALL, Wanted(True, False, 1 << 30))


@pytest.mark.parametrize(("body", "ordered", "once"), [(SUM, True, True), (SUM, False, False), (STEP, False, False)])
def test_what_the_order_of_the_program_fetches(body: str, ordered: bool, once: bool, tmp_path: Path) -> None:
    """Nothing is said of iterations that keep their order."""
    assert (seconds(body, tmp_path, ordered=ordered) is not None) == once


def test_rows_are_looked_for_where_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All loops of the function would have to be described for that."""

    def fail(*_: Any) -> Any:
        raise AssertionError("rows behind pointers were looked for")

    monkeypatch.setattr(inspect_variant, "_flat", fail)
    assert seconds(SUM, tmp_path, ordered=True) is not None


@pytest.mark.parametrize(("limit", "most"), [("SHORT", 29_999), ("FEWEST", 30_000)])
def test_longer_ones_are_not_looked_at(limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("the loop was evaluated")

    monkeypatch.setattr(sampled_verdict, limit, most)
    monkeypatch.setattr(sampled_verdict, "inspect_variant", fail)
    assert seconds(SUM, tmp_path, ordered=True) is None
