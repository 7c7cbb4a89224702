"""Runs and short records as words: what they stand for, stored, damaged, and impossible ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.trace.compact.loop_runs import HEADER_WORDS, RUN_LIMIT, Shape
from tracecut.tracer.trace.events.event_words import FIRST_MARK, MARK_WORDS, Mark
from tracecut.tracer.trace.file.codec import Coder, Fields
from tracecut.tracer.trace.file.trace_file import TraceWriter
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import record
from tracecut.tracer.trace.tables.expand import PIECE, Expander
from tracecut.tracer.trace.tables.records import OK, SHORT, WILD, Lengths, walk
from tracecut.tracer.trace.tables.static_tables import Static, static_of
from tracecut.tracer.trace.tables.verify_tables import verify_tables
from tracecut.tracer.trace.trace import Trace

from ..recorded import HEAD, LIMITS, module_text
from ..replay import Words

pytestmark = pytest.mark.usefixtures("both_ways")

# One loop with a fixed, a computed and an unknown step, and one without any access.
TEXT = """
@a = global [4096 x i64] zeroinitializer
define i32 @main(i64 %n, i64 %s) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %p = getelementptr i64, ptr @a, i64 %i
  %x = load i64, ptr %p
  %j = mul i64 %i, %s
  %q = getelementptr i8, ptr @a, i64 %j
  %y = load i8, ptr %q
  %r = getelementptr i64, ptr @a, i64 %x
  store i64 %x, ptr %r
  %z = trunc i64 %x to i32
  %z.s = sext i32 %z to i64
  %t = getelementptr { i16, [8 x i16] }, ptr @a, i64 1, i32 1, i64 %z.s
  store i16 0, ptr %t
  %z.u = zext i32 %z to i64
  %b = getelementptr i8, ptr @a, i64 %z.u
  store i8 0, ptr %b
  %i.next = add i64 %i, 1
  %c = icmp eq i64 %i.next, %n
  br i1 %c, label %middle, label %loop
middle:
  br label %head
head:
  %k = phi i64 [ 0, %middle ], [ %k.next, %tail ]
  %u = getelementptr [2 x i64], ptr @a, i64 %k
  %f = getelementptr i8, ptr %u, i64 %s
  %v = load i64, ptr %f
  %w = load i64, ptr @a
  %e = icmp eq i64 %v, %w
  br i1 %e, label %odd, label %tail
odd:
  %m = mul i64 %k, %s
  %o = getelementptr i8, ptr @a, i64 %m
  store i8 0, ptr %o
  %g = getelementptr i8, ptr @a, i64 %v
  store i8 1, ptr %g
  call void @llvm.memset.p0.i64(ptr @a, i8 0, i64 %v, i1 false)
  br label %idle
idle:
  %h = phi i64 [ 0, %odd ], [ %h.next, %idle ]
  %h.next = add i64 %h, 3
  %d = icmp ugt i64 %h.next, %n
  br i1 %d, label %tail, label %idle
tail:
  %k.next = add i64 %k, 1
  %l = icmp eq i64 %k.next, %n
  br i1 %l, label %out, label %head
out:
  ret i32 0
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
STATIC = static_of(TEXT)
S, FIRST_RUN = STATIC.n_segments, STATIC.first_run
WORD = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 8, 2**31, 2**32 - 1]))


def test_the_static_tables_of_the_example() -> None:
    assert (STATIC.n_shorts, STATIC.n_regions, STATIC.n_runs) == (3, 1, 2)
    assert STATIC.run_segment.tolist() == [2, 6] and STATIC.short_segment.tolist() == [4, 5, 7]
    assert STATIC.short_opens.tolist() == [1, 0, 0]
    shapes = [Shape.FIXED, Shape.STEPPED, Shape.FREE, Shape.SIGNED, Shape.UNSIGNED]
    shapes += [Shape.FIXED, Shape.FIXED, Shape.STEPPED]
    assert STATIC.field_shape.tolist() == shapes and STATIC.field_step.tolist() == [8, 0, 0, 2, 1, 16, 0, 0]
    assert STATIC.word_source.tolist() == [10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1]
    verify_tables(STATIC)
    for none in (static_of(TEXT, compact=False), static_of(TEXT, timed=True)):
        assert none.n_runs == none.n_regions == none.n_shorts == 0


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ("run_segment", 99),
        ("run_field", 1),
        ("region_field", 9),
        ("short_segment", 0),
        ("short_region", 1),
        ("short_word", 11),
        ("word_source", 16),
        ("field_shape", 5),
    ],
)
def test_tables_that_contradict_each_other(table: str, value: int) -> None:
    wrong = STATIC.tables()[table].copy()
    wrong[-1] = value
    with pytest.raises(ValueError):
        verify_tables(dataclasses.replace(STATIC, **{table: wrong}))


