"""Measured times: what is made of several runs, and when they are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tracecut.ir.dependence_graph import MEMORY, REGISTER, DependenceGraph
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.depgraph.measured_weights import cleaned_times, least_correlation, measured_graph
from tracecut.tracer.trace.instrument.rewrite import instrumented
from tracecut.tracer.trace.tables.static_tables import static_of

TEXT = """
@x = global i32 1
define i32 @main() {
entry:
  store i32 2, ptr @x, align 4
  %a = load i32, ptr @x, align 4
  %b = add i32 %a, 1
  ret i32 %b
}
"""
STATIC = static_of(TEXT)


def run(times: list[int]) -> DependenceGraph:
    """A hundred stores and loads in turn, each load of the store before it, with an addition behind it."""
    n = 3 * len(times)
    src = [v + step for v in range(0, n, 3) for step in (0, 1)]
    kind = [MEMORY, REGISTER] * len(times)
    weight = [value for time in times for value in (time, 1)]
    time = [value for one in times for value in (54, one, 1)]
    return DependenceGraph(src, np.array(src) + 1, weight, kind, [0, 1, 2] * len(times), time)


def test_medians_of_runs_that_agree() -> None:
    true = list(range(54, 354, 3))
    noisy = [[time + (place * 7 + number) % 3 for place, time in enumerate(true)] for number in range(3)]
    noisy[1][40] = 10_000_000  # the system took the processor away
    found, correlation = measured_graph([run(times) for times in noisy], STATIC)
    assert correlation > 0.98
    loads = found.time[found.instruction == 1]
    assert loads[0] == pytest.approx(5, abs=2) and loads[40] == pytest.approx(4 + 3 * 40, abs=3)
    assert found.weight[0::2].tolist() == loads.tolist() and (found.weight[1::2] == 1).all()
    assert (found.time[found.instruction == 2] == 1).all()


def test_runs_that_do_not_agree_are_refused() -> None:
    random = np.random.default_rng(1)
    noise = [run(random.integers(50, 60, 100).tolist()) for _ in range(3)]
    with pytest.raises(UnsupportedError, match=r"correlation of -?0\.\d\d, at least 0.9"):
        measured_graph(noise, STATIC)
    flat = [replace(run([54] * 5)) for _ in range(2)]
    with pytest.raises(UnsupportedError, match="correlation of nan") as caught:
        measured_graph(flat, STATIC)
    assert caught.value.hint is not None and "all hit the nearest cache take the same time" in caught.value.hint


def test_runs_of_different_work_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="does not do the same in every run"):
        measured_graph([run([50, 60]), run([50, 60, 70])], STATIC)
    with pytest.raises(ArgumentError, match="1 runs"):
        measured_graph([run([50, 60])], STATIC)


@given(arrays(np.int32, st.integers(0, 50), elements=st.integers(0, 10**8)))
def test_times_stay_between_one_and_the_bound(raw: np.ndarray) -> None:
    found = cleaned_times(raw)
    assert found.size == raw.size
    if raw.size:
        assert found.min() >= 1 and found.max() <= 2000
        order = np.argsort(raw, kind="stable")
        assert (np.diff(found[order]) >= 0).all()


def test_correlation_is_spearmans() -> None:
    assert least_correlation(np.array([[1, 2, 3], [5, 6, 70], [1, 3, 4]])) == pytest.approx(1.0)
    assert least_correlation(np.array([[1, 2, 3], [3, 2, 1]])) == pytest.approx(-1.0)
    assert np.isnan(least_correlation(np.array([[1], [1]])))


def test_stamps_stand_between_fences_or_not() -> None:
    """A store and a load: a stamp before and behind each, and as the vertex-cut paper has it no fence."""
    fenced, loose = (instrumented(TEXT, timed=True, fenced=fenced) for fenced in (True, False))
    for text, fences in ((fenced, 8), (loose, 0)):
        assert text.count(" = call i64 @llvm.readcyclecounter()") == 4
        assert text.count("call void @llvm.x86.sse2.lfence()") == fences
    order = [line.split(" = ")[-1].split()[0] for line in loose.split("@x, align 4")[0].splitlines()[-2:]]
    assert order == ["call", "store"]


def test_a_timed_trace_brings_its_times() -> None:
    timed = static_of(TEXT, timed=True)
    address = [0x5000, 0x10]
    words = np.array([1, *address, 77, *address, 91], np.uint32)
    builder = Builder(timed, weights="times")
    builder.feed(words)
    graph = builder.graph()
    assert graph.time.tolist()[:2] == [77, 91]
    assert [graph.weight[edge] for edge in range(graph.m) if graph.kind[edge] == MEMORY] == [91]
    with pytest.raises(ArgumentError, match="the trace has no times"):
        Builder(STATIC, weights="times")
