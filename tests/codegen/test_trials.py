"""An order that can not be made or applied is a note, and the next one has its turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tracecut.codegen import trials
from tracecut.codegen.trials import Bench, Candidate, try_order
from tracecut.ir.errors import ArgumentError, BackendError, ScheduleError, TracecutError
from tracecut.ir.graph import LocalityGraph
from tracecut.ir.machine import Machine

from tracecut.publish import remarks_of
from tracecut.tuning import _no_order

GRAPH = LocalityGraph(np.array([0, 2, 4]), np.array([0, 1, 1, 2], np.int32), 3)


def bench() -> Bench:
    subject: Any = SimpleNamespace(graph=SimpleNamespace(graph=GRAPH))
    reference: Any = None
    return Bench(subject, Machine.detect(), reference, 2, 0, 2, lambda text: None)


def failing(monkeypatch: pytest.MonkeyPatch, error: TracecutError) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(trials, "make_order", fail)


def test_a_crash_of_a_peer_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, BackendError("METIS was killed by SIGSEGV"))
    found = try_order(bench(), "metis")
    assert found.note == "failed: METIS was killed by SIGSEGV"
    assert found.region_ms is None and found.cost(1.0) == float("inf")


def test_an_order_that_does_not_apply_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ArgumentError("no coordinates"))
    assert try_order(bench(), "rcm").note == "refused: no coordinates"


def test_a_wrong_result_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ScheduleError("it changes the result"))
    with pytest.raises(ScheduleError):
        try_order(bench(), "rcm")


def entry(method: str, note: str = "", *, compared: bool = False) -> dict[str, Any]:
    return {"method": method, "note": note, "compared": compared}


def test_why_no_order_is_used() -> None:
    original, crash = entry("original"), entry("metis", "failed: METIS crashed")
    assert _no_order([original, crash]) == "no order could be made: metis failed: METIS crashed"
    assert "was faster" in _no_order([original, crash, entry("rcm")])
    assert "was faster" in _no_order([original, entry("rcm", "not tried: no time"), crash])
    assert "METIS crashed" in _no_order([original, crash, entry("rcm", compared=True)])


def test_a_faster_order_whose_copies_cost_too_much_is_named() -> None:
    """The reason is the decision that was made: it stands beside a table in which that order is faster."""
    original, slow = entry("original") | {"region_ms": 13.0}, entry("metis") | {"region_ms": 14.0, "copy_ms": 1.0}
    fast = entry("rcm") | {"region_ms": 8.0, "region_all_ms": 5.0, "copy_ms": 9.0}
    apart = "; it can not be kept over the loop at a.c:7: it holds a call to printf (a.c:9)"
    assert _no_order([original, slow]) == "no order was faster than the program's own"
    found = _no_order([original, slow, fast], 1.0, apart)
    assert found.startswith("with rcm a sweep is 2.6 times as fast (13 -> 5 ms), but")
    assert "takes 9 ms for each sweep, which uses up the gain" in found and found.endswith(apart)


def test_a_failed_method_is_a_remark() -> None:
    region = {"file": "a.c", "line": 3, "function": "f", "decision": "refused", "reason": "no", "places": []}
    region |= {"kept": [], "kernels": [], "candidates": [entry("rcm"), entry("metis", "failed: METIS crashed")]}
    remarks = remarks_of(region)
    assert [remark.name for remark in remarks] == ["Refused", "MethodFailed"]
    assert ("Reason", "failed: METIS crashed") in remarks[1].args
    region["candidates"] = [entry("metis", "not tried: no time")]
    assert [remark.name for remark in remarks_of(region)] == ["Refused"]


def test_the_kernel_time_is_the_fastest_measured() -> None:
    assert Candidate("rcm", region_ms=3.0, region_all_ms=2.0, copy_ms=4.0).cost(8.0) == 2.5
    assert Candidate("rcm", region_ms=3.0).kernel_ms == 3.0
