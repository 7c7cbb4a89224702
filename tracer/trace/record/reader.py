"""The reader of a traced run: it cuts chunks at record borders, applies the window and adds marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.support.process.runner import Finished
from tracecut.tracer.trace.compact.loop_runs import FREE_WORDS, Shape
from tracecut.tracer.trace.events.event_words import FIRST_MARK, MARK_WORDS, End, Kind, Mark, Words
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.records import OK, SHORT, Lengths, walk
from tracecut.tracer.trace.tables.static_tables import Static

from .shared_chunks import Filled, Ring

Sink = Callable[[int, Words], None]

ALL = 1 << 62
AT_ONCE = 64  # chunks between two tests whether the program is to be stopped
_NEVER_NULL = (Kind.ADDR, Kind.FRAME, Kind.ALLOCA, Kind.LIFETIME)


@dataclass
class Totals:
    """Exact counts of the run, kept or not. `words`: uint32 words as they were recorded, marks included."""

    records: int = 0
    instructions: int = 0
    words: int = 0
    kept_records: int = 0
    kept_instructions: int = 0
    kept_words: int = 0


class Reader:
    """Passes the whole records of the chunks in a ring to `sink(stream, words)`; streams are numbered from 0.

    Args:
        start: instructions to skip first. most: instructions to keep from there.
        runs: pass compact records on as they come; otherwise, and always in a window, they are expanded.
    """

    def __init__(self, ring: Ring, static: Static, sink: Sink, start: int, most: int, *, runs: bool = False) -> None:
        self._ring = ring
        self._static = static
        self._sink = sink
        self._start, self._most = start, most
        self._end = start + most  # exact once the window has begun, which it does between two records
        self._lengths = Lengths.of(static)
        self._expander = Expander(static, reuse=True)
        self._windowed = start > 0 or most < ALL
        self._runs = runs and not self._windowed
        self.totals = Totals()
        self.streams: dict[int, int] = {}  # number of the ring → ours
        self._dropped: dict[int, int] = {}  # our stream → records behind the window
        self._silent: set[int] = set()  # streams before the window
        self.crashed: list[tuple[int, int]] = []
        self.truncated = self.damaged = False

    @property
    def full(self) -> bool:
        """Whether the end of the window is reached."""
        return self.totals.instructions >= self._end

    def take_all(self) -> bool:
        """Take at most AT_ONCE of the chunks that are ready; whether there were any."""
        some = False
        for _ in range(AT_ONCE):
            chunk = self._ring.next()
            if chunk is None:
                break
            some = True
            words = self._ring.words(chunk)
            self._take(chunk, words)
            self._ring.give_back(chunk, words)
        return some

    def finish(self, finished: Finished | None) -> None:
        """Take the chunks that were not full when the program ended, and end all streams."""
        for chunk in self._ring.left():
            self._take(chunk, self._ring.words(chunk))
        if finished is None or finished.timed_out or finished.output_capped or finished.process_capped:
            reason, status = End.STOPPED, 0 if finished is None else abs(finished.returncode)
        elif finished.returncode < 0:
            reason, status = End.SIGNAL, -finished.returncode
        else:
            reason, status = End.EXIT, finished.returncode
        for stream in self.streams.values():
            dropped = self._dropped.get(stream, 0)
            if dropped or self.damaged:
                self.truncated = True
                self._mark(stream, Mark.TRUNCATED, dropped & 0xFFFFFFFF, dropped >> 32)
            self._mark(stream, Mark.END, reason, status)

    def _take(self, chunk: Filled, words: Words) -> None:
        stream = self.streams.get(chunk.stream)
        if stream is None:
            stream = self.streams[chunk.stream] = len(self.streams)
            words = self._head(stream, words)
        end, last, records, count, why = walk(words, self._lengths, ALL)
        if chunk.torn:
            end, records, count = self._ended(stream, words, (end, last, records, count, why))
        elif why != OK:
            self.damaged = True
        if end:
            self._window(stream, words[:end], records, count)

    def _ended(self, stream: int, words: Words, walked: tuple[int, int, int, int, int]) -> tuple[int, int, int]:
        """(end, records, instructions) of a chunk whose last record may be incomplete."""
        end, last, records, count, why = walked
        if why == SHORT:
            self._crash(stream, int(words[end]))
            return end, records, count
        if last < 0:
            return end, records, count
        begun = int(words[last])
        if self._lengths.first_run <= begun < FIRST_MARK:
            end, lost = self._begun_iteration(words, last, end)
        elif lost := not self._is_whole(words[last:end]):
            end = last
        if not lost:
            return end, records, count
        self._crash(stream, begun)
        return end, records - 1, count - int(self._lengths.instructions[begun])

    def _head(self, stream: int, words: Words) -> Words:
        """Pass on the marks that begin a stream; the words behind them."""
        place = 0
        while place < words.size and int(words[place]) in MARK_WORDS:
            place += 1 + MARK_WORDS[Mark(int(words[place]))]
        if place:
            self._sink(stream, words[:place])
            self.totals.words += place
            self.totals.kept_words += place
        if self._start:
            self._silent.add(stream)
        return words[place:]

    def _window(self, stream: int, words: Words, records: int, count: int) -> None:
        """Keep the records that lie in the window. Counts all."""
        totals = self.totals
        totals.words += words.size
        if not self._windowed or totals.instructions >= self._end:
            self._part(stream, words, records, count)
            return
        for part in self._expander.pieces(words, stream):  # the border may lie in a run
            _, _, records, count, _ = walk(part, self._lengths, ALL)
            self._part(stream, part, records, count)

    def _part(self, stream: int, words: Words, records: int, count: int) -> None:
        """The same for words whose runs do not cross its borders."""
        totals = self.totals
        seen = totals.instructions
        totals.records += records
        totals.instructions += count
        if seen + count <= self._start:
            return
        if seen < self._start:
            skip, _, passed, some, _ = walk(words, self._lengths, self._start - seen)
            words, records, count, seen = words[skip:], records - passed, count - some, seen + some
            self._end = seen + self._most
        if seen >= self._end:
            self._drop(stream, records)
            return
        if seen + count > self._end:
            size, _, kept, some, _ = walk(words, self._lengths, self._end - seen)
            self._drop(stream, records - kept)
            words, records, count = words[:size], kept, some
        if not words.size:
            return
        if stream in self._silent:
            self._silent.discard(stream)
            self._mark(stream, Mark.RESUMED)
        totals.kept_records += records
        totals.kept_instructions += count
        totals.kept_words += words.size
        for part in [words] if self._runs or self._windowed else self._expander.pieces(words, stream):
            self._sink(stream, part)

    def _drop(self, stream: int, records: int) -> None:
        if records:
            self._dropped[stream] = self._dropped.get(stream, 0) + records

    def _mark(self, stream: int, mark: Mark, *words: int) -> None:
        self.totals.words += 1 + len(words)
        self.totals.kept_words += 1 + len(words)
        self._sink(stream, np.array([mark, *words], np.uint32))

    def _crash(self, stream: int, begun: int) -> None:
        """Note the segment of an incomplete record."""
        lengths, static = self._lengths, self._static
        if begun < lengths.segments:
            self.crashed.append((stream, begun))
        elif begun < lengths.segments + static.n_shorts:
            self.crashed.append((stream, int(static.short_segment[begun - lengths.segments])))
        elif lengths.first_run <= begun < FIRST_MARK:
            self.crashed.append((stream, int(static.run_segment[begun - lengths.first_run])))

    def _begun_iteration(self, words: Words, last: int, end: int) -> tuple[int, bool]:
        """The end of a run that may be incomplete, and whether its last iteration was dropped.

        An iteration is whole when the address of its last access is stored. A run without addresses in each iteration
        does not tell, unless it has only one iteration.
        """
        run, times = int(words[last]), int(words[last + 1])
        static, free = self._static, int(self._lengths.free[run])
        place = run - self._lengths.first_run
        shapes = static.field_shape[int(static.run_field[place]) : int(static.run_field[place + 1])]
        if times == 0:  # begun to be written
            return last, False
        known = shapes.size <= 1 or bool(FREE_WORDS[Shape(shapes[-1])])
        place = end - free
        for shape in shapes:
            size = FREE_WORDS[Shape(shape)]
            known = known and (not size or bool(words[place : place + size].any()))
            place += size
        if known:
            return end, False
        words[last + 1] = times - 1
        return (end - free if times > 1 else last), True

    def _is_whole(self, record: Words) -> bool:
        """Whether a record at the place of a crash has all of its addresses; of a short record, the last one."""
        begun, static = int(record[0]), self._static
        if begun >= self._lengths.segments + static.n_shorts:
            return True
        left_out = np.zeros(0, bool)
        segment = begun
        if begun >= self._lengths.segments:
            short = begun - self._lengths.segments
            segment = int(static.short_segment[short])
            left_out = static.word_source[int(static.short_word[short]) : int(static.short_word[short + 1])] >= 0
            record = np.concatenate([record[:1], self._spread(record[1:], left_out)])
        items = range(int(static.segment_item[segment]), int(static.segment_item[segment + 1]))
        for item in items:
            word = 1 + int(static.item_word[item])
            if static.item_kind[item] in _NEVER_NULL and not record[word] and not record[word + 1]:
                return False
        return not left_out.size or not left_out[-1] or left_out.size == 2

    @staticmethod
    def _spread(stored: Words, left_out: npt.NDArray[np.bool_]) -> Words:
        """The words of a payload, 1 where they are omitted."""
        found = np.ones(left_out.size, np.uint32)
        found[~left_out] = stored
        return found
