"""Which loops are not inspected: nothing but threads can make them faster, and that is worth less than it takes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.tuning import sampled_verdict
from tracecut.codegen.tuning.inspect_variant import Captured
from tracecut.codegen.tuning.sampled_verdict import ANYWAY
from tracecut.codegen.tuning.worker import Worker
from tracecut.ir.machine.machine import Machine

pytestmark = pytest.mark.quick

MACHINE = Machine.named("mesh:2x2")


def asked(seconds: float, share: float = 1.0, threads: int = 2, around: float | None = None) -> dict[str, Any]:
    worth = {"seconds": seconds, "share": share, "around": share if around is None else around}
    return {"worth": worth, "cpus": list(range(threads)), "memory": 1 << 30, "renumber": True, "exact": False}


def looked(
    monkeypatch: pytest.MonkeyPatch, takes: float | None, spec: dict[str, Any], alone: float | None = None
) -> dict[str, Any]:
    """`takes`, `alone`: what a sample says, and what all of a short loop does."""
    monkeypatch.setattr(sampled_verdict, "_least_seconds", lambda *_: takes)
    monkeypatch.setattr(sampled_verdict, "_seconds_alone", lambda *_: alone)
    found: Any = None
    return sampled_verdict.sampled_verdict(found, MACHINE, spec)


def test_what_takes_longer_than_threads_can_save_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, ANYWAY + 0.9, asked(2.0)) == {"once": True}
    found = looked(monkeypatch, ANYWAY + 1.1, asked(2.0))
    assert found["passed_over"] and found["class"] == "rejected" and "threads could save 1 s of" in found["reason"]
    assert looked(monkeypatch, ANYWAY + 0.1, asked(2.0, threads=1))["reason"].count("there is one thread alone")


def test_loops_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "passed_over" in looked(monkeypatch, ANYWAY + 0.9, asked(2.0, share=0.5))
    assert "passed_over" not in looked(monkeypatch, 1.0, asked(2.0, share=0.5))


def test_other_loops_in_the_scope_are_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "passed_over" in looked(monkeypatch, 0.6, asked(2.0, share=0.4, around=1.0))
    assert "passed_over" not in looked(monkeypatch, 0.6, asked(2.0, share=0.4, around=0.5))


def test_short_loops_are_passed_over_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is inspected after all is inspected as ever."""
    assert looked(monkeypatch, None, asked(2.0), alone=ANYWAY + 0.9) == {}
    assert "threads could save 1 s of" in looked(monkeypatch, None, asked(2.0), alone=ANYWAY + 1.1)["reason"]
    assert looked(monkeypatch, ANYWAY + 0.9, asked(2.0), alone=ANYWAY + 1.1) == {"once": True}


def test_other_loops_are_passed_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by what it matters; of one that cannot be looked at nothing is said."""

    def takes(found: Captured, *_: Any) -> float:
        if found.region == 9:
            raise MemoryError
        return float(found.capture.entry)

    monkeypatch.setattr(sampled_verdict, "_least_seconds", takes)
    monkeypatch.setattr(sampled_verdict, "_seconds_alone", lambda *_: None)
    captures = {"long": SimpleNamespace(entry=9), "short": SimpleNamespace(entry=1)}
    monkeypatch.setattr(sampled_verdict, "Capture", SimpleNamespace(load=captures.__getitem__))
    known: Any = None
    found = Captured(known, known, 7, {})
    shares = {3: ("long", 1.0), 4: ("short", 1.0), 5: ("short", 0.1), 9: ("long", 1.0)}
    others = [
        {"region": loop, "capture": name, "worth": asked(2.0, share=share)["worth"]}
        for loop, (name, share) in shares.items()
    ]
    passed = sampled_verdict.passed_over_too(found, MACHINE, {**asked(2.0), "others": others})
    assert list(passed) == ["3", "5"] and all(one["passed_over"] and one["inspected"] >= 0 for one in passed.values())


def test_what_is_not_known_or_was_asked_for_is_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, None, asked(0.0)) == {}
    assert looked(monkeypatch, 99.0, asked(0.1) | {"worth": None}) == {}
    monkeypatch.undo()

    def fail(*_: Any) -> float:
        raise MemoryError

    monkeypatch.setattr(sampled_verdict, "_least_seconds", fail)
    nothing: Any = None
    assert sampled_verdict.sampled_verdict(nothing, MACHINE, asked(0.1)) == {}


def test_a_machine_without_a_second_cache_says_nothing() -> None:
    nothing: Any = None
    few = replace(MACHINE, caches=MACHINE.caches[:1])
    assert sampled_verdict._least_seconds(nothing, few, 1) is None


def test_the_worker_looks_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """No scope is looked at, and the result says why."""
    made = Worker.__new__(Worker)
    made.region, made.machine, made.values, made.result = 7, MACHINE, {}, {}
    made.spec = {
        "runtime": __file__,
        "module": __file__,
        "capture": "",
        "with_rows": [],
        "others": [],
        "looking": None,
        **asked(0.1),
    }
    for name in ("take_runtime", "module_in", "Analysis"):
        monkeypatch.setattr(f"tracecut.codegen.tuning.worker.{name}", lambda *_: None)
    monkeypatch.setattr("tracecut.codegen.tuning.worker.json", SimpleNamespace(loads=lambda _: None))
    monkeypatch.setattr("tracecut.codegen.tuning.worker.Capture", SimpleNamespace(load=lambda _: None))
    monkeypatch.setattr(Worker, "_done", lambda *_: None)
    monkeypatch.setattr(sampled_verdict, "_least_seconds", lambda *_: 99.0)
    found = made.run()
    assert found["class"] == "rejected" and found["passed_over"] and "scopes_refused" not in found
