"""Wavefronts of blocks: sets of blocks that may run concurrently, since no two of them write common data.

Pairs of blocks with conflicts are the edges of a graph; its greedy colouring gives the wavefronts. (Unlike with a tail,
no job leaves its block, and no datum is copied.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Ints
from tracecut.support.lazy_kernels import compiled

MAX_BLOCKS = 64  # one bit each: who touches a record is known from one word


def meeting_blocks(
    block: Ints, meetings: Sequence[tuple[Sequence[tuple[Ints, npt.NDArray[Any]]], int]], count: int
) -> npt.NDArray[np.uint64]:
    """uint64 (count): bit b of word a, whether blocks a and b both touch some record.

    Args:
        block: int32 (jobs), the block of each. count: of blocks, `MAX_BLOCKS` at most.
        meetings: (touches, size) of each array that is written; touches: (jobs, records) arrays, jobs[i] touches
            record records[i] < size; without jobs each job i does.

    O(pins + records · blocks that meet there).
    """
    met = np.zeros(count, np.uint64)
    for touches, size in meetings:
        touched = np.zeros(size, np.uint64)
        for jobs, records in touches:
            _touch(block, jobs, records, touched)
        _meet(touched, met)
    return met


def wavefronts(met: npt.NDArray[np.uint64]) -> Ints:
    """int32 (blocks): the lowest wavefront where no block meets it, blocks that meet most others first. O(blocks²)."""
    count = met.size
    rows = [[b for b in range(count) if int(met[a]) >> b & 1 and a != b] for a in range(count)]
    waves = np.full(count, -1, np.int32)
    for a in sorted(range(count), key=lambda a: (-len(rows[a]), a)):
        taken = {int(waves[b]) for b in rows[a]}
        waves[a] = next(wave for wave in range(count) if wave not in taken)
    return waves


@compiled(cache=True, nogil=True)
def _touch(block: Any, jobs: Any, records: Any, touched: Any) -> None:
    for item in range(records.size):
        touched[records[item]] |= np.uint64(1) << np.uint64(block[jobs[item] if jobs.size else item])


@compiled("void(uint64[:], uint64[:])", cache=True, nogil=True)
def _meet(touched: Any, met: Any) -> None:
    for item in range(touched.size):
        word = touched[item]
        if word & (word - np.uint64(1)) == 0:
            continue  # one block at most
        for a in range(met.size):
            if (word >> np.uint64(a)) & np.uint64(1):
                met[a] |= word
