"""Cutting an order of jobs into thread blocks, and what each of them touches.

Jobs are taken in their order until a block has enough of them, or until its data do not fit into shared memory: the
largest cluster decides how much of it a kernel needs (SPAC §4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import UnsupportedError
from tracecut.support.lazy_kernels import kept

from .gpu_schedule import MAX_LOCAL, BlockData

Shorts = npt.NDArray[np.uint16]
TRIES = 8
HINT = "A larger shared-memory budget, or the variant swap, which needs none."


@dataclass(frozen=True, eq=False)
class JobPins:
    """The data that each job reaches by its indices, in the new order of the jobs.

    Attributes:
        offsets: int64 (jobs + 1). ids: int32; space start + place in the space's order, -1: no datum.
        starts: int64 (spaces + 1); first id of each space.
    """

    offsets: Longs
    ids: Ints
    starts: Longs


def cut_jobs(
    pins: JobPins, breaks: Longs, jobs: int, shared: int, widths: Sequence[int], fixed: Sequence[int]
) -> Longs:
    """Bounds of the blocks.

    Args:
        pins: of the jobs. breaks: int64, ascending places in the order where a block has to end (clusters).
        jobs: most jobs of a block. shared: bytes of shared memory that a block may take.
        widths, fixed: of each space, bytes that a datum takes, and bytes on top of them.

    Returns int64 (blocks + 1). O(pins). Raises UnsupportedError when the data of one job do not fit.
    """
    count = pins.offsets.size - 1
    ends = np.zeros(count + 1, np.bool_)
    ends[breaks[(breaks >= 0) & (breaks <= count)]] = True
    size = np.asarray(widths, np.int64)
    room = max(0, shared - sum(fixed))
    limit = room
    for _ in range(TRIES):
        bounds, most, alone = _cut(pins.offsets, pins.ids, pins.starts, ends, jobs, limit, size)
        if alone >= 0:
            needed = int(pins.offsets[alone + 1] - pins.offsets[alone])
            raise UnsupportedError(
                f"the data of one iteration ({needed} indices) do not fit into {shared} bytes of shared memory",
                hint=HINT,
            )
        # Each space takes as much as its largest block does: together that may be more than any one block needs.
        used = int((most * size).sum())
        if used <= room:
            return np.asarray(bounds)
        limit = min(limit * room // used, limit - 1)
    raise UnsupportedError(
        f"the largest blocks of its {size.size} index spaces do not fit into {shared} bytes of shared memory", hint=HINT
    )


def data_of_blocks(pins: JobPins, bounds: Longs, spaces: Sequence[int]) -> tuple[tuple[BlockData, ...], Shorts]:
    """The distinct data of each block, by space, and the local number of each pin. O(pins log data of a block).

    `spaces`: place in the scope plan of each space of the pins.
    """
    counts, ids, owned, local = _distinct(pins.offsets, pins.ids, pins.starts, bounds)
    found = []
    begins = np.concatenate([[0], np.cumsum(counts.sum(axis=1))]).astype(np.int64)
    for place, space in enumerate(spaces):
        low, high = int(pins.starts[place]), int(pins.starts[place + 1])
        offsets = np.concatenate([[0], np.cumsum(counts[:, place])]).astype(np.int64)
        first = begins[:-1] + counts[:, :place].sum(axis=1)
        mine = np.arange(int(offsets[-1]), dtype=np.int64) + np.repeat(first - offsets[:-1], counts[:, place])
        data = (ids[mine] - low).astype(np.int32)
        found.append(BlockData(space, high - low, offsets, data, np.ascontiguousarray(owned[:, place])))
    return tuple(found), np.asarray(local)


def check_local(spaces: Sequence[BlockData]) -> None:
    """Raise UnsupportedError when a block touches more data of a space than 16-bit numbers can tell apart."""
    for item in spaces:
        if item.most > MAX_LOCAL:
            raise UnsupportedError(f"a block touches {item.most} data of one index space, {MAX_LOCAL} at most")


@kept
def _cut(offsets: Any, ids: Any, starts: Any, ends: Any, jobs: int, limit: int, widths: Any) -> tuple[Any, Any, int]:
    count = offsets.size - 1
    spaces = starts.size - 1
    bounds = np.empty(count + 2, np.int64)
    bounds[0] = 0
    blocks = 0
    seen = np.full(starts[spaces], -1, np.int32)  # the last block that touched a datum
    now = np.zeros(spaces, np.int64)
    most = np.zeros(spaces, np.int64)
    taken = 0
    used = 0
    job = 0
    while job < count:
        added = 0
        for pin in range(offsets[job], offsets[job + 1]):
            datum = ids[pin]
            if datum >= 0 and seen[datum] != blocks:
                seen[datum] = blocks
                space = 0
                while datum >= starts[space + 1]:
                    space += 1
                added += widths[space]
                now[space] += 1
        full = taken > 0 and (taken == jobs or ends[job] or used + added > limit)
        if full:
            for space in range(spaces):
                now[space] = 0
            blocks += 1
            bounds[blocks] = job
            taken = 0
            used = 0
            continue  # the same job again, in a new block: what it touches counts for that one
        if added > limit:
            return bounds[:1], most, job
        used += added
        taken += 1
        for space in range(spaces):
            most[space] = max(most[space], now[space])
        job += 1
    if taken > 0:
        blocks += 1
        bounds[blocks] = count
    return bounds[: blocks + 1].copy(), most, -1


@kept
def _distinct(offsets: Any, ids: Any, starts: Any, bounds: Any) -> tuple[Any, Any, Any, Any]:
    blocks = bounds.size - 1
    spaces = starts.size - 1
    total = starts[spaces]
    seen = np.full(total, -1, np.int32)
    touching = np.zeros(total, np.int32)  # blocks that touch a datum, two stand for more
    sizes = np.zeros(blocks, np.int64)
    for block in range(blocks):
        for pin in range(offsets[bounds[block]], offsets[bounds[block + 1]]):
            datum = ids[pin]
            if datum >= 0 and seen[datum] != block:
                seen[datum] = block
                touching[datum] = min(2, touching[datum] + 1)
                sizes[block] += 1
    found = np.empty(sizes.sum(), np.int32)
    counts = np.zeros((blocks, spaces), np.int64)
    owned = np.zeros((blocks, spaces), np.int32)
    local = np.zeros(ids.size, np.uint16)
    number = np.empty(total, np.int32)
    seen[:] = -1
    first = 0
    for block in range(blocks):
        here = first
        for pin in range(offsets[bounds[block]], offsets[bounds[block + 1]]):
            datum = ids[pin]
            if datum >= 0 and seen[datum] != block:
                seen[datum] = block
                found[here] = datum
                here += 1
        mine = np.sort(found[first:here])
        low = 0
        place = first
        for space in range(spaces):
            high = low
            while high < mine.size and mine[high] < starts[space + 1]:
                high += 1
            begin = place
            for alone in (True, False):
                for item in range(low, high):
                    if (touching[mine[item]] < 2) == alone:
                        found[place] = mine[item]
                        number[mine[item]] = place - begin
                        place += 1
                if alone:
                    owned[block, space] = place - begin
            counts[block, space] = high - low
            low = high
        for pin in range(offsets[bounds[block]], offsets[bounds[block + 1]]):
            if ids[pin] >= 0:
                local[pin] = np.uint16(number[ids[pin]])
        first = here
    return counts, found, owned, local
