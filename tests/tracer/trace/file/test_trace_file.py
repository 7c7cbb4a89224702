"""Trace files: what goes in comes out, and damage is an error or a readable prefix, never a crash."""

from __future__ import annotations

import dataclasses
import itertools
import os
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.support.errors import ArtefactError, OutputError
from tracecut.tracer.depgraph.state.segment_steps import tables_of
from tracecut.tracer.trace.events.event_words import MARK_WORDS, Mark
from tracecut.tracer.trace.file.byte_planes import PLANES, merge, split
from tracecut.tracer.trace.file.codec import Coder, Fields
from tracecut.tracer.trace.file.trace_file import MAGIC, VERSION, TraceFile, TraceWriter
from tracecut.tracer.trace.tables.records import OK, SHORT, WILD, ZERO, Lengths, walk
from tracecut.tracer.trace.tables.static_tables import TABLES, Static, static_of
from tracecut.tracer.trace.tables.verify_tables import verify_tables
from tracecut.tracer.trace.trace import Trace

pytestmark = pytest.mark.usefixtures("both_ways")

TEXT = """
@a = global [16 x i32] zeroinitializer
declare <33 x i8> @llvm.masked.load.v33i8.p0(ptr, <33 x i1>, <33 x i8>)
declare <2 x i8> @llvm.masked.gather.v2i8.v2p0(<2 x ptr>, <2 x i1>, <2 x i8>)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @main(i32 %n, ptr %p, <33 x i1> %m, <2 x ptr> %q) {
entry:
  %s = alloca i32
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %more ]
  %x = load i32, ptr %p
  store i32 %x, ptr %p
  store i32 %x, ptr %s
  %c = icmp eq i32 %i, %n
  br i1 %c, label %out, label %more
more:
  %j = add i32 %i, 1
  %v = call <33 x i8> @llvm.masked.load.v33i8.p0(ptr %p, <33 x i1> %m, <33 x i8> zeroinitializer)
  %k = bitcast <2 x ptr> %q to <2 x ptr>
  %w = call <2 x i8> @llvm.masked.gather.v2i8.v2p0(<2 x ptr> %q, <2 x i1> zeroinitializer, <2 x i8> zeroinitializer)
  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %p, i64 4, i1 false)
  br label %loop
out:
  ret i32 %x
}
"""
STATIC = static_of(TEXT)
SEGMENTS = list(range(1, STATIC.n_segments))
COMPACT = {
    5: (0, 6),
    6: (15, 6),
    7: (4, -1),
}  # id → words and instructions of short records, and of the loop (−1: none)
WORD = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, *COMPACT, 8, 2**31, 2**32 - 1]))


@st.composite
def streams(draw: st.DrawFn, most: int = 30) -> np.ndarray:
    """Any words that are whole records: ids and marks as the walker knows them, payloads as they may be."""
    words: list[int] = []
    for _ in range(draw(st.integers(0, most))):
        name = draw(st.sampled_from([*SEGMENTS, *SEGMENTS, *Mark]))
        count = MARK_WORDS[Mark(name)] if name in set(Mark) else int(STATIC.segment_words[name])
        words += [int(name), *draw(st.lists(WORD, min_size=count, max_size=count))]
    return np.array(words, np.uint32)


def test_the_static_tables_of_the_example() -> None:
    assert [int(words) for words in STATIC.segment_words] == [0, 4, 4, 2 + 2 + 4 + 1 + 6, 0]
    verify_tables(STATIC)


@settings(max_examples=60, deadline=None)
@given(st.lists(streams(), max_size=4))
def test_decoding_gives_the_same_words(parts: list[np.ndarray]) -> None:
    fields = Fields.of(STATIC)
    encoder, decoder = Coder(fields), Coder(fields)
    for words in parts:
        segments, payloads = encoder.encode(words)
        back = decoder.decode(segments, payloads, words.size)
        assert back is not None and np.array_equal(back, words)


