"""Records written by templates, against the walk over their steps: the same graph, bit for bit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.support.errors import ArtefactError
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.depgraph.state.segment_steps import tables_of
from tracecut.tracer.depgraph.walk.emit_thread import Writer
from tracecut.tracer.depgraph.walk.resolve import FEW, N_STRETCHES, RECORDS, STRETCHES
from tracecut.tracer.depgraph.walk.simd import LANES, put
from tracecut.tracer.depgraph.walk.templates import HEAD, HOLES, KEEPS, LASTS, PHIS, SIZE, templates_of
from tracecut.tracer.trace.events.event_words import MARK_WORDS, READ, Kind, Mark
from tracecut.tracer.trace.tables.static_tables import Static

from tracecut.api.dependence_graph import build_graph

SOURCE = """
#include <stdlib.h>
#include <string.h>
#define MANY(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17)
static unsigned char small[300];
static short middle[200];
static long wide[120];
static double real[200];
__attribute__((noinline)) static long step(long a, int k) { return k % 3 ? a + wide[k % 120] : a ^ middle[k % 200]; }
__attribute__((noinline)) static long many(const long *x, const int *y) {
#define TERM(k) + x[k] * y[k] + x[k + 18] * y[k + 18]
  return 0 MANY(TERM);
}
int main(void) {
  long sum = 0;
  int ints[40];
  for (int k = 0; k < 40; k++) ints[k] = k * k;
  for (int k = 0; k < 300; k++) small[k] = (unsigned char)(k * 7);
  for (int k = 0; k < 200; k++) middle[k] = (short)(small[k] + small[k + 9]), real[k] = k;
  for (int k = 0; k < 120; k++) wide[k] = middle[k] * 3;
  for (int round = 0; round < 30; round++) {
    double *fresh = malloc(64 * sizeof *fresh);
    for (int k = 0; k < 64; k++) fresh[k] = real[k] + (k ? fresh[k - 1] : 0);
    memcpy(real + round, fresh, 40 * sizeof *real);
    for (int k = 0; k < 64; k++) sum = step(sum + (long)fresh[k], k);
    sum += many(wide + round, ints);
    free(fresh);
  }
  return (int)(sum & 1);
}
"""
FIELDS = ("src", "dst", "weight", "kind", "instruction", "time")
Words = npt.NDArray[np.uint32]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(static, words) of a run of SOURCE, by form, with or without times."""
    folder = tmp_path_factory.mktemp("templates")
    (folder / "program.c").write_text(SOURCE)

    @cache
    def one(opt: str, timed: bool = False) -> tuple[Static, Words]:
        trace = build_graph(folder / "program.c", opt=opt, timed=timed, output=folder / f"{opt}{timed}.tct").trace
        return trace.static, np.concatenate([words for _, words in trace.chunks()])

    return one


def graph_of(static: Static, chunks: list[Words], **options: Any) -> DependenceGraph:
    builder = Builder(static, **options)
    for words in chunks:
        builder.feed(words)
    return builder.graph()


def assert_same(first: DependenceGraph, second: DependenceGraph) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name, strict=True)


def records_of(static: Static, words: Words) -> list[int]:
    """Where each record or mark begins."""
    found: list[int] = []
    place = 0
    while place < words.size:
        found.append(place)
        word = int(words[place])
        place += 1 + (int(static.segment_words[word]) if word < static.n_segments else MARK_WORDS[Mark(word)])
    return found


@pytest.mark.parametrize("opt", ["O1", "seed"])
@pytest.mark.parametrize("weights", ["model", "unit", "times"])
def test_templates_and_steps_give_the_same_graph(traced: Any, opt: str, weights: str) -> None:
    static, words = traced(opt, weights == "times")
    slow = graph_of(static, [words], weights=weights, simple=False)
    assert_same(slow, graph_of(static, [words], weights=weights))
    assert_same(slow, graph_of(static, [words], weights=weights, threads=2))
    assert slow.n > RECORDS  # more than one order


@pytest.mark.parametrize("opt", ["O1", "seed"])
def test_what_is_simple(traced: Any, opt: str) -> None:
    """Loops, calls and returns are; copies of ranges and allocations are not. The sizes are those of the segments."""
    static, _ = traced(opt)
    tables = tables_of(static)
    templates = templates_of(tables)
    heads = templates.heads.reshape(-1, HEAD)
    for segment in range(1, static.n_segments):
        items = range(int(static.segment_item[segment]), int(static.segment_item[segment + 1]))
        kinds = {Kind(int(static.item_kind[item])) for item in items}
        if kinds - {Kind.ADDR, Kind.FRAME}:
            assert not templates.simple[segment]
            assert not heads[segment].any()
            assert templates.edge[segment] == templates.edge[segment + 1]
        elif templates.simple[segment]:
            assert heads[segment, SIZE] == tables.size[segment]
    assert templates.simple.sum() > 10
    assert heads[:, PHIS].any() and heads[:, KEEPS].any()
    if opt == "O1":
        assert heads[:, HOLES].max() > 63  # more than a mask can tell of
    else:
        assert heads[:, LASTS].any()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_addresses(traced: Any, data: st.DataObject) -> None:
    """Accesses that overlap in all ways, across words and pages, cut into chunks anywhere."""
    static, words = traced(data.draw(st.sampled_from(["O1", "seed"])))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    window = data.draw(st.sampled_from([1, 7, 64, 5000]))
    places = records_of(static, words)
    begin = data.draw(st.integers(0, len(places) - 2))
    end = min(len(places) - 1, begin + data.draw(st.integers(1, 3000)))
    changed = words[: places[end]].copy()
    for place in places[begin:end]:
        segment = int(changed[place])
        if segment >= static.n_segments:
            continue
        for item in range(int(static.segment_item[segment]), int(static.segment_item[segment + 1])):
            if static.item_kind[item] == Kind.ADDR and random.random() < 0.7:
                address = 0x7000_0000_0FFD + int(random.integers(window)) - window // 2
                at = place + 1 + int(static.item_word[item])
                changed[at], changed[at + 1] = address & 0xFFFFFFFF, address >> 32
    cuts = sorted(places[cut] for cut in random.integers(0, end, 3).tolist())
    chunks = np.split(changed, cuts)
    slow = graph_of(static, [changed], simple=False)
    assert_same(slow, graph_of(static, chunks, threads=data.draw(st.sampled_from([1, 2]))))


