"""Where the records of a stream end, and how many there are, in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled
from tracecut.support.plain_kernels import FEW, fitting
from tracecut.tracer.trace.compact.loop_runs import FREE_WORDS, HEADER_WORDS, RUN_LIMIT, Shape
from tracecut.tracer.trace.events.event_words import FIRST_MARK, MARK_WORDS, MAX_WORDS, Words

from .static_tables import Static

BAD = np.uint32(0xFFFF)

OK, ZERO, WILD, SHORT = 0, 1, 2, 3  # why a walk ended: all words done, a zero id, an unknown id, half a record


class Lengths(NamedTuple):
    """What a walk needs to know. N ids: segments, short records, regions, runs.

    Attributes:
        words: uint32[N], words of a record, the id included; of a run without its FREE fields.
        instructions: uint32[N], of a segment; of a run in one iteration.
        counted: uint32[N], records that it stands for; of a run in one iteration.
        free: uint32[N], words of a run's FREE fields in one iteration.
        marks: uint32[256], words of each mark by the low byte of its id, the id included; BAD for what is none.
        segments, first_run: ids from which on there are no segments, and only runs.
    """

    words: Words
    instructions: Words
    counted: Words
    free: Words
    marks: Words
    segments: int
    first_run: int

    @classmethod
    def of(cls, static: Static) -> Lengths:
        """O(segments + fields)."""
        instructions = (static.segment_end - static.segment_first).astype(np.uint32)
        header = np.array([HEADER_WORDS[shape] for shape in Shape], np.int64)[static.field_shape]
        free = np.array([FREE_WORDS[shape] for shape in Shape], np.int64)[static.field_shape]
        none = np.zeros(static.n_regions, np.uint32)
        return cls(
            words=np.concatenate(
                [
                    static.segment_words + 1,
                    1 + _summed(static.word_source < 0, static.short_word),
                    1 + _summed(header, static.region_field),
                    2 + _summed(header, static.run_field),
                ]
            ).astype(np.uint32),
            instructions=np.concatenate(
                [instructions, instructions[static.short_segment], none, instructions[static.run_segment]]
            ),
            counted=np.concatenate(
                [np.ones(static.n_segments + static.n_shorts, np.uint32), none, np.ones(static.n_runs, np.uint32)]
            ),
            free=np.concatenate([np.zeros(static.first_run, np.int64), _summed(free, static.run_field)]).astype(
                np.uint32
            ),
            marks=mark_lengths(),
            segments=static.n_segments,
            first_run=static.first_run,
        )


def _summed(values: npt.NDArray[Any], parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sums of `values` over the ranges between `parts`, which may be empty."""
    return np.diff(np.concatenate([[0], np.cumsum(values)])[parts])


def mark_lengths() -> Words:
    """uint32[256]: words of each mark by the low byte of its id, the id included; BAD for ids that mean nothing."""
    table = np.full(256, BAD, np.uint32)
    for mark, words in MARK_WORDS.items():
        table[int(mark) & 0xFF] = words + 1
    return table


def walk(words: Words, lengths: Lengths, most: int) -> tuple[int, int, int, int, int]:
    """Walk over whole records from the start until `most` instructions have been passed.

    Args:
        words: uint32[n]. most: stop in front of the first record, or run, behind this many instructions.

    Returns five integers (end, last, records, instructions, why): words passed, where the last record begins (−1:
    none), counts of records (marks and regions are none, a run is as many as it has iterations), and OK, ZERO, WILD or
    SHORT. O(records).
    """
    used = words.size if words[FEW : FEW + MAX_WORDS].any() else FEW  # a chunk that was left behind ends with zeros
    end, last, records, count, why = fitting(_walk, used)(words, lengths, most)
    return int(end), int(last), int(records), int(count), int(why)


@compiled(cache=True, nogil=True)
def _walk(words: Any, tables: Any, most: int) -> Any:
    lengths, instructions, counted, free, marks, _, run = tables
    first_run = np.uint32(run)
    # What followed a segment last time probably follows again. The next place is computed from that guess, so that it
    # does not wait for the word to be loaded, and the guess is only compared with it: three times as fast.
    following = np.zeros(lengths.size, np.uint32)
    guess = np.uint32(0)
    # Unsigned indices throughout: numba tests signed ones for being negative.
    place, size, none = np.uint64(0), np.uint64(words.size), np.uint64(0xFFFFFFFFFFFFFFFF)
    last, records, count = none, np.int64(0), np.int64(0)
    ids = np.uint32(lengths.size)
    why = OK
    while place < size and count < most:
        word = words[place]
        if word == guess and guess != 0:
            length = np.uint64(lengths[guess])
            if place + length > size:
                why = SHORT
                break
            count += np.int64(instructions[guess])
            records += np.int64(counted[guess])
            guess = following[guess]
        elif word < first_run:
            if word == 0:
                why = ZERO
                break
            length = np.uint64(lengths[word])
            if place + length > size:
                why = SHORT
                break
            count += np.int64(instructions[word])
            records += np.int64(counted[word])
            if last != none and words[last] < ids:
                following[words[last]] = word
            guess = following[word]
        elif word < ids:
            length = np.uint64(lengths[word])
            if place + length > size:
                why = SHORT
                break
            times = np.uint64(words[place + np.uint64(1)])
            if times > np.uint64(RUN_LIMIT):
                why = WILD
                break
            length += times * np.uint64(free[word])
            if place + length > size:
                why = SHORT
                break
            count += np.int64(times) * np.int64(instructions[word])
            records += np.int64(times)
            guess = following[word]
        else:
            if word < np.uint32(FIRST_MARK) or marks[word & np.uint32(0xFF)] == BAD:
                why = WILD
                break
            length = np.uint64(marks[word & np.uint32(0xFF)])
            if place + length > size:
                why = SHORT
                break
            guess = np.uint32(0)
        last = place
        place += length
    return np.int64(place), np.int64(last), records, count, why