@settings(max_examples=60, deadline=None)
@given(streams(), st.integers(0, 10**6), st.integers(1, 255))
def test_decoding_survives_any_bytes(words: np.ndarray, place: int, flip: int) -> None:
    fields = Fields.of(STATIC)
    segments, payloads = (part.copy() for part in Coder(fields).encode(words))
    target = (segments, payloads)[place % 2]
    target[place // 2 % target.size] ^= flip
    for count in (words.size, max(0, words.size - 1), words.size + 1):
        back = Coder(fields).decode(segments, payloads, count)
        assert back is None or back.size == count


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_sorted_and_come_back(data: bytes) -> None:
    planes, sizes = split(np.frombuffer(data, np.uint8))
    expected = [bytearray() for _ in range(PLANES)]
    plane = 0
    for byte in data:
        expected[plane].append(byte)
        if byte < 128:  # a count is followed by a value, a value by a count
            plane = int(plane == 0)
        elif plane:
            plane = min(plane + 1, PLANES - 1)
    assert [len(part) for part in expected] == sizes.tolist() and b"".join(expected) == planes.tobytes()
    back = merge(planes, sizes)
    assert back is not None and back.tobytes() == data


@settings(deadline=None)
@given(st.binary(max_size=60), st.lists(st.integers(-1, 60), min_size=PLANES, max_size=PLANES))
def test_planes_that_were_not_made_by_sorting(data: bytes, sizes: list[int]) -> None:
    back = merge(np.frombuffer(data, np.uint8), np.array(sizes))
    if back is not None:
        assert split(back)[1].tolist() == sizes


def slow_walk(words: np.ndarray, most: int) -> tuple[int, int, int, int, int]:
    place = records = count = 0
    last = -1
    while place < words.size and count < most:
        word = int(words[place])
        if word == 0:
            return place, last, records, count, ZERO
        if word < STATIC.n_segments:
            size, worth = int(STATIC.segment_words[word]), int(STATIC.segment_end[word] - STATIC.segment_first[word])
        elif word in COMPACT:
            size, worth = COMPACT[word]
        elif word in set(Mark):
            size, worth = MARK_WORDS[Mark(word)], -1
        else:
            return place, last, records, count, WILD
        if place + 1 + size > words.size:
            return place, last, records, count, SHORT
        if worth >= 0:
            records, count = records + 1, count + worth
        last, place = place, place + 1 + size
    return place, last, records, count, OK


@settings(max_examples=100, deadline=None)
@given(streams(10), st.integers(0, 40), st.integers(0, 100), WORD, st.integers(0, 60))
def test_walking_agrees_with_a_slow_walk(words: np.ndarray, most: int, place: int, word: int, cut: int) -> None:
    damaged = words.copy()
    if damaged.size:
        damaged[place % damaged.size] = word
    for part in (words, damaged, words[: max(0, words.size - cut)]):
        assert walk(part, Lengths.of(STATIC), most) == slow_walk(part, most)


def example(count: int = 3000) -> np.ndarray:
    words: list[int] = [Mark.THREAD, 0, 0, 1, 7, 0, 4, 0]
    for step in range(count):
        words += [2, 4096 + 4 * step, 1, 7, 0] if step % 3 else [3, *range(step, step + 15)]
    return np.array([*words, 4, Mark.END, 0, 0], np.uint32)


def written(folder: Path, words: np.ndarray, static: Static = STATIC) -> Path:
    writer = TraceWriter(folder / "t.tct", static, {"argv": ["ä", "b"], "opt": "O1"})
    for part in np.split(words, [3, 8]):
        writer.add(0, part)
    writer.add(5, words[:3])
    writer.close({"totals": {"instructions": 1}, "outcome": "left with status 0", "ok": True})
    return writer.path


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    words = example()
    trace = Trace.load(written(tmp_path, words))
    assert trace.complete and trace.ok and trace.meta["argv"] == ["ä", "b"]
    assert trace.static.text == TEXT and trace.static.globals == (("@a", 64),)
    assert all(np.array_equal(table, STATIC.tables()[name]) for name, table in trace.static.tables().items())
    assert trace.static.tables().keys() == TABLES.keys()
    for _ in range(2):
        parts = dict(trace.chunks())
        assert np.array_equal(parts[0], words) and np.array_equal(parts[5], words[:3])
    assert not (tmp_path / "t.tct.partial").exists()


def test_tables_of_a_file_need_no_other_compiled_code(tmp_path: Path) -> None:
    read = Trace.load(written(tmp_path, example())).static
    assert numba.typeof(tables_of(read)) == numba.typeof(tables_of(STATIC))
    for name, table in read.tables().items():
        assert numba.typeof(table) == numba.typeof(STATIC.tables()[name]), name


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert written(tmp_path / "a", example()).read_bytes() == written(tmp_path / "b", example()).read_bytes()


def notices(path: Path, words: np.ndarray) -> str:
    """What reading a damaged file says: an error, or that it is incomplete; empty when it passes for whole."""
    try:
        trace = Trace.load(path)
        for stream, part in trace.chunks():
            assert np.array_equal(part, words if stream == 0 else words[:3])
    except ArtefactError as error:
        assert path.name in str(error)
        return str(error)
    assert trace.ok == trace.complete
    return "" if trace.complete else trace.outcome


def test_every_cut_is_noticed_and_leaves_whole_chunks(tmp_path: Path) -> None:
    words = example(100)
    data = written(tmp_path, words).read_bytes()
    path = tmp_path / "cut.tct"
    readable = 0
    for size in range(len(data)):
        path.write_bytes(data[:size])
        said = notices(path, words)
        assert said
        readable += "cut off" in said
    assert readable > 50


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    words = example(100)
    data = bytearray(written(tmp_path, words).read_bytes())
    path = tmp_path / "bits.tct"
    for place in range(len(data)):
        for bits in (1 << place % 8, 255):
            data[place] ^= bits
            path.write_bytes(data)
            assert notices(path, words), (place, bits)
            data[place] ^= bits


def test_bytes_behind_the_end_are_noticed(tmp_path: Path) -> None:
    words = example(100)
    data = written(tmp_path, words).read_bytes()
    path = tmp_path / "more.tct"
    for more in (b"\0", b"x", bytes(19), data[-20:], data[12:], data):
        path.write_bytes(data + more)
        assert f"{len(more)} bytes behind its end, at byte {len(data)}" in notices(path, words)


def test_a_block_that_is_missing_doubled_or_of_another_file_is_noticed(tmp_path: Path) -> None:
    words = example(100)
    data = written(tmp_path, words).read_bytes()
    path = tmp_path / "blocks.tct"
    starts = [12]
    while starts[-1] < len(data):
        starts.append(starts[-1] + 20 + int.from_bytes(data[starts[-1] + 4 : starts[-1] + 12], "little"))
    blocks = [data[a:b] for a, b in itertools.pairwise(starts)]
    assert [block[:4] for block in blocks] == [b"HEAD", b"TEXT", b"TABL", b"DATA", b"DATA", b"TAIL"]
    other = written(tmp_path, example(99)).read_bytes()
    start = len(data) - len(blocks[-1]) - len(blocks[-2])
    for changed in (
        [*blocks[:3], *blocks[4:]],
        [*blocks[:4], blocks[3], *blocks[4:]],
        [*blocks[:3], blocks[4], blocks[3], blocks[5]],
        [*blocks[:3], other[start : start + 400]],
    ):
        path.write_bytes(data[:12] + b"".join(changed))
        assert notices(path, words)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a trace"),
        (b"PK\3\4" + bytes(100), "not a trace"),
        (MAGIC + (VERSION + 1).to_bytes(4, "little") + bytes(100), f"format {VERSION + 1}"),
        (MAGIC + VERSION.to_bytes(4, "little"), "ends in the middle"),
        (MAGIC + VERSION.to_bytes(4, "little") + b"HEAD" + b"\xff" * 16, "wrong check sum"),
    ],
)
def test_foreign_files(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(data)
    with pytest.raises(ArtefactError, match=words):
        TraceFile(path)


@pytest.mark.parametrize("table", ["segment_words", "segment_item", "item_word", "item_kind", "block_first"])
def test_tables_that_contradict_each_other(table: str) -> None:
    wrong = STATIC.tables()[table].copy()
    wrong[-1] += 7
    with pytest.raises(ValueError):
        verify_tables(dataclasses.replace(STATIC, **{table: wrong}))


def test_a_run_that_is_cut_off_leaves_a_readable_file(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "t.tct", STATIC, {})
    words = np.tile(example()[8:-4], 60)
    writer.add(0, words)
    trace = Trace.load(writer.partial)
    assert not trace.complete and "cut off" in trace.outcome
    assert sum(part.size for _, part in trace.chunks()) == (words.size if words.size >= 1 << 20 else 0)
    writer.abandon()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        TraceWriter(tmp_path / "file" / "t.tct", STATIC, {})
    (tmp_path / "full.tct.partial").symlink_to("/dev/full")
    with pytest.raises(OutputError, match="No space"):
        TraceWriter(tmp_path / "full.tct", STATIC, {})


def test_only_a_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OutputError, match="a folder, a device or a pipe"):
            TraceWriter(path, STATIC, {})
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"] and (tmp_path / "pipe").is_fifo()
