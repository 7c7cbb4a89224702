"""Compact records (`loop_runs`, `strided_loops`) expanded to the records that they stand for, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Bytes, Longs
from tracecut.support.lazy_kernels import compiled
from tracecut.support.plain_kernels import FEW, fitting
from tracecut.tracer.trace.compact.loop_runs import Shape
from tracecut.tracer.trace.events.event_words import FIRST_MARK, MAX_WORDS, Words

from .records import Lengths
from .static_tables import Static

PIECE = 1 << 17  # words that are made at once: they stay in the caches

STEPPED, FREE, SIGNED = np.uint8(Shape.STEPPED), np.uint8(Shape.FREE), np.uint8(Shape.SIGNED)


class CompactTables(NamedTuple):
    """Tables of `Static` that say what compact records stand for, with indices of 64 bits."""

    short_segment: Longs
    short_region: Longs
    short_word: Longs
    word_source: Longs
    region_field: Longs
    short_opens: Bytes
    run_segment: Longs
    run_field: Longs
    shape: Bytes
    step: npt.NDArray[np.uint64]


class Expander:
    """Writes out the streams of one module, each of which it has to see from its start.

    Args:
        reuse: the words of a piece are only valid until the next one is asked for.
    """

    def __init__(self, static: Static, *, reuse: bool = False) -> None:
        self._lengths = Lengths.of(static)
        names = set(CompactTables._fields) - {"short_opens", "shape", "step"}
        self._tables = CompactTables(
            short_opens=static.short_opens,
            shape=static.field_shape,
            step=static.field_step.view(np.uint64),
            **{name: getattr(static, name).astype(np.int64) for name in names},
        )
        first_region = static.n_segments + static.n_shorts
        self._borders = np.array([static.n_segments, first_region, static.first_run], np.uint32)
        self._fields, self._regions = static.field_shape.size, static.n_regions
        self._known: dict[int, tuple[Any, Any]] = {}
        self._room = np.empty(PIECE + MAX_WORDS, np.uint32) if reuse and self._fields else None

    def pieces(self, words: Words, stream: int) -> Iterator[Words]:
        """The same records, nothing compact among them, cut at borders of records.

        Args:
            words: whole records that `walk` passes. Each piece has to be taken before the stream goes on.

        Memory: PIECE words, whatever the runs stand for. O(words of the result).
        """
        if stream not in self._known:
            self._known[stream] = np.zeros((2, self._fields), np.uint64), np.zeros(self._regions, np.uint64)
        lengths = self._lengths
        place, done, made = 0, 0, words.size
        while place < words.size:
            if done == 0:
                plain = fitting(_end_of_plain, words.size)(words, place, lengths)
                if plain == words.size or plain - place >= PIECE:
                    yield words[place:plain]  # as they are
                    place = plain
                    continue
            piece = FEW if made <= FEW else PIECE  # a run may stand for any number of words
            out = np.empty(piece + MAX_WORDS, np.uint32) if self._room is None else self._room[: piece + MAX_WORDS]
            known = lengths, self._borders, self._tables, self._known[stream]
            place, done, size = fitting(_expand, made)(words, place, done, *known, out)
            made += size
            if size:
                yield out[:size] if self._room is not None else out[:size].copy()


@compiled(cache=True, nogil=True)
def _end_of_plain(words: Any, place: Any, tables: Any) -> Any:
    """Where the first compact record from `place` on begins."""
    lengths, _, _, _, marks, count, _ = tables
    segments = np.uint32(count)
    at, size = np.uint64(place), np.uint64(words.size)
    while at < size:
        word = words[at]
        if word < segments:
            at += np.uint64(lengths[word])
        elif word < np.uint32(FIRST_MARK):
            break
        else:
            at += np.uint64(marks[word & np.uint32(0xFF)])
    return np.int64(at)


@compiled(cache=True, nogil=True)
def _expand(words: Any, place: Any, done: Any, tables: Any, borders: Any, compact: Any, known: Any, out: Any) -> Any:
    """Fill `out`, up to its last MAX_WORDS words or a little more, from (place, iterations done of the run there).

    Args:
        tables: Lengths. borders: ids of the first short record, region and run. compact: CompactTables.
        known: where each field begins, and its step; the current iteration of each region, from 0.

    Returns (place, done, words made).
    """
    lengths, _, _, free, marks, _, _ = tables
    short_segment, short_region, short_word, word_source, region_field = compact[:5]
    short_opens, run_segment, run_field, shape, step = compact[5:]
    values, turns = known
    one, two, low, high = np.uint64(1), np.uint64(2), np.uint64(0xFFFFFFFF), np.uint64(32)
    at, size, made, most = np.uint64(place), np.uint64(words.size), np.uint64(0), np.uint64(out.size - MAX_WORDS)
    begun = np.uint64(done)
    first_short, first_region, first_run = borders[0], borders[1], borders[2]
    while at < size and made < most:
        word = words[at]
        if word < first_short or word >= np.uint32(FIRST_MARK):
            length = np.uint64(lengths[word] if word < first_short else marks[word & np.uint32(0xFF)])
            for offset in range(length):
                out[made + offset] = words[at + offset]
            made += length
            at += length
            continue
        if word < first_region:
            short = np.uint64(word - first_short)
            region = np.uint64(short_region[short])
            turns[region] += np.uint64(short_opens[short])
            turn = turns[region]
            out[made] = np.uint32(short_segment[short])
            made += one
            at += one
            source, end = np.uint64(short_word[short]), np.uint64(short_word[short + one])
            while source < end:
                field = word_source[source]
                if field < 0:
                    out[made] = words[at]
                    made += one
                    at += one
                    source += one
                    continue
                column = np.uint64(field) >> one
                value = values[0, column] + turn * values[1, column]
                out[made] = np.uint32(value & low)
                out[made + one] = np.uint32(value >> high)
                made += two
                source += two
            continue
        if word < first_run:
            region = np.uint64(word - first_region)
            begin, end = np.uint64(region_field[region]), np.uint64(region_field[region + one])
        else:
            run = np.uint64(word - first_run)
            begin, end = np.uint64(run_field[run]), np.uint64(run_field[run + one])
        source = at + one + np.uint64(word >= first_run)
        for field in range(begin, end):
            form = shape[field]
            if form == FREE:
                continue
            values[0, field] = np.uint64(words[source]) | np.uint64(words[source + one]) << high
            values[1, field] = step[field]
            source += two
            if form == STEPPED:
                values[1, field] = np.uint64(words[source]) | np.uint64(words[source + one]) << high
                source += two
        if word < first_run:
            turns[region] = np.uint64(0xFFFFFFFFFFFFFFFF)  # the record that opens the loop makes it 0
            at += np.uint64(lengths[word])
            continue
        segment = np.uint32(run_segment[run])
        times = np.uint64(words[at + one])
        for field in range(begin, end):
            if shape[field] < FREE:
                values[0, field] += begun * values[1, field]
        source += begun * np.uint64(free[word])
        now = min(times - begun, (most - made) // (one + two * (end - begin)) + one)
        for _ in range(now):
            out[made] = segment
            made += one
            for field in range(begin, end):
                if shape[field] == FREE:
                    out[made] = words[source]
                    out[made + one] = words[source + one]
                    source += two
                elif shape[field] > FREE:
                    turned = words[source] ^ np.uint32(0xFFFFFFFF)
                    index = np.uint64(turned)
                    if shape[field] == SIGNED:
                        index = np.uint64(np.int64(np.int32(turned)))
                    value = values[0, field] + index * values[1, field]
                    out[made] = np.uint32(value & low)
                    out[made + one] = np.uint32(value >> high)
                    source += one
                else:
                    value = values[0, field]
                    out[made] = np.uint32(value & low)
                    out[made + one] = np.uint32(value >> high)
                    values[0, field] = value + values[1, field]
                made += two
        begun += now
        if begun == times:
            at += np.uint64(lengths[word]) + times * np.uint64(free[word])
            begun = np.uint64(0)
    return np.int64(at), np.int64(begun), np.int64(made)
