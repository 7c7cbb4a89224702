"""The chunks in shared memory that a traced program fills, as the reading process sees them.

`runtime.c` is the other side.

A faulty program may overwrite everything in here: each number is checked before it is used.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ProgramError
from tracecut.tracer.trace.events.event_words import CHUNK_BITS

MAGIC = 0x74636531
CHUNK = 1 << CHUNK_BITS  # bytes of a chunk; as many behind it take what is written before its end is noticed
PAGE = 4096
THREADS = 1024  # more chunks, for programs with many threads: each thread holds one
TORN = 1
POPULATE = 23  # MADV_POPULATE_WRITE, since Linux 5.14

_CONTROL = np.dtype(
    [
        *((name, "<u4") for name in ("magic", "chunk_bits", "slots", "most_slots", "queue")),
        *((name, "<u4") for name in ("made", "streams", "forks", "threads")),
        ("gap", "<u4"),
        *((name, "<u8") for name in ("filled", "taken", "given", "waited")),
        ("started", "<u4"),
    ]
)
_ENTRY = np.dtype([(name, "<u4") for name in ("ready", "slot", "stream", "bytes", "flags")])


@dataclass(frozen=True)
class Filled:
    """A chunk that the program has filled, or was filling when it ended. `stream` is numbered from 1."""

    stream: int
    slot: int
    words: int
    torn: bool  # its last record may be incomplete


class Ring:
    """Shared memory of `slots` chunks and the queues between writer and reader.

    Args:
        memory: bytes of buffers; at least four chunks are made. Each thread beyond them adds one.
    """

    def __init__(self, memory: int) -> None:
        self.slots = max(4, memory // CHUNK)
        self.most_slots = self.slots + THREADS
        queue = 1 << (self.most_slots - 1).bit_length()
        front = PAGE + queue * _ENTRY.itemsize + 4 * queue + 4 * self.most_slots
        self._front = -(-front // PAGE) * PAGE
        size = self._front + self.most_slots * 2 * CHUNK  # most of it is never touched
        self.file = os.memfd_create("tracecut-ring", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.file, size)
            self._memory = mmap.mmap(self.file, size)
        except OSError:
            os.close(self.file)
            raise
        self._control = np.frombuffer(self._memory, _CONTROL, 1)
        self._entries = np.frombuffer(self._memory, _ENTRY, queue, PAGE)
        place = PAGE + queue * _ENTRY.itemsize
        self._vacant = np.frombuffer(self._memory, np.uint32, queue, place)
        self._owner = np.frombuffer(self._memory, np.uint32, self.most_slots, place + 4 * queue)
        self._queue = queue
        self._read = self._given = 0
        for slot in range(self.slots):  # before the program runs, so that it does not wait for fresh pages
            with suppress(OSError):
                self._memory.madvise(POPULATE, self._front + slot * 2 * CHUNK, CHUNK)
        for name, value in (
            ("magic", MAGIC),
            ("chunk_bits", CHUNK_BITS),
            ("slots", self.slots),
            ("most_slots", self.most_slots),
            ("queue", queue),
        ):
            self._control[name] = value

    def __enter__(self) -> Ring:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory. No view of a chunk may be left."""
        del self._control, self._entries, self._vacant, self._owner
        with suppress(BufferError):  # the traceback of an exception may still hold a view
            self._memory.close()
        os.close(self.file)

    def count(self, name: str) -> int:
        """A counter of the control page: started, forks, threads, streams, made, waited (nanoseconds)."""
        return int(self._control[name][0])

    def next(self) -> Filled | None:
        """The next chunk that is full, None when there is none yet."""
        entry = self._entries[self._read & (self._queue - 1)]
        if entry["ready"] != (self._read + 1) & 0xFFFFFFFF:
            return None
        self._read += 1
        words = min(int(entry["bytes"]), 2 * CHUNK) // 4
        return Filled(int(entry["stream"]), self._checked(int(entry["slot"])), words, bool(entry["flags"] & TORN))

    def left(self) -> list[Filled]:
        """The chunks that were not full when the program ended. All of its processes have to have ended."""
        slots = np.flatnonzero(self._owner)
        found = [Filled(int(self._owner[slot]), int(slot), 2 * CHUNK // 4, torn=True) for slot in slots]
        return sorted(found, key=lambda chunk: chunk.stream)

    def words(self, chunk: Filled) -> npt.NDArray[np.uint32]:
        """uint32 words of a chunk, not copied: valid until it is given back."""
        offset = self._front + chunk.slot * 2 * CHUNK
        return np.frombuffer(self._memory, np.uint32, chunk.words, offset)

    def give_back(self, chunk: Filled, words: npt.NDArray[np.uint32]) -> None:
        """Clear a chunk and return it to the program. `words`: the view of it."""
        words[:] = 0
        self._vacant[self._given & (self._queue - 1)] = chunk.slot
        self._given += 1
        self._control["given"] = self._given

    def _checked(self, slot: int) -> int:
        if slot >= self.most_slots:
            raise ProgramError(
                "the program has overwritten the memory of its tracer",
                hint="It writes where it has no memory: look for an array index or a pointer that is wrong.",
            )
        return slot
