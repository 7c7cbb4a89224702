"""Walking over the words of a stream: where records end, and how many there are. Numba, one pass."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from .items import FIRST_MARK, MARK_WORDS
from .static import Static

Words = npt.NDArray[np.uint32]
BAD = np.uint32(0xFFFF)

OK, ZERO, WILD, SHORT = 0, 1, 2, 3  # why a walk ended: all words done, a zero id, an unknown id, half a record


def lengths_of(static: Static) -> npt.NDArray[np.uint32]:
    """uint32[S]: words of each segment's record, the id included."""
    return (static.segment_words + 1).astype(np.uint32)


def instructions_of(static: Static) -> npt.NDArray[np.uint32]:
    """uint32[S]: instructions of each segment."""
    return (static.segment_end - static.segment_first).astype(np.uint32)


def mark_lengths() -> npt.NDArray[np.uint32]:
    """uint32[256]: words of each mark by the low byte of its id, the id included; BAD for ids that mean nothing."""
    table = np.full(256, BAD, np.uint32)
    for mark, words in MARK_WORDS.items():
        table[int(mark) & 0xFF] = words + 1
    return table


@numba.njit(cache=True, nogil=True)
def walk(words: Any, lengths: Any, instructions: Any, marks: Any, most: int) -> Any:
    """Walk over whole records from the start until `most` instructions have been passed.

    Args:
        words: uint32[n]. lengths, instructions: uint32[S], see above. marks: uint32[256].
        most: stop in front of the first record behind this many instructions.

    Returns five integers (end, last, records, instructions, why): words passed, where the last record begins (−1:
    none), counts of records (marks are none), and OK, ZERO, WILD or SHORT. O(records).
    """
    # What followed a segment last time probably follows again. The next place is computed from that guess, so that it
    # does not wait for the word to be loaded, and the guess is only compared with it: three times as fast.
    following = np.zeros(lengths.size, np.uint32)
    guess = np.uint32(0)
    # Unsigned indices throughout: numba tests signed ones for being negative.
    place, size, none = np.uint64(0), np.uint64(words.size), np.uint64(0xFFFFFFFFFFFFFFFF)
    last, records, count = none, np.int64(0), np.int64(0)
    segments = np.uint32(lengths.size)
    why = OK
    while place < size and count < most:
        word = words[place]
        if word == guess and guess != 0:
            length = np.uint64(lengths[guess])
            if place + length > size:
                why = SHORT
                break
            count += np.int64(instructions[guess])
            records += 1
            guess = following[guess]
        elif word < segments:
            if word == 0:
                why = ZERO
                break
            length = np.uint64(lengths[word])
            if place + length > size:
                why = SHORT
                break
            count += np.int64(instructions[word])
            records += 1
            if last != none and words[last] < segments:
                following[words[last]] = word
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
