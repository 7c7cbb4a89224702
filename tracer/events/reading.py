"""The reading side of a traced run: chunks are cut at record borders, windows applied, marks added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..runner import Finished
from .items import FIRST_MARK, MARK_WORDS, End, Kind, Mark
from .ring import Filled, Ring
from .static import Static
from .walk import OK, SHORT, instructions_of, lengths_of, mark_lengths, walk

Words = npt.NDArray[np.uint32]
Sink = Callable[[int, Words], None]

ALL = 1 << 62
_NEVER_NULL = (Kind.ADDR, Kind.FRAME, Kind.ALLOCA, Kind.LIFETIME)


@dataclass
class Totals:
    """Exact counts of what the program did, kept or not. `words`: uint32 words of the stream, marks included."""

    records: int = 0
    instructions: int = 0
    words: int = 0
    kept_records: int = 0
    kept_instructions: int = 0
    kept_words: int = 0


class Reader:
    """Takes chunks from a ring and gives their whole records to `sink(stream, words)`; streams are numbered from 0.

    Args:
        start: instructions to pass by first. most: instructions to keep from there.
    """

    def __init__(self, ring: Ring, static: Static, sink: Sink, start: int, most: int) -> None:
        self._ring = ring
        self._static = static
        self._sink = sink
        self._start, self._most = start, most
        self._end = start + most  # exact once the window has begun, which it does between two records
        self._lengths = lengths_of(static)
        self._instructions = instructions_of(static)
        self._marks = mark_lengths()
        self.totals = Totals()
        self.streams: dict[int, int] = {}  # number of the ring → ours
        self._dropped: dict[int, int] = {}  # our stream → records behind the window
        self._silent: set[int] = set()  # streams that wait for the window
        self.crashed: list[tuple[int, int]] = []
        self.truncated = self.damaged = False

    @property
    def full(self) -> bool:
        """All that was to be kept has come."""
        return self.totals.instructions >= self._end

    def take_all(self) -> bool:
        """Take the chunks that are there; whether there were any."""
        some = False
        while (chunk := self._ring.next()) is not None:
            some = True
            words = self._ring.words(chunk)
            self._take(chunk, words)
            self._ring.give_back(chunk, words)
        return some

    def finish(self, finished: Finished | None) -> None:
        """Take what streams had begun to write when the program ended, and end all streams."""
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
        end, last, records, count, why = walk(words, self._lengths, self._instructions, self._marks, ALL)
        if chunk.torn:
            if why == SHORT or (last >= 0 and end > last and not self._is_whole(words[last:end])):
                begun = int(words[end] if why == SHORT else words[last])
                if why != SHORT:
                    end, records, count = last, records - 1, count - int(self._instructions[begun])
                self.crashed.append((stream, begun))
        elif why != OK:
            self.damaged = True
        if end:
            self._window(stream, words[:end], records, count)

    def _head(self, stream: int, words: Words) -> Words:
        """Pass on the marks that open a stream; what follows them."""
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
        """Keep the part of whole records that lies in the window. Counts everything."""
        totals = self.totals
        seen = totals.instructions
        totals.records += records
        totals.instructions += count
        totals.words += words.size
        if seen + count <= self._start:
            return
        if seen < self._start:
            skip, _, passed, some, _ = walk(words, self._lengths, self._instructions, self._marks, self._start - seen)
            words, records, count, seen = words[skip:], records - passed, count - some, seen + some
            self._end = seen + self._most
        if seen >= self._end:
            self._drop(stream, records)
            return
        if seen + count > self._end:
            size, _, kept, some, _ = walk(words, self._lengths, self._instructions, self._marks, self._end - seen)
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
        self._sink(stream, words)

    def _drop(self, stream: int, records: int) -> None:
        if records:
            self._dropped[stream] = self._dropped.get(stream, 0) + records

    def _mark(self, stream: int, mark: Mark, *words: int) -> None:
        self.totals.words += 1 + len(words)
        self.totals.kept_words += 1 + len(words)
        self._sink(stream, np.array([mark, *words], np.uint32))

    def _is_whole(self, record: Words) -> bool:
        """Whether a record that a crash may have cut has all of its addresses."""
        segment = int(record[0])
        if segment >= FIRST_MARK:
            return True
        static = self._static
        for item in range(int(static.segment_item[segment]), int(static.segment_item[segment + 1])):
            word = 1 + int(static.item_word[item])
            if static.item_kind[item] in _NEVER_NULL and not record[word] and not record[word + 1]:
                return False
        return True
