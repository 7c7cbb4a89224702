"""Conflicts between iterations, counted byte by byte on the addresses of a run.

For one object, every access of every job is an event (job, address, width, kind). Two jobs conflict on a granule
when both touch it and at least one writes it, or one reads what another reduces, or they reduce it by different
operators. Linear in the number of events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled
from tracecut.support.plain_kernels import fitting

READ, WRITE, REDUCE = 1, 2, 4  # further operators take the bits above


@dataclass(frozen=True)
class Events:
    """Accesses of one site: job numbers and byte offsets (int64, same length), bytes of one access, kind mask."""

    jobs: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    width: int
    kind: int


@dataclass(frozen=True)
class Conflict:
    """Two jobs that may not be swapped: their numbers, the events (places in the list) and the byte offset."""

    jobs: tuple[int, int]
    events: tuple[int, int]
    offset: int


def find_conflict(events: list[Events], size: int) -> Conflict | None:
    """First granule of an object of `size` bytes on which two jobs conflict, None when there is none.

    O(events + size / granule) time; 5 bytes a granule.
    """
    busy = [event for event in events if event.jobs.size]
    if not busy:
        return None
    granule = _granule(busy)
    count = size // granule + 1
    first_job = np.full(count, -1, np.int32)
    masks = np.zeros(count, np.uint8)
    shared = np.zeros(count, np.bool_)
    mark = fitting(_mark, sum(event.jobs.size * (event.width // granule) for event in busy))
    for event in busy:
        mark(event.jobs, event.offsets, event.width // granule, granule, event.kind, first_job, masks, shared)
    place = int(fitting(_first_conflict, count)(masks, shared))
    if place < 0:
        return None
    return _explain(events, place * granule, granule)


def _granule(events: list[Events]) -> int:
    """Largest power of two that divides every offset and width."""
    combined = 0
    for event in events:
        combined |= int(np.bitwise_or.reduce(event.offsets)) | event.width
    return combined & -combined


def _explain(events: list[Events], offset: int, granule: int) -> Conflict:
    found: list[tuple[int, int, int]] = []  # job, event, kind
    for place, event in enumerate(events):
        hit = (event.offsets <= offset) & (offset < event.offsets + event.width)
        # Two jobs of each site are enough: they differ from any third one, or from each other.
        found.extend((int(job), place, event.kind) for job in np.unique(event.jobs[hit])[:2])
    for job, place, kind in found:
        for other_job, other_place, other_kind in found:
            if job < other_job and _clash(kind | other_kind):
                return Conflict((job, other_job), (place, other_place), offset)
    raise AssertionError("a byte was found on which no two jobs conflict")


def _clash(mask: int) -> bool:
    reduces = mask >> 2
    return bool(mask & WRITE or (mask & READ and reduces) or reduces & (reduces - 1))


@compiled("void(int64[:], int64[:], int64, int64, int64, int32[:], uint8[:], boolean[:])", cache=True, nogil=True)
def _mark(
    jobs: Any, offsets: Any, granules: int, granule: int, kind: int, first_job: Any, masks: Any, shared: Any
) -> None:
    for item in range(jobs.size):
        job = np.int32(jobs[item])
        start = offsets[item] // granule
        for place in range(start, start + granules):
            if first_job[place] < 0:
                first_job[place] = job
            elif first_job[place] != job:
                shared[place] = True
            masks[place] |= np.uint8(kind)


@compiled("int64(uint8[:], boolean[:])", cache=True, nogil=True)
def _first_conflict(masks: Any, shared: Any) -> int:
    for place in range(masks.size):
        if shared[place]:
            mask = masks[place]
            reduces = mask >> 2
            if (mask & 2) or ((mask & 1) and reduces) or (reduces & (reduces - 1)):
                return place
    return -1
