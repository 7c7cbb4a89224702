"""An order that cannot be made or applied is a note, and the next one has its turn."""

from __future__ import annotations

import json
import math
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.runtime.replay import Comparison, Outcome, Replay
from tracecut.codegen.tuning import trial
from tracecut.codegen.tuning import worker as tuning_worker
from tracecut.codegen.tuning.trial import Bench, Candidate, ChangedResultError, try_order
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.support.errors import ArgumentError, BackendError, ScheduleError, TracecutError, UnsupportedError
from tracecut.support.tolerances import RESULTS, SUM

from tracecut.pipeline.stages.manifest import stopped_plans
from tracecut.pipeline.stages.publish import remarks_of
from tracecut.pipeline.stages.why_no_order import no_order

GRAPH = LocalityGraph(np.array([0, 2, 4]), np.array([0, 1, 1, 2], np.int32), 3)


def bench() -> Bench:
    subject: Any = SimpleNamespace(graph=SimpleNamespace(graph=GRAPH))
    reference: Any = None
    return Bench(subject, Machine.detect(), reference, 2, 0, 2, lambda text: None)


def failing(monkeypatch: pytest.MonkeyPatch, error: TracecutError) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(trial, "make_order", fail)


def test_a_crash_of_a_peer_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, BackendError("METIS was killed by SIGSEGV"))
    found = try_order(bench(), "metis")
    assert found.note == "failed: METIS was killed by SIGSEGV"
    assert found.region_ms is None and found.cost(1.0) == float("inf")


def test_an_order_that_does_not_apply_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ArgumentError("no coordinates"))
    assert try_order(bench(), "rcm").note == "refused: no coordinates"


@pytest.mark.parametrize(("misses", "measured"), [([0.5, 0.5], True), ([1.0, 1.0], False)])
def test_an_order_that_fetches_no_less_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, misses: list[float], measured: bool
) -> None:
    known: dict[str, Any] = {"make_order": lambda *_, **__: None, "predict": lambda *_: misses}
    for name, value in {**known, "shared_data": lambda *_: 0.0}.items():
        monkeypatch.setattr(trial, name, value)
    found = try_order(bench(), "rcm", unless=Candidate("original", predicted=[1.0, 1.0]))
    told = found.note == "not measured: no fewer cache misses are predicted than with original"
    assert told is not measured  # here it fails when it is


def test_a_wrong_result_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ScheduleError("it changes the result"))
    with pytest.raises(ScheduleError):
        try_order(bench(), "rcm")


