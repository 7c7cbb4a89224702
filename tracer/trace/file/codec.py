"""Compact form of a stream: correct predictions are counted, all other values are written as small numbers.

The next segment is predicted from the last two, each 64-bit field of a payload from its previous value and a stride.
The result is two byte strings, of the mispredicted segments and of the mispredicted fields, which zstd compresses.
Every table starts empty with a stream: its chunks have to be decoded in order.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled
from tracecut.support.plain_kernels import fitting, plain
from tracecut.tracer.trace.compact.loop_runs import FREE_WORDS, HEADER_WORDS, RUN_LIMIT, Shape
from tracecut.tracer.trace.events.event_words import FIRST_MARK, Kind, Words, mask_words, words_of
from tracecut.tracer.trace.tables.records import mark_lengths
from tracecut.tracer.trace.tables.static_tables import Static

Bytes = npt.NDArray[np.uint8]
CONTEXTS = 1 << 14  # entries of the table of segment successors
GROWTH = 24  # bytes that a word may cost at most, with its runs


class Fields(NamedTuple):
    """Fields of the payloads of all N ids: segments, short records, regions, runs.

    Attributes:
        first: int64[N + 1], first field of each. wide: uint8, 1 for two words.
        tail: int64[N], how many of the last fields of a run are repeated for each iteration; the first field of a run
            is the number of iterations.
        marks: uint32[256], see `records.mark_lengths`. first_run: id of the first run.
    """

    first: npt.NDArray[np.int64]
    wide: Bytes
    tail: npt.NDArray[np.int64]
    marks: Words
    first_run: np.uint32

    @classmethod
    def of(cls, static: Static) -> Fields:
        """All words of an item are pairs, apart from mask words and times at its end. O(items)."""
        found: list[list[int]] = [_wide(static, segment) for segment in range(static.n_segments)]
        for short in range(static.n_shorts):
            sources = static.word_source[static.short_word[short] : static.short_word[short + 1]]
            wide, word = [], 0
            for pair in found[int(static.short_segment[short])]:
                wide += [pair] if sources[word] < 0 else []
                word += 1 + pair
            found.append(wide)
        tail = [0] * static.first_run
        for regions, parts in ((True, static.region_field), (False, static.run_field)):
            for first, end in itertools.pairwise(parts.tolist()):
                shapes = [Shape(shape) for shape in static.field_shape[first:end]]
                told = [1] * (sum(HEADER_WORDS[shape] for shape in shapes) // 2)
                free = [FREE_WORDS[shape] - 1 for shape in shapes if FREE_WORDS[shape]]
                found.append(told if regions else [0, *told, *free])
                tail += [] if regions else [len(free)]
        first_field = np.cumsum([0, *map(len, found)])
        wide = list(itertools.chain.from_iterable(found))
        return cls(
            first_field, np.array(wide, np.uint8), np.array(tail, np.int64), mark_lengths(), np.uint32(static.first_run)
        )


def _wide(static: Static, segment: int) -> list[int]:
    """For each field of a segment's payload whether it has two words."""
    wide: list[int] = []
    word = 0
    for item in range(int(static.segment_item[segment]), int(static.segment_item[segment + 1])):
        if int(static.item_word[item]) == word:  # others share earlier words
            kind, lanes = Kind(int(static.item_kind[item])), int(static.item_lanes[item])
            count = words_of(kind, lanes, timed=static.timed)
            single = mask_words(lanes) if kind in (Kind.MASK, Kind.GATHER) else count % 2
            wide += [1] * ((count - single) // 2) + [0] * single
            word += count
    return wide


class Predictions(NamedTuple):
    """What encoder and decoder of one stream remember between chunks.

    Attributes:
        successors: uint32[CONTEXTS], the segment that followed two others last time. before: uint32[2], the last two.
        last, stride, hint: uint64 (fields), the previous value of each, its predicted growth, and the last growth.
    """

    successors: Words
    before: Words
    last: npt.NDArray[np.uint64]
    stride: npt.NDArray[np.uint64]
    hint: npt.NDArray[np.uint64]

    @classmethod
    def none(cls, fields: Fields) -> Predictions:
        """Before the first chunk."""
        count = max(1, fields.wide.size)
        return cls(np.zeros(CONTEXTS, np.uint32), np.zeros(2, np.uint32), *np.zeros((3, count), np.uint64))


class Coder:
    """Encodes and decodes the chunks of one stream, in order."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._predictions = Predictions.none(fields)
        self._out = [np.empty(0, np.uint8), np.empty(0, np.uint8)]
        self._ends = np.zeros(2, np.int64)
        self._runs = np.zeros(2, np.uint64)
        self.waiting = 0  # words that were fed and not taken

    def encode(self, words: Words) -> tuple[Bytes, Bytes]:
        """(segments, payloads) of words that are whole records (`records.walk` has checked them)."""
        self.feed(words)
        return self.take()

    def feed(self, words: Words) -> None:
        """Encode more words of a chunk that `take` ends. O(words)."""
        for place in (0, 1):
            end, old = int(self._ends[place]), self._out[place]
            if old.size < end + GROWTH * words.size + 64:
                self._out[place] = np.empty(2 * end + GROWTH * words.size + 64, np.uint8)
                self._out[place][:end] = old[:end]
        known = self._fields, self._predictions
        fitting(_encode, words.size)(words, *known, self._out[0], self._out[1], self._ends, self._runs)
        self.waiting += words.size

    def take(self) -> tuple[Bytes, Bytes]:
        """(segments, payloads) of what was fed since the last time."""
        if self._out[0].size == 0:
            self.feed(np.zeros(0, np.uint32))
        plain(_end_runs)(self._out[0], self._out[1], self._ends, self._runs)
        found = self._out[0][: self._ends[0]].copy(), self._out[1][: self._ends[1]].copy()
        self._ends[:] = 0
        self.waiting = 0
        return found

    def decode(self, segments: Bytes, payloads: Bytes, count: int) -> Words | None:
        """The `count` words again; None when the bytes are not what `encode` makes."""
        words = np.zeros(count, np.uint32)
        good = fitting(_decode, count)(words, self._fields, self._predictions, segments, payloads)
        return words if good else None


@compiled(cache=True, nogil=True, inline="always")
def _put(out: Any, place: Any, value: Any) -> Any:
    """Write a number, seven bits a byte. Returns the place behind it."""
    while value >= np.uint64(128):
        out[place] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        place += np.uint64(1)
    out[place] = np.uint8(value)
    return place + np.uint64(1)


@compiled(cache=True, nogil=True)
def _get(data: Any, place: Any) -> tuple[Any, Any]:
    """(number, place behind it); place −1 when the bytes end or run on."""
    value, shift = np.uint64(0), np.uint64(0)
    while place < data.size and shift < np.uint64(64):
        byte = np.uint64(data[place])
        place += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < np.uint64(128):
            return value, place
        shift += np.uint64(7)
    return np.uint64(0), np.int64(-1)


@compiled(cache=True, nogil=True, inline="always")
def _context(first: Any, second: Any) -> Any:
    return (np.uint64(second) ^ (np.uint64(first) << np.uint64(7))) & np.uint64(CONTEXTS - 1)


@compiled(cache=True, nogil=True)
def _encode(words: Any, fields: Any, predictions: Any, segments: Any, payloads: Any, ends: Any, runs: Any) -> None:
    first, wide, tail, marks, _ = fields
    successors, before, last, stride, hint = predictions
    # Unsigned indices throughout: numba tests signed ones for being negative.
    one, high = np.uint64(1), np.uint64(32)
    place, size = np.uint64(0), np.uint64(words.size)
    seg_end, pay_end = np.uint64(ends[0]), np.uint64(ends[1])
    seg_run, pay_run = runs[0], runs[1]
    older, newer = before[0], before[1]
    while place < size:
        word = words[place]
        place += one
        if word >= np.uint32(FIRST_MARK):  # never predicted: its words stand behind it
            seg_end = _put(segments, seg_end, seg_run)
            seg_end = _put(segments, seg_end, np.uint64(word))
            seg_run = np.uint64(0)
            for _ in range(np.uint64(marks[word & np.uint32(0xFF)]) - one):
                seg_end = _put(segments, seg_end, np.uint64(words[place]))
                place += one
            continue
        context = _context(older, newer)
        predicted = successors[context]
        if word == predicted:
            seg_run += np.uint64(1)
            word = predicted  # what follows then does not wait for the load
        else:
            seg_end = _put(segments, seg_end, seg_run)
            seg_end = _put(segments, seg_end, np.uint64(word))
            seg_run = np.uint64(0)
            successors[context] = word
        older, newer = newer, word
        begin, end = np.uint64(first[np.uint64(word)]), np.uint64(first[np.uint64(word) + one])
        rounds, behind = one, end
        if tail[np.uint64(word)]:
            rounds, behind = np.uint64(words[place]), end - np.uint64(tail[np.uint64(word)])
            if rounds == np.uint64(0):
                rounds, end = one, behind
        for _ in range(rounds):
            for field in range(begin, end):
                value = np.uint64(words[place])
                place += one
                if wide[field]:
                    value |= np.uint64(words[place]) << high
                    place += one
                delta = value - last[field]
                last[field] = value
                if delta == stride[field]:
                    pay_run += np.uint64(1)
                    continue
                if delta == hint[field]:
                    stride[field] = delta
                hint[field] = delta
                pay_end = _put(payloads, pay_end, pay_run)
                pay_run = np.uint64(0)
                # Zigzag: small numbers of either sign become small numbers.
                signed = np.int64(delta)
                pay_end = _put(payloads, pay_end, np.uint64((signed << np.int64(1)) ^ (signed >> np.int64(63))))
            begin = behind
    before[0], before[1] = older, newer
    ends[0], ends[1] = np.int64(seg_end), np.int64(pay_end)
    runs[0], runs[1] = seg_run, pay_run


@compiled(cache=True, nogil=True)
def _end_runs(segments: Any, payloads: Any, ends: Any, runs: Any) -> None:
    ends[0] = np.int64(_put(segments, np.uint64(ends[0]), runs[0]))
    ends[1] = np.int64(_put(payloads, np.uint64(ends[1]), runs[1]))
    runs[:] = 0


@compiled(cache=True, nogil=True)
def _decode(words: Any, fields: Any, predictions: Any, segments: Any, payloads: Any) -> bool:
    first, wide, tail, marks, first_run = fields
    successors, before, last, stride, hint = predictions
    place, size = np.int64(0), np.int64(words.size)
    older, newer = before[0], before[1]
    most = np.uint32(first.size - 1)
    seg_run, seg_at = _get(segments, np.int64(0))
    if seg_at < 0:
        return False
    pay_run, pay_at = _get(payloads, np.int64(0))
    if pay_at < 0:
        return False
    while place < size:
        context = _context(older, newer)
        missed = seg_run == np.uint64(0)
        if missed:
            number, seg_at = _get(segments, seg_at)
            if seg_at < 0 or number > np.uint64(0xFFFFFFFF):
                return False
            word = np.uint32(number)
        else:
            seg_run -= np.uint64(1)
            word = successors[context]
        words[place] = word
        place += 1
        if missed and word >= np.uint32(FIRST_MARK):
            count = np.int64(marks[word & np.uint32(0xFF)]) - 1
            if count > 8 or place + count > size:
                return False
            for _ in range(count):
                number, seg_at = _get(segments, seg_at)
                if seg_at < 0 or number > np.uint64(0xFFFFFFFF):
                    return False
                words[place] = np.uint32(number)
                place += 1
        elif word == 0 or word >= most:
            return False
        else:
            successors[context] = word
            older, newer = newer, word
            head = place
            for phase in range(2 if word >= first_run else 1):
                begin, end = first[word], first[word + 1] - tail[word]
                rounds = np.int64(1)
                if phase == 1:  # what stands once for each iteration
                    rounds = np.int64(words[head])
                    if rounds > RUN_LIMIT:
                        return False
                    begin, end = end, first[word + 1]
                    if begin == end:
                        break
                for _ in range(rounds):
                    for field in range(begin, end):
                        if place + 1 + np.int64(wide[field]) > size:
                            return False
                        if pay_run > np.uint64(0):
                            pay_run -= np.uint64(1)
                            delta = stride[field]
                        else:
                            number, pay_at = _get(payloads, pay_at)
                            if pay_at < 0:
                                return False
                            delta = (number >> np.uint64(1)) ^ (np.uint64(0) - (number & np.uint64(1)))
                            if delta == hint[field]:
                                stride[field] = delta
                            hint[field] = delta
                            pay_run, pay_at = _get(payloads, pay_at)
                            if pay_at < 0:
                                return False
                        value = last[field] + delta
                        last[field] = value
                        words[place] = np.uint32(value & np.uint64(0xFFFFFFFF))
                        place += 1
                        if wide[field]:
                            words[place] = np.uint32(value >> np.uint64(32))
                            place += 1
        if missed:
            seg_run, seg_at = _get(segments, seg_at)
            if seg_at < 0:
                return False
    before[0], before[1] = older, newer
    return seg_at == segments.size and pay_at == payloads.size
