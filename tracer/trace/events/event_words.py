"""The words of the event stream: the items of a record, and the marks between records.

A stream is a sequence of little-endian uint32 words, one stream per thread. A record is a segment id followed by the
payload of that segment, whose length is in the static tables. Ids from `FIRST_MARK` on are marks. The program also
writes compact records (`loop_runs`, `strided_loops`), which are expanded for readers.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]


class Kind(IntEnum):
    """Kinds of items of a payload. A 64-bit value is two words, the low one first."""

    ADDR = 0  # address; the length is static. In a timed trace one more word: cycles, at most 2³² − 1
    RANGE = 1  # address, length in bytes
    COPY = 2  # destination, source, length in bytes
    MASK = 3  # address, then mask words: bit l of the mask is lane l of a vector that lies in one piece
    GATHER = 4  # one address a lane, then mask words
    ALLOC = 5  # address, size in bytes: heap memory that was allocated
    FREE = 6  # address
    REALLOC = 7  # old address, new address, size in bytes
    FRAME = 8  # address of the current frame
    ALLOCA = 9  # address, size in bytes
    LIFETIME = 10  # address; the length is static: the memory has no value from here on
    OPAQUE = 11  # address: an unknown function may read and write the object at it
    BYVAL = 12  # address of a parameter; the length is static: the call has copied its argument there
    VARIABLE = 13  # a va_list: where its arguments on the stack and in saved registers lie, and two 32-bit offsets


READ, WRITE = 1, 2  # bits of an access
MAX_WORDS = 1 << 16  # of one record: it has to fit behind the end of a chunk
CHUNK_BITS = 19  # a chunk is full when bit 19 of the position is set: 512 KiB, which fits the caches
SLACK_WORDS = 1 << (CHUNK_BITS - 3)  # most words between two tests for room: half of the room behind a chunk

# Words of the payload; MASK and GATHER depend on the number of lanes.
WORDS = {
    Kind.ADDR: 2,
    Kind.RANGE: 4,
    Kind.COPY: 6,
    Kind.ALLOC: 4,
    Kind.FREE: 2,
    Kind.REALLOC: 6,
    Kind.FRAME: 2,
    Kind.ALLOCA: 4,
    Kind.LIFETIME: 2,
    Kind.OPAQUE: 2,
    Kind.BYVAL: 2,
    Kind.VARIABLE: 6,
}


class Mark(IntEnum):
    """Ids of marks."""

    END = 0xFFFFFFFF  # reason, status: ends a stream
    TRUNCATED = 0xFFFFFFFE  # number of records that were not kept (two words)
    PAUSED = 0xFFFFFFFD
    RESUMED = 0xFFFFFFFC  # the frames on the stack are not known
    THREAD = 0xFFFFFFFB  # number of the thread, level (0: program, else signal handlers); begins a stream
    GLOBAL = 0xFFFFFFFA  # index into Static.globals, address (two words), size (two words); at the start of thread 0
    WROTE = 0xFFFFFFF9  # address, bytes (two words each): written by the library call that the top frame made last


FIRST_MARK = 0xFFFFFF00
MARK_WORDS = {
    Mark.END: 2,
    Mark.TRUNCATED: 2,
    Mark.PAUSED: 0,
    Mark.RESUMED: 0,
    Mark.THREAD: 2,
    Mark.GLOBAL: 5,
    Mark.WROTE: 4,
}


class End(IntEnum):
    """Reason of an END mark; its status is the exit status or the number of the signal."""

    EXIT = 0  # the program exited
    SIGNAL = 1  # a signal killed it
    STOPPED = 2  # tracecut stopped it: a limit was reached


def words_of(kind: Kind, lanes: int = 0, *, timed: bool = False) -> int:
    """Number of words of an item. In a timed trace the cycles of an access are one more word of ADDR."""
    if kind is Kind.ADDR:
        return 3 if timed else 2
    if kind is Kind.MASK:
        return 2 + mask_words(lanes)
    if kind is Kind.GATHER:
        return 2 * lanes + mask_words(lanes)
    return WORDS[kind]


def mask_words(lanes: int) -> int:
    """Words of a mask with one bit per lane."""
    return (lanes + 31) // 32
