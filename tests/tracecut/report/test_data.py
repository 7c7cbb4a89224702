"""From a manifest to what is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.reuse_distance import predicted_misses, reuse_histogram
from tracecut.support.errors import ArgumentError, ArtefactError

from tracecut.report import Place, RegionFigures, ReportData, render_report, render_summary
from tracecut.report.reading.path_privacy import Root
from tracecut.report.source_excerpt import MOST_LINES, excerpts

pytestmark = pytest.mark.quick

REGION = {"id": "r", "class": "parallel", "decision": "refused"}
ROOT = Root("/home/somebody/work")
MESH = {"name": "mesh:8x8", "cores": 64, "notes": ["no virtual channels", "no window"]}


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"seed": "0"}, r"manifest\.seed = '0': a number or null was expected"),
        ({"seed": True}, r"manifest\.seed = True: a number"),
        ({"seed": 10**400}, "more than 300 digits"),
        ({"seed": -1e31}, r"seed = -1e\+31: a number of at most 1e\+30"),
        ({"source": "a.c"}, r"manifest\.source = 'a\.c': a list was expected"),
        ({"argv": [1]}, r"manifest\.argv\[0\] = 1: a string was expected"),
        ({"tracecut": 1}, r"manifest\.tracecut = 1: a string"),
        ({"program": {"output_equal": 1}}, r"manifest\.program\.output_equal = 1: true, false or null"),
        ({"program": []}, r"manifest\.program = \[\]: a mapping"),
        ({"timings": {"a": "b"}}, r"manifest\.timings\.a = 'b': a number"),
        ({"regions": [3]}, r"manifest\.regions\[0\] = 3: a mapping"),
        (
            {"regions": [{**REGION, "class": "fast"}]},
            r"regions\[0\]\.class = 'fast': one of parallel, reduction, ordered",
        ),
        ({"regions": [{**REGION, "class": []}]}, r"class = \[\]: one of parallel"),
        ({"regions": [{**REGION, "decision": None}]}, r"decision = None: one of optimized, refused"),
        ({"regions": [{**REGION, "places": ["a.c"]}]}, r"places\[0\] = 'a\.c': a mapping"),
        ({"regions": [{**REGION, "candidates": [{"method": 1}]}]}, r"candidates\[0\]\.method = 1: a string"),
    ],
)
def test_a_damaged_manifest_is_named(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        ReportData.from_manifest(manifest)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_numbers_are_shown(data: st.DataObject) -> None:
    number = st.sampled_from([None, math.nan, math.inf, 0, 1]) | st.floats(-1e30, 1e30) | st.integers(-(10**18), 10**18)

    def numbers(keys: str) -> dict[str, Any]:
        return {key: data.draw(number) for key in keys.split()}

    times = numbers("inspect_ms region_ms region_all_ms threads predicted_misses")
    region = {**REGION, "decision": data.draw(st.sampled_from(["optimized", "refused"])), "candidates": [times]}
    region |= numbers("line jobs data share speedup_1t speedup_all threads original_ms optimized_ms copy_ms inspect_ms")
    region |= numbers("max_rel_error break_even_sweeps pays_off_sweeps replication_before replication_after")
    region |= {"tolerance": numbers("double output")}
    manifest = numbers("seed original_run_seconds capture_run_seconds") | {"timings": numbers("a b c")}
    machine = {**numbers("cores memory"), "caches": [numbers("level size")]}
    program = numbers("original_seconds optimized_seconds speedup")
    report = ReportData.from_manifest({**manifest, "machine": machine, "program": program, "regions": [region]})
    assert "<h1>" in render_report(report)
    assert render_summary(report, 80).isascii()


def test_numbers_that_are_not_finite_were_not_measured() -> None:
    data = ReportData.from_manifest({"original_run_seconds": math.nan, "timings": {"a": math.inf, "b": 1}})
    assert data.original_run_seconds is None
    assert data.timings == (("b", 1.0),)


def test_an_empty_manifest_is_a_report() -> None:
    assert ReportData.from_manifest({}).regions == ()


def test_exact_paths_are_for_the_terminal_only(case: Callable[[str], ReportData]) -> None:
    data = ReportData.from_manifest(
        {"report": "report.html", "argv": ["/home/x/in"]}, folder="/home/x/out", root="/tmp"
    )
    assert (data.folder, data.report) == ("/home/x/out", "/home/x/out/report.html")
    assert data.run == ("tracecut", "run", "/home/x/out", "--", "/home/x/in")
    assert "/home" not in repr(data)
    assert "somebody" not in repr(case("refused_stencil"))
    assert ReportData.from_manifest({"report": "out/report.html"}).folder == "out"


def test_times_follow_from_the_speedups() -> None:
    times = {"original_ms": 12.0, "optimized_ms": 2.0}
    both = ReportData.from_manifest({"regions": [{**REGION, **times, "speedup_1t": 3, "speedup_all": 6}]}).regions[0]
    assert (both.one_thread_ms, both.all_threads_ms, both.best_ms) == (4.0, 2.0, 2.0)
    bare = ReportData.from_manifest({"regions": [{**REGION, **times}]}).regions[0]
    assert (bare.one_thread_ms, bare.all_threads_ms) == (None, 2.0)


def test_places_are_mappings_or_lists() -> None:
    places = [["a.c", 3, 1, "f"], {"file": "b.c", "line": 4}]
    found = ReportData.from_manifest({"regions": [{**REGION, "places": places}]}).regions[0]
    assert found.evidence == (Place("a.c", 3), Place("b.c", 4))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("read /home/somebody/work/src/a.c:3 first", "read src/a.c:3 first"),
        ("in '/opt/secret/lib/b.h'", "in 'b.h'"),
        ("--in=/home/other/c.bin", "--in=c.bin"),
        ("~/private/d.c failed", "d.c failed"),
        ("m/s/t and 1/2/3 and a//b and ./x/y/z", "m/s/t and 1/2/3 and a//b and ./x/y/z"),
        ("/home/somebody/work", "."),
    ],
)
def test_folders_stay_at_home(text: str, shown: str) -> None:
    assert ROOT.text(text) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a/b.c", "a/b.c"),
        ("../other/b.c", "b.c"),
        ("/b.c", "b.c"),
        ("/home/somebody/works/b.c", "b.c"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_paths(path: str, shown: str) -> None:
    assert ROOT.path(path) == shown


@given(st.lists(st.integers(0, 200), max_size=60), st.integers(0, 9))
def test_share_beyond_a_cache_is_what_the_profile_predicts(distances: list[int], power: int) -> None:
    found = np.array(distances, np.int64)
    histogram, _ = reuse_histogram(found)
    figures = RegionFigures.make(reuse_before=list(enumerate(histogram)))
    share = figures.reuse_before.share_beyond(2**power)
    if not distances:
        assert share is None
    else:
        assert share == pytest.approx(int(predicted_misses(found, [2**power])[0]) / len(distances))


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"degrees": [(1, -2)]}, "degrees holds -2, a number from 0"),
        ({"cluster_sizes": [math.inf]}, "cluster_sizes holds inf"),
        ({"reuse_after": [(900, 1)]}, "reuse_after holds 900, at most 64"),
    ],
)
def test_figures_are_checked(figures: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        RegionFigures.make(**figures)


def test_excerpt_shows_the_loop_and_both_accesses() -> None:
    lines = [f"    line {number}" for number in range(1, 101)]
    (found,) = excerpts(Place("a.c", 10), [Place("a.c", 60), Place("a.c", 60), Place("a.c", 10)], {"a.c": lines})
    assert [line.number for line in found.lines] == [*range(8, 17), *range(58, 63)]
    assert {line.number: line.note for line in found.lines if line.note} == {
        10: "loop",
        60: "first access and second access",
    }
    assert found.lines[0].text == "line 8"


def test_excerpt_of_two_files() -> None:
    sources = {"a.c": ["x"] * 5, "b.h": ["\ty", "\tz"]}
    found = excerpts(Place("a.c", 1), [Place("b.h", 2)], sources)
    assert [(item.file, item.lines[-1].note) for item in found] == [("a.c", ""), ("b.h", "here")]
    assert [line.text for line in found[1].lines] == ["y", "z"]


def test_no_source_no_excerpt() -> None:
    assert excerpts(Place("a.c", 10), [], {}) == ()
    assert excerpts(Place("a.c", 10), [], {"a.c": ["one line"]}) == ()


def test_an_excerpt_has_an_end() -> None:
    evidence = [Place("a.c", 10 * number) for number in range(1, 90)]
    (found,) = excerpts(Place("a.c", 5), evidence, {"a.c": ["x"] * 1000})
    assert len(found.lines) == MOST_LINES


def test_predictions_are_called_so() -> None:
    """Of another machine, and of the nodes of this one; on one node there is nothing to show."""
    predicted = {"machine": "mesh:8x8", "method": "rcm", "unit": "cycles for data a job", "before": 40.0, "after": 10.0}
    foreign = {**REGION, "reason": "r", "predicted": {**predicted, "remote_before": 0.5, "remote_after": 0.25}}
    data = ReportData.from_manifest({"regions": [foreign], "predicted_for": MESH})
    page = render_report(data)
    assert "The model has" in page and "no virtual channels" in page and "</bdi>; <bdi" in page
    assert "Predicted for" in page and "40 → 10 cycles for data a job, with" in page and "→ 25" in page
    assert "predicted by simulation for" in page and "mesh:8x8" in page
    assert render_summary(data).startswith("nothing is changed: ")
    here = {**REGION, "decision": "optimized", "threads": 4}
    placed = {"remark": "CPUs 0-1 of node 0 and 2-3 of node 1", "remote_before": 0.5, "remote_after": 0.25}
    page = render_report(ReportData.from_manifest({"regions": [{**here, "placement": placed}]}))
    assert "Values from other nodes, predicted" in page and "CPUs 0-1 of node 0" in page
    alone = {**here, "placement": {"remark": "CPUs 0-1 of node 0: placement cannot matter"}}
    page = render_report(ReportData.from_manifest({"regions": [alone]}))
    assert "cannot matter" in page and "other nodes" not in page and "Predicted for" not in page
    with pytest.raises(ArtefactError, match=r"predicted\.before = 'x': a number"):
        ReportData.from_manifest({"regions": [{**REGION, "predicted": {"before": "x"}}]})
