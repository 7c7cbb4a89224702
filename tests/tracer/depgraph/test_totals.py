"""Totals with folded runs against the walk over all that they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.dependence_graph import KINDS
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.totals import FEWEST, Folder
from tracecut.tracer.trace.compact.loop_runs import Shape
from tracecut.tracer.trace.events.event_words import Mark
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.static_tables import Static, static_of

from tracecut.api.dependence_graph import build_graph, graph_totals
from tracecut.api.trace import trace


@pytest.fixture(autouse=True, scope="module")
def kernels(seldom_compiled: None) -> None:
    """See `tests/plain_rooms.py`."""


LOOP = """
@data = global [12288 x i8] zeroinitializer
define i32 @main(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %m, %loop ]
  %s = phi i64 [ 1, %entry ], [ %t, %loop ]
  %before = phi i64 [ %n, %entry ], [ %s, %loop ]
  %a = getelementptr i8, ptr %p, i64 %k
  %x = load i32, ptr %a, align 1
  %far = mul i64 %k, %n
  %b = getelementptr i8, ptr %p, i64 %far
  %y = load i64, ptr %b, align 1
  store i16 7, ptr %b, align 1
  %c = inttoptr i64 %y to ptr
  store i64 %before, ptr %c, align 1
  %i = trunc i64 %y to i32
  %j = sext i32 %i to i64
  %d = getelementptr i32, ptr %p, i64 %j
  %z = load i8, ptr %d, align 1
  store i32 %x, ptr %d, align 1
  %wide = zext i8 %z to i64
  %t = add i64 %s, %wide
  %m = add i64 %k, 1
  %go = icmp ult i64 %m, %n
  br i1 %go, label %loop, label %done