@pytest.mark.parametrize("threads", [1, 2])
def test_many_stretches(traced: Any, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order that is full of stretches, because each record comes alone."""
    static, words = traced("seed")
    places = records_of(static, words)
    one = [words[begin:end] for begin, end in zip(places, [*places[1:], words.size], strict=True)]
    assert len(one) > 5 * STRETCHES
    few = one[: 5 * STRETCHES]
    slow = graph_of(static, few, simple=False)
    handed: list[int] = []
    hand_over = Writer.hand_over

    def noted(writer: Writer) -> None:
        handed.append(int(writer.order.counts[N_STRETCHES]))
        hand_over(writer)

    monkeypatch.setattr(Writer, "hand_over", noted)
    assert_same(slow, graph_of(static, few, threads=threads))
    assert max(handed) == STRETCHES


def test_any_source_of_many_may_be_missing(traced: Any) -> None:
    """Of a segment with more sources than a mask has bits, in each record another load reads what nobody wrote."""
    static, words = traced("O1")
    heads = templates_of(tables_of(static)).heads.reshape(-1, HEAD)
    (segment,) = np.flatnonzero(heads[:, HOLES] > FEW + 1).tolist()  # the last of them are loads
    items = range(int(static.segment_item[segment]), int(static.segment_item[segment + 1]))
    loads = [int(static.item_word[item]) for item in items if static.item_access[item] == READ]
    (begin,) = (place for place in records_of(static, words) if words[place] == segment)
    end = begin + 1 + int(static.segment_words[segment])

    def repeated(*missing: int) -> Words:
        """The stream up to that record, which comes once for each load that is to have no source."""
        parts = [words[:begin]]
        for load in missing:
            parts.append(words[begin:end].copy())
            parts[-1][1 + load : 3 + load] = 0x1000, 0x6000
        return np.concatenate(parts)

    graphs = []
    for stream in (repeated(*loads), repeated(*(len(loads) * loads[-1:]))):
        graphs.append(graph_of(static, [stream], simple=False))
        assert_same(graphs[-1], graph_of(static, [stream]))
    plain = np.concatenate([words[:begin], *(len(loads) * [words[begin:end]])])
    assert graph_of(static, [plain]).m == graphs[0].m + len(loads) == graphs[1].m + len(loads)


def test_numbers_of_another_width_are_not_put() -> None:
    @njit
    def copied(out: Any, table: Any) -> None:
        put(out, 0, table, 0, 3)

    for kind in (np.uint8, np.int32, np.int64):
        out = np.zeros(LANES, kind)
        copied(out, np.arange(LANES).astype(kind))
        assert out.tolist() == list(range(3, 3 + LANES))
    with pytest.raises(TypingError, match="int32 numbers of the table do not go into an array of int64"):
        copied(np.zeros(LANES, np.int64), np.zeros(LANES, np.int32))


@pytest.mark.parametrize("threads", [1, 2])
def test_damage_is_refused_in_the_same_place(traced: Any, threads: int) -> None:
    static, words = traced("O1")
    places = records_of(static, words)
    for damaged in (words[:-1], np.concatenate([words[: places[900]], [static.n_segments, 0, 0]]).astype(np.uint32)):
        said = []
        for options in ({"simple": False}, {"threads": threads}):
            builder = Builder(static, **options)
            with pytest.raises(ArtefactError) as caught:
                builder.feed(damaged)
            said.append(str(caught.value))
        assert said[0] == said[1]
    with pytest.raises(ArtefactError, match="cut off"):
        Builder(static, threads=threads).feed(words[: places[900] - 1])


@pytest.mark.parametrize("threads", [1, 2])
def test_ids_may_widen_on_the_way(traced: Any, threads: int) -> None:
    static, words = traced("O1")
    narrow, builder = graph_of(static, [words], simple=False), Builder(static, narrow=40_000, threads=threads)
    builder.feed(words)
    assert builder.arrays["src"].dtype == np.int64
    wide = builder.graph()
    assert wide.n == narrow.n > 40_000
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(narrow, name), getattr(wide, name))