@st.composite
def streams(draw: st.DrawFn, most: int = 12) -> Words:
    """Records, marks and runs, as a program may write them."""
    lengths = Lengths.of(STATIC)
    words: list[int] = []
    for _ in range(draw(st.integers(0, most))):
        name = draw(st.sampled_from([*range(1, FIRST_RUN + 2), FIRST_RUN, S, S + 1, *Mark]))
        words.append(int(name))
        if name in set(Mark):
            count = MARK_WORDS[Mark(name)]
        elif name >= FIRST_RUN:
            times = draw(st.integers(0, 5))
            words.append(times)
            count = int(lengths.words[name]) - 2 + times * int(lengths.free[name])
        else:
            count = int(lengths.words[name]) - 1
        words += draw(st.lists(WORD, min_size=count, max_size=count))
    return np.array(words, np.uint32)


def slowly_expanded(static: Static, words: Words) -> list[int]:
    """What runs and short records stand for, one word after the other."""
    out: list[int] = []
    place = 0
    values: dict[int, tuple[int, int]] = {}
    turns = [0] * static.n_regions

    def told(fields: range) -> None:
        nonlocal place
        for field in fields:
            shape, step = Shape(int(static.field_shape[field])), int(static.field_step[field])
            found = [int(words[place + k]) | int(words[place + k + 1]) << 32 for k in range(0, HEADER_WORDS[shape], 2)]
            place += HEADER_WORDS[shape]
            if found:
                values[field] = (found[0], found[1] if shape is Shape.STEPPED else step)

    def address(field: int, turn: int) -> list[int]:
        begin, step = values.get(field, (0, 0))
        where = (begin + turn * step) % 2**64
        return [where & 0xFFFFFFFF, where >> 32]

    while place < words.size:
        word = int(words[place])
        place += 1
        if word >= FIRST_MARK or word < static.n_segments:
            size = MARK_WORDS[Mark(word)] if word >= FIRST_MARK else int(static.segment_words[word])
            out += [word, *words[place : place + size].tolist()]
            place += size
        elif word < static.n_segments + static.n_shorts:
            short = word - static.n_segments
            region = int(static.short_region[short])
            turns[region] += int(static.short_opens[short])
            out.append(int(static.short_segment[short]))
            for source in static.word_source[
                int(static.short_word[short]) : int(static.short_word[short + 1])
            ].tolist():
                if source < 0:
                    out.append(int(words[place]))
                    place += 1
                else:
                    out.append(address(source // 2, turns[region])[source % 2])
        elif word < static.first_run:
            region = word - static.n_segments - static.n_shorts
            told(range(int(static.region_field[region]), int(static.region_field[region + 1])))
            turns[region] = -1
        else:
            run = word - static.first_run
            times, place = int(words[place]), place + 1
            fields = range(int(static.run_field[run]), int(static.run_field[run + 1]))
            told(fields)
            for turn in range(times):
                out.append(int(static.run_segment[run]))
                for field in fields:
                    shape = static.field_shape[field]
                    if shape in (Shape.FIXED, Shape.STEPPED):
                        out += address(field, turn)
                    elif shape == Shape.FREE:
                        out += words[place : place + 2].tolist()
                        place += 2
                    else:
                        index = ~int(words[place]) & 0xFFFFFFFF
                        out += address(field, index - 2**32 if shape == Shape.SIGNED and index >> 31 else index)
                        place += 1
    return out


@settings(max_examples=150, deadline=None)
@given(streams())
def test_what_is_compact_is_written_out(words: Words) -> None:
    begun = np.array([S + 3, *[7] * 8], np.uint32)  # a region that was not entered has no addresses yet
    words = np.concatenate([begun, words])
    expected = slowly_expanded(STATIC, words)
    for reuse in (False, True):
        parts = [part.copy() for part in Expander(STATIC, reuse=reuse).pieces(words, 0)]
        assert [word for part in parts for word in part.tolist()] == expected
    cut = walk(words, Lengths.of(STATIC), 40)[0]
    expander = Expander(STATIC)  # what it knows of a region stays
    parts = [part for half in (words[:cut], words[cut:]) for part in expander.pieces(half, 3)]
    assert [word for part in parts for word in part.tolist()] == expected
    lengths = Lengths.of(STATIC)
    end, _, records, instructions, why = walk(words, lengths, 1 << 62)
    assert (end, why) == (words.size, OK)
    plain = walk(np.array(expected, np.uint32), lengths, 1 << 62)
    assert plain[2:] == (records, instructions, OK)


@settings(max_examples=80, deadline=None)
@given(st.lists(streams(), max_size=3))
def test_runs_are_stored(parts: list[Words]) -> None:
    fields = Fields.of(STATIC)
    encoder, decoder = Coder(fields), Coder(fields)
    for words in parts:
        segments, payloads = encoder.encode(words)
        back = decoder.decode(segments, payloads, words.size)
        assert back is not None and np.array_equal(back, words)


@settings(max_examples=80, deadline=None)
@given(streams(), st.integers(0, 10**6), st.integers(1, 255))
def test_damaged_runs_are_survived(words: Words, place: int, flip: int) -> None:
    segments, payloads = (part.copy() for part in Coder(Fields.of(STATIC)).encode(words))
    target = (segments, payloads)[place % 2]
    target[place // 2 % target.size] ^= flip
    back = Coder(Fields.of(STATIC)).decode(segments, payloads, words.size)
    if back is not None and walk(back, Lengths.of(STATIC), 1 << 62)[4] == OK:
        assert all(part.size for part in Expander(STATIC).pieces(back, 0))


def test_what_can_not_be() -> None:
    lengths, run = Lengths.of(STATIC), FIRST_RUN
    for words, why in (
        ([run, 1, *[0] * 13], SHORT),  # the last index is missing
        ([run, 1, *[0] * 14], OK),
        ([run, 1, 0], SHORT),
        ([run + 1, RUN_LIMIT + 1], WILD),
        ([run + 1, RUN_LIMIT], OK),
        ([run + 2, 1], WILD),
        ([S + 1, 1], SHORT),
        ([S + 3, *[1] * 8], OK),
        ([S + 3, *[1] * 7], SHORT),
    ):
        assert walk(np.array(words, np.uint32), lengths, 1 << 62)[4] == why
    long = Expander(STATIC).pieces(np.array([run + 1, RUN_LIMIT], np.uint32), 0)
    sizes = [part.size for part in long]
    assert sum(sizes) == RUN_LIMIT and max(sizes) <= PIECE + 1


def test_runs_are_kept_in_files(tmp_path: Path) -> None:
    source = HEAD + "int a[9000]; int main(void) { int s = 0; for (int i = 0; i < 9000; i++) s += a[i]; return s; }"
    text = module_text(source, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    seen: list[Words] = []
    with_runs = TraceWriter(tmp_path / "runs.tct", static, {})
    expander = Expander(static)
    plain = TraceWriter(tmp_path / "plain.tct", static, {})

    def sink(stream: int, words: Words) -> None:
        with_runs.add(stream, words)
        for part in expander.pieces(words, stream):
            plain.add(stream, part)
            seen.append(part.copy())

    record([program], static, sink, folder=tmp_path, limits=LIMITS, runs=True)
    with_runs.close({})
    plain.close({})
    expected = np.concatenate(seen)
    for writer in (with_runs, plain):
        assert np.array_equal(np.concatenate([words for _, words in Trace.load(writer.path).chunks()]), expected)
    stored = np.concatenate([words for _, words in Trace.load(with_runs.path).chunks(runs=True)])
    assert stored.size < expected.size // 100 and slowly_expanded(static, stored) == expected.tolist()