done:
  %e = getelementptr i8, ptr %p, i64 %before
  store i8 1, ptr %e
  ret i32 0
}
"""
BASE, ROOM = 0x10000000, 12288
STATIC = static_of(LOOP)


def long(value: int) -> list[int]:
    return [value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF]


@st.composite
def runs(draw: st.DrawFn) -> list[int]:
    """A call of the function: the words of its records, the loop as a run with accesses near two borders of pages."""
    times = draw(st.integers(1, 60))
    place = st.integers(BASE + 4000, BASE + 8300)
    own = slice(*STATIC.run_field.tolist()[:2])
    header: list[int] = []
    each: list[st.SearchStrategy[list[int]]] = []
    for shape in STATIC.field_shape[own].tolist():
        if shape == Shape.FREE:
            each.append(place.map(long))
            continue
        header += long(draw(place))
        if shape == Shape.STEPPED:
            header += long(draw(st.sampled_from((0, 1, 4, 8, -3, 64))))
        elif shape in (Shape.SIGNED, Shape.UNSIGNED):
            each.append(st.integers(-20, 20).map(lambda index: [~index & 0xFFFFFFFF]))
    loose = [word for _ in range(times) for words in each for word in draw(words)]
    return [1, STATIC.first_run, times, *header, *loose, STATIC.n_segments - 1, *long(draw(place))]


def state_of(builder: Builder) -> list[Any]:
    """All that may make a difference to what comes."""
    used = int(builder.counts[sh.N_WRITERS]) * sh.WORDS, int(builder.counts[sh.N_SINGLES]) * sh.PAGE
    memory = [
        builder.followed[name].array[:size].tolist() for name, size in zip(("writers", "singles"), used, strict=True)
    ]
    state = [builder.state[place] for place in (fr.NODES, fr.DEPTH, fr.SLOTS, fr.LOST, fr.ENDED)]
    return [memory, state, builder.counts.tolist(), builder.levels.tags.tolist(), builder.levels.counts.tolist()]


def both(static: Static, words: np.ndarray, **options: Any) -> tuple[Builder, Builder, int]:
    """Builders that took the records, and the runs, and the words that the second one was given as records."""
    narrow = options.pop("narrow", 2**31 - 2)
    plain = Builder(static, totals=True, narrow=narrow, **options)
    for part in Expander(static).pieces(words, 0):
        plain.feed(part)
    folded = Builder(static, totals=True, narrow=narrow, **options)
    seen: list[int] = []
    feed = folded.feed
    folded.feed = lambda part: (seen.append(part.size), feed(part))[1]  # type: ignore[method-assign]
    Folder(folded, fewest=3).feed(words)
    return plain, folded, sum(seen)


@settings(deadline=None, max_examples=60)
@given(calls=st.lists(runs(), min_size=1, max_size=3), weights=st.sampled_from(("model", "unit")), placed=st.booleans())
def test_folded_runs_are_the_walk(calls: list[list[int]], weights: str, placed: bool) -> None:
    known = [int(Mark.GLOBAL), 0, *long(BASE), *long(ROOM)] if placed else []
    words = np.array([*known, *(word for call in calls for word in call), int(Mark.END), 0, 0], np.uint32)
    plain, folded, given = both(STATIC, words, weights=weights)
    assert plain.totals() == folded.totals() and plain.totals().nodes > 0
    assert state_of(plain) == state_of(folded)
    longest = max(call[2] for call in calls)
    assert given < plain.records_at or longest < 3


def test_every_shape_of_a_field_is_in_the_loop() -> None:
    assert set(STATIC.field_shape.tolist()) == {Shape.FIXED, Shape.STEPPED, Shape.FREE, Shape.SIGNED}
    assert STATIC.n_runs == 1 and Folder(Builder(STATIC, totals=True))._folds.tolist() == [1]


@pytest.mark.parametrize("kinds", [("raw", "war"), ("raw", "waw"), ("raw", "control")])
def test_other_kinds_are_walked(kinds: tuple[str, ...]) -> None:
    header: list[int] = []
    loose: list[int] = []
    for shape in STATIC.field_shape.tolist():
        header += [] if shape == Shape.FREE else long(BASE + 80)
        header += long(8) if shape == Shape.STEPPED else []
        loose += long(BASE + 96) if shape == Shape.FREE else [~3 & 0xFFFFFFFF] if shape >= Shape.SIGNED else []
    words = np.array([1, STATIC.first_run, 30, *header, *(30 * loose), STATIC.n_segments - 1, *long(BASE)], np.uint32)
    plain, folded, given = both(STATIC, words, kinds=kinds)
    assert plain.totals() == folded.totals() and given == plain.records_at
    assert plain.totals().kinds["register"] > 100 and any(
        plain.totals().kinds[name] for name in ("anti", "output", "control")
    )


SOURCE = """
#include <stdio.h>
int cells[64]; double a[5000], b[5000]; short s[5004]; char c[5008];
int main(int argc, char **argv) {
  unsigned at = 1; int sum = argc;
  for (long i = 0; i < 6000; i++) { at = at * 1103515245u + 12345u; cells[at >> 27] += 1; }
  for (int i = 0; i < 9000; i++) sum += i ^ sum;
  for (int r = 0; r < 2; r++) for (int i = 1; i < 5000; i++) a[i] = a[i - 1] + b[i];
  for (int i = 0; i < 5000; i++) s[i + 4] += s[i];
  for (int i = 0; i < 5000; i++) c[i + 1] = c[i] + 1;
  for (int i = 0; i < 5000; i++) sum += s[i] + c[i];
  for (int i = 0; i < 20; i++) sum += cells[i];
  printf("%d %g\\n", sum, a[77]);
  return 0;
}
"""


def test_totals_of_a_program_with_long_loops(tmp_path: Path) -> None:
    (tmp_path / "loops.c").write_text(SOURCE)
    kept = trace(tmp_path / "loops.c", output=tmp_path / "loops.tct")
    folder = Folder(Builder(kept.static, totals=True))
    lengths = [int(words[place]) for _, words in kept.chunks(runs=True) for place in _long_runs(folder, words)]
    assert len(lengths) >= 7, "loops that are folded"
    live, graph = graph_totals(tmp_path / "loops.c").graph, build_graph(kept).graph
    for found in (graph_totals(kept).graph, live):
        assert (found.nodes, found.edges) == (graph.n, graph.m)
        assert found.weight == int(graph.weight.sum()) and found.time == int(graph.time.sum())
        assert found.kinds == {name: int((graph.kind == kind).sum()) for kind, name in KINDS.items()}
    wide = Builder(kept.static, totals=True, narrow=40_000)
    folder = Folder(wide)
    for _, words in kept.chunks(runs=True):
        folder.feed(words)
    assert wide.totals() == live and wide.arrays["src"].dtype == np.int64


def _long_runs(folder: Folder, words: np.ndarray) -> list[int]:
    """Where the runs stand that are long enough."""
    found, place, lengths = [], 0, folder._lengths
    while place < words.size:
        word = int(words[place])
        times = int(words[place + 1]) if lengths.first_run <= word < lengths.words.size else 0
        if times >= FEWEST:
            found.append(place)
        size = lengths.words[word] if word < lengths.words.size else lengths.marks[word & 0xFF]
        place += int(size) + (times * int(lengths.free[word]) if times else 0)
    return found
