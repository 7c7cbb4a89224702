"""The bytes of objects as captures found them, in one file for all captures of a run.

Loops of a program touch much the same objects, and what lies between two captures changes few of them: an object that
is as it was when it was kept last is not kept again.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SMALL = 1 << 16  # bytes of an object up to which it is written together with others
ALIGNED = 64  # bytes; where larger ones begin

Places = npt.NDArray[np.int64]


class KeptBytes:
    """Writes the bytes of objects behind each other.

    Each process has a file of its own: one that the program forks runs on with what is known of its parent's. The file
    is open only while something is written, as programs close what they did not open.

    Args:
        folder: where the file is made. library: the run-time support, or a program that is linked with it.
    """

    def __init__(self, folder: Path, library: ctypes.CDLL) -> None:
        self._folder, self._library, self._process = folder, library, -1
        self._begin()

    def _begin(self) -> None:
        """Nothing is kept yet."""
        self._process, self._lock = os.getpid(), threading.Lock()  # threads of the program enter loops, too
        self.path = self._folder / f"contents-{self._process}.bin"
        self._bases = self._sizes = self._starts = np.zeros(0, np.int64)  # where each object was kept last, by address
        self._end = 0

    def keep(self, bases: Places, sizes: Places, places: Places) -> Places:
        """Keep objects as they are now.

        Args:
            bases: int64, ascending; what they are known by. sizes: bytes. places: int64 addresses of their bytes.

        Returns where the bytes of each lie in the file. O(objects log objects + bytes); what is as it was is only read.
        Raises OSError where they cannot be written; what was kept before stays.
        """
        if self._process != os.getpid():
            self._begin()
        with self._lock:
            starts = self._unchanged(bases, sizes, places)
            new = np.flatnonzero(starts < 0)
            if new.size:
                starts[new] = self._write(sizes[new], places[new])
                self._remember(bases, sizes, starts)
        return starts

    def _unchanged(self, bases: Places, sizes: Places, places: Places) -> Places:
        """Where objects lie that are as they were when they were kept last; −1 for others."""
        starts = np.full(bases.size, -1, np.int64)
        at = np.searchsorted(self._bases, bases)
        known = at < self._bases.size
        known[known] = (self._bases[at[known]] == bases[known]) & (self._sizes[at[known]] == sizes[known])
        which = np.flatnonzero(known)
        if not which.size or not self._end:
            return starts
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), self._end, access=mmap.ACCESS_READ) as kept:
            whole = np.frombuffer(kept, np.uint8)
            before, changed = self._starts[at[which]], np.zeros(which.size, np.bool_)
            here, there, length = places[which], before + whole.ctypes.data, sizes[which]
            columns = [_address(column) for column in (here, there, length, changed)]
            self._library.tc_changed(*columns, ctypes.c_int64(which.size))
            del whole
        starts[which[~changed]] = before[~changed]
        return starts

    def _write(self, sizes: Places, places: Places) -> Places:
        """Append objects: small ones together, large ones from where they are."""
        small = np.flatnonzero(sizes < SMALL)
        own, at = sizes[small], places[small]
        packed, within = np.empty(int(own.sum()), np.uint8), np.cumsum(own) - own
        columns = [_address(column) for column in (packed, at, own, within)]
        self._library.tc_gather(None, *columns, ctypes.c_int64(small.size), ctypes.c_int32(1))
        starts, end = np.zeros(sizes.size, np.int64), self._end
        starts[small] = end + within
        with open(self.path, "r+b" if end else "wb", buffering=0) as file:
            file.seek(end)
            end += _write_all(file.fileno(), packed.data)
            for place in np.flatnonzero(sizes >= SMALL).tolist():
                raw = (ctypes.c_uint8 * int(sizes[place])).from_address(int(places[place]))
                starts[place] = end = file.seek(-(-end // ALIGNED) * ALIGNED)
                end += _write_all(file.fileno(), memoryview(raw).cast("B"))
        self._end = end
        return starts

    def _remember(self, bases: Places, sizes: Places, starts: Places) -> None:
        """These lie here; what shares bytes with them is gone from memory."""
        ends = self._bases + self._sizes
        after = np.searchsorted(bases, ends)  # objects that begin before the end of one that was kept
        apart = (after == 0) | ((bases + sizes)[np.maximum(after, 1) - 1] <= self._bases)
        columns = ((self._bases, bases), (self._sizes, sizes), (self._starts, starts))
        order = np.argsort(np.concatenate([self._bases[apart], bases]), kind="stable")
        self._bases, self._sizes, self._starts = (np.concatenate([old[apart], new])[order] for old, new in columns)


def _address(column: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(int(column.ctypes.data))


def _write_all(file: int, data: memoryview) -> int:
    """Write all of some bytes: the system takes 2 GiB at once at most."""
    done = 0
    while done < len(data):
        done += os.write(file, data[done:])
    return done
