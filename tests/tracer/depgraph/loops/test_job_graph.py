"""The jobs of a loop and the data that they touch, against the accesses that the slow interpreter makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.job_region import Region
from tracecut.ir.locality_graph import READ, WRITE
from tracecut.support.errors import ArgumentError, ArtefactError, UnsupportedError
from tracecut.tracer.depgraph.loops import job_graph
from tracecut.tracer.depgraph.loops.job_graph import JobFollower
from tracecut.tracer.trace.tables.static_tables import static_of

from ..interpreter import Interpreter
from .test_iteration_dependences import BYTES, JOBS, RUNS, Statement, Witness, program

pytestmark = pytest.mark.quick

STATEMENTS = st.builds(
    Statement,
    st.sampled_from(("load", "store", "add", "copy")),
    st.sampled_from((8, 16, 32, 64)),
    st.tuples(*[st.integers(0, BYTES)] * JOBS),
)


def noted(text: str, datum: int, cut: int = 1) -> tuple[Region, Witness]:
    static = static_of(text)
    watch = Witness(static)
    machine = Interpreter(text, watch=watch)
    watch.begin(machine)
    machine.run()
    follower = JobFollower(static, "main", "loop", datum=datum)
    for part in np.split(watch.stream(), watch.borders[1::cut]):
        follower.feed(part)
    return follower.region(), watch


@settings(deadline=None, max_examples=60)
@given(st.lists(STATEMENTS, min_size=1, max_size=4), st.sampled_from((1, 4, 8, 64)), st.integers(1, 9))
def test_random_loops_equal_what_was_accessed(statements: list[Statement], datum: int, cut: int) -> None:
    region, watch = noted(program(statements), datum, cut)
    jobs: dict[int, dict[int, int]] = {job: {} for job in range(1, watch.job + 1)}
    for _, job, byte, writes in watch.accesses:
        row = jobs[job]
        row[byte // datum] = row.get(byte // datum, 0) | (WRITE if writes else READ)
    names: dict[int, int] = {}
    expected: list[list[tuple[int, int]]] = []
    for row in jobs.values():
        expected.append([(names.setdefault(block, len(names)), access) for block, access in row.items()])
    graph = region.graph
    pins = list(zip(graph.data.tolist(), graph.access.tolist(), strict=True))
    found = [pins[first:end] for first, end in zip(graph.offsets, graph.offsets[1:], strict=False)]
    # a range is noted block by block, one access of the reference byte by byte: the same order within a job
    assert found == expected and graph.n_data == len(names)
    assert region.runs.tolist() == [0, JOBS, RUNS * JOBS] and region.unknown == ()
    assert graph.job_weights.tolist() == [
        len(program(statements).split("loop:")[1].split("br ")[0].splitlines()[1:])
    ] * (RUNS * JOBS)


LIVES = """
declare ptr @malloc(i64)
declare void @free(ptr)
define i32 @main() {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %n, %loop ]
  %p = call ptr @malloc(i64 16)
  store i64 %k, ptr %p
  %q = getelementptr i8, ptr %p, i64 8
  store i64 %k, ptr %q
  call void @free(ptr %p)
  %n = add i64 %k, 1
  %c = icmp ult i64 %n, 5
  br i1 %c, label %loop, label %done
done:
  ret i32 0
}
"""


def test_memory_that_is_allocated_again_is_other_data() -> None:
    region, _ = noted(LIVES, 8)
    assert region.graph.n_jobs == 5 and region.graph.data.tolist() == list(range(10))
    assert noted(LIVES, 64)[0].graph.n_data == 5


EMPTY = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @main() {
entry:
  %p = alloca [64 x i8]
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %n, %loop ]
  %q = getelementptr i8, ptr %p, i64 3
  call void @llvm.memset.p0.i64(ptr %q, i8 1, i64 %k, i1 false)
  %n = add i64 %k, 1
  %c = icmp ult i64 %n, 4
  br i1 %c, label %loop, label %done
done:
  ret i32 0
}
"""


def test_an_access_of_no_bytes_touches_no_datum() -> None:
    """Also in the middle of a datum: the first job sets 0 bytes, the others some of bytes 3 to 5."""
    graph = noted(EMPTY, 8)[0].graph
    assert np.diff(graph.offsets).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("change", "message"), [({"datum": 12}, "12 bytes, a power of two"), ({"datum": 0}, "0 bytes")]
)
def test_wrong_arguments(change: dict[str, Any], message: str) -> None:
    static = static_of(LIVES)
    with pytest.raises(ArgumentError, match=message):
        JobFollower(static, "main", "loop", **change)
    with pytest.raises(ArgumentError, match="no loop that begins at 'done'"):
        JobFollower(static, "main", "done")


def test_damaged_streams_are_refused_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_graph, "MOST_DATA", 1 << 16)  # lengths that are damaged are not always filled with data
    statement = Statement("copy", 64, tuple(range(JOBS)))
    text = program([statement])
    _, watch = noted(text, 8)
    words, random = watch.stream(), np.random.default_rng(3)
    refused = 0
    for _ in range(60):
        damaged = words.copy()
        for place in random.integers(0, words.size, 2).tolist():
            damaged[place] = (damaged[place] ^ (1 << random.integers(31)), random.integers(0, 9))[random.integers(2)]
        follower = JobFollower(static_of(text), "main", "loop")
        try:
            follower.feed(damaged)
            follower.region()
        except (ArtefactError, UnsupportedError):
            refused += 1
    assert 5 < refused < 60