def test_a_plan_that_only_its_replay_stopped_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through the worker's result and the manifest's notes: such a plan is a bug, not one of the usual refusals."""
    nest = SimpleNamespace(sites_in=lambda region: [])
    verdict = SimpleNamespace(rounding=False)
    subject: Any = SimpleNamespace(
        region=4,
        outlined={4: SimpleNamespace(text="", reductions=())},
        inspection=SimpleNamespace(verdicts={4: verdict}, accesses=SimpleNamespace(nest=nest)),
    )

    def run(worker: tuning_worker.Worker) -> None:
        worker.result["class"] = "parallel"
        trial._verify(subject, Candidate("rcm"), Comparison(False, {"i32": float("inf")}, "a.c:9"))

    spec = {"folder": str(tmp_path), "region": 4, "machine": None, "values": {}, "entries": {}, "memory": 1 << 30}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    monkeypatch.setattr(tuning_worker.Worker, "run", run)
    monkeypatch.setattr(sys, "argv", ["worker", str(tmp_path / "spec.json")])
    tuning_worker.main()
    result = json.loads((tmp_path / "result.json").read_bytes())
    assert result["stopped"] == "replay" and result["failed"] == "order rcm changes the result: error inf at a.c:9"
    region = {"file": "a.c", "line": 8, "reason": result["failed"], "stopped": result["stopped"]}
    (note,) = stopped_plans([region, region | {"stopped": ""}])
    assert note.startswith("a.c:8: only the comparison of its replay") and "error inf at a.c:9" in note


def entry(method: str, note: str = "", *, compared: bool = False) -> dict[str, Any]:
    return {"method": method, "note": note, "compared": compared}


def test_why_no_order_is_used() -> None:
    original, crash = entry("original"), entry("metis", "failed: METIS crashed")
    assert no_order([original, crash]) == "no order could be made: metis failed: METIS crashed"
    assert "was faster" in no_order([original, crash, entry("rcm") | {"region_ms": 3.0}])
    assert "METIS crashed" in no_order([original, entry("rcm", "not tried: no time"), crash])
    assert "was faster" in no_order([original, entry("rcm", "not tried: no time")])
    assert "METIS crashed" in no_order([original, crash, entry("rcm", compared=True)])


def test_a_faster_order_whose_copies_cost_too_much_is_named() -> None:
    """The reason is the decision that was made: it stands beside a table in which that order is faster."""
    original, slow = entry("original") | {"region_ms": 13.0}, entry("metis") | {"region_ms": 14.0, "copy_ms": 1.0}
    fast = entry("rcm") | {"region_ms": 8.0, "region_all_ms": 5.0, "copy_ms": 9.0}
    apart = "; it cannot be kept over the loop at a.c:7: the loop contains a call to printf (a.c:9)"
    assert no_order([original, slow]) == "no order was faster than the original order"
    assert no_order([original, slow], stays="what is reached at a.c:9 would stay where it is").endswith(
        "order: in each of them what is reached at a.c:9 would stay where it is"
    )
    found = no_order([original, slow, fast], 1.0, apart)
    assert found.startswith("with rcm a sweep is 2.6 times as fast (13 -> 5 ms), but")
    assert "takes 9 ms each sweep, which uses up the gain" in found and found.endswith(apart)


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


@pytest.mark.parametrize(
    ("errors", "rounding", "raised"),
    [
        ({"double": 9e-13, "float": 9e-6}, True, None),
        (
            {"double": 2e-12, "float": 0.0},
            True,
            UnsupportedError,
        ),  # what floats may is no excuse for doubles beside them
        ({"double": 0.0, "float": 2e-5}, True, UnsupportedError),
        ({"double": 2e-8, "float": 0.0}, True, ChangedResultError),
        ({"double": 0.0, "i32": float("inf")}, True, ChangedResultError),
        ({"double": 0.0, "sum of double": 9e-11}, True, None),  # of a million addends
        ({"double": 9e-11, "sum of double": 9e-11}, True, UnsupportedError),
        ({"sum of double": 2e-10}, True, UnsupportedError),
        ({"sum of float": 9e-6}, True, None),
        ({"sum of float": 2e-5}, True, UnsupportedError),
        ({"sum of double": 2e-6}, True, ChangedResultError),
        ({"sum of i64": float("inf")}, True, ChangedResultError),
        ({"sum of double": 1e-16}, False, ChangedResultError),
        ({"double": float("nan")}, True, ChangedResultError),
        ({"double": 1e-16}, False, ChangedResultError),
    ],
)
def test_each_type_keeps_its_own_tolerance(errors: dict[str, float], rounding: bool, raised: Any) -> None:
    sites = [SimpleNamespace(type=type, writes=True) for type in errors if SUM not in type]
    sums = [SimpleNamespace(type=type.removeprefix(SUM)) for type in errors if SUM in type]
    subject: Any = SimpleNamespace(
        region=4,
        outlined={4: SimpleNamespace(text="", reductions=sums)},
        inspection=SimpleNamespace(
            verdicts={4: SimpleNamespace(rounding=rounding)},
            accesses=SimpleNamespace(nest=SimpleNamespace(sites_in=lambda region: sites), size=lambda region: 10**6),
        ),
    )
    allowed = {type: RESULTS[type] for type in errors if type in RESULTS}
    sum_limits = {"sum of double": 10**6 * 2.0**-53, "sum of float": RESULTS["float"]}
    allowed |= {type: limit for type, limit in sum_limits.items() if type in errors}
    assert trial.tolerances(subject) == (allowed if rounding else {})
    candidate, found = Candidate("rcm"), Comparison(False, errors, "a.c:9")
    if raised is None:
        trial._verify(subject, candidate, found)
        assert candidate.comparison is found
    else:
        with pytest.raises(raised, match=r"chang.*at a\.c:9"):
            trial._verify(subject, candidate, found)


@pytest.mark.parametrize(("old", "new", "type"), [(3.0, 3.3, "double"), (3, 4, "i64")])
def test_a_sum_that_changes_is_told_from_memory_and_has_the_place_of_its_loop(old: Any, new: Any, type: str) -> None:
    loops = {4: SimpleNamespace(place="a.c:9")}
    accesses = SimpleNamespace(nest=SimpleNamespace(loops=loops), inside=lambda region: [])
    bits = [value if type == "i64" else struct.unpack("<Q", struct.pack("<d", value))[0] for value in (old, new)]
    outcomes = [Outcome({}, (raw,), (type,)) for raw in bits]
    replay: Any = SimpleNamespace(accesses=accesses, region=4)
    found = Replay.compare(replay, *outcomes)
    assert found.worst == "a.c:9" and found.errors == {SUM + type: pytest.approx(0.1 if type == "double" else math.inf)}
    assert Replay.compare(replay, outcomes[0], outcomes[0]).bit_equal


def test_a_worker_without_work_loads_what_it_will_need() -> None:
    from tracecut.codegen.tuning.warm_up import warm_up

    warm_up()
    from tracecut.ir.reuse_distance import _sampled_touches

    assert _sampled_touches.dispatcher.signatures
