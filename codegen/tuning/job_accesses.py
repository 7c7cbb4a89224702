"""The memory accesses of a region's jobs as a locality graph with arrays: what the simulator's job level takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.schedule.plan.scope_plan import RegionUse
from tracecut.ir.locality_graph import READ, REDUCE, WRITE, LocalityGraph
from tracecut.ir.loops.nest import AccessKind
from tracecut.support.arrays import Longs
from tracecut.tracer.legality.access_patterns import DIRECT, SEGMENT

KINDS = {AccessKind.READ: READ, AccessKind.WRITE: WRITE, AccessKind.REDUCE: REDUCE}


@dataclass(frozen=True, eq=False)
class JobAccesses:
    """What the jobs of a region touch.

    Attributes:
        graph: jobs × data; a pin is an access to a record of the array that is its `site`, in program order (of one
            iteration, what is read comes first).
        strides: int64 (arrays), bytes of a record.
        streamed: int64 (jobs), bytes that are read in the order of the jobs.
        sites: accesses that an iteration of the innermost loop makes, as pins.
    """

    graph: LocalityGraph
    strides: Longs
    streamed: Longs
    sites: int


@dataclass(frozen=True, eq=False)
class _Part:
    """One way in which an array is reached: of each iteration of a loop, the datum (−1: it is not reached)."""

    array: int
    loop: int
    kind: int
    data: npt.NDArray[np.int64]


def job_accesses(inspection: Inspection, region: int) -> JobAccesses:
    """Accesses of the jobs of a region, from the exact addresses of the run. O(pins log pins).

    Accesses to one record in one iteration count once: as an update where one of them writes what is read. Arrays that
    follow the jobs, or lie in pieces behind them, are streamed; single numbers, and arrays that stay in their place
    although they are indexed, are left out.
    """
    plan = inspection.plan
    starts = np.concatenate([[0], np.cumsum([space.high - space.low for space in plan.spaces])]).astype(np.int64)
    shifts = {
        place: (number, shift)
        for number, space in enumerate(plan.spaces)
        for place, shift in [*space.copies.items(), *space.arrays.items()]
    }
    parts: list[_Part] = []
    strides: list[int] = []
    streamed = np.zeros(inspection.accesses.size(region) or 0, np.int64)
    for use in plan.uses[region]:
        if use.mode in ("moved", "spaced") and use.array in shifts:
            number, shift = shifts[use.array]
            low, high = plan.spaces[number].low, plan.spaces[number].high
            found = _parts(inspection, use, len(strides), shift, low, high, int(starts[number]))
            parts += found
            strides.append(plan.arrays[use.array].stride)
        else:
            _stream(inspection, use, region, streamed)
    offsets, data, site, access = _rows(inspection, region, parts, streamed.size)
    graph = LocalityGraph(offsets, data, int(starts[-1]), access, site, space_offsets=starts)
    loops = [part.loop for part in parts]
    most = max((loops.count(loop) for loop in set(loops)), default=1)
    return JobAccesses(graph, np.array(strides, np.int64), streamed, most)


def _parts(
    inspection: Inspection, use: RegionUse, number: int, shift: int, low: int, high: int, start: int
) -> list[_Part]:
    """The ways in which a region reaches an array of a space; what reaches the same records is one of them."""
    array = inspection.plan.arrays[use.array]
    found: list[_Part] = []
    for pattern in use.patterns:
        access = pattern.access
        known = inspection.accesses.addresses(access)
        if known is None:
            continue
        addresses, runs = known
        data = (addresses - array.object.base - array.origin) // array.stride - shift
        data = np.where(runs & (data >= low) & (data < high), data - low + start, -1)
        kind = KINDS[access.site.kind]
        same = next((part for part in found if part.loop == access.site.loop and np.array_equal(part.data, data)), None)
        if same is None:
            found.append(_Part(number, access.site.loop, kind, data))
        else:
            found[found.index(same)] = _Part(number, same.loop, same.kind | kind, data)
    return found


def _stream(inspection: Inspection, use: RegionUse, region: int, streamed: Longs) -> None:
    """Add the bytes that each job reads of an array in the order of the jobs."""
    stride = inspection.plan.arrays[use.array].stride
    loops = {pattern.access.site.loop for pattern in use.patterns if pattern.kind in (DIRECT, SEGMENT)}
    for loop in loops:
        jobs = inspection.accesses.evaluation.jobs(loop, region)
        streamed += np.bincount(jobs, minlength=streamed.size) * stride
        return  # a second loop finds the lines where the first one left them


def _rows(
    inspection: Inspection, region: int, parts: Sequence[_Part], jobs: int
) -> tuple[Longs, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """CSR rows: data, arrays and kinds of access of each job."""
    parts = sorted(parts, key=lambda part: part.kind != READ)  # in one iteration, what is read comes first
    nothing = np.zeros(0, np.int64)
    if parts and all(part.loop == region and (part.data >= 0).all() for part in parts):  # nothing needs sorting
        count = len(parts)
        return (
            np.arange(0, (jobs + 1) * count, count, dtype=np.int64),
            np.stack([part.data for part in parts], axis=1, dtype=np.int32, casting="unsafe").reshape(-1),
            np.tile(np.array([part.array for part in parts], np.int32), jobs),
            np.tile(np.array([part.kind for part in parts], np.uint8), jobs),
        )
    of_job = [inspection.accesses.evaluation.jobs(part.loop, region) for part in parts]
    ran = [part.data >= 0 for part in parts]
    job = np.concatenate([nothing, *(jobs[there] for jobs, there in zip(of_job, ran, strict=True))])
    data = np.concatenate([nothing, *(part.data[there] for part, there in zip(parts, ran, strict=True))])
    turn = np.concatenate([nothing, *(np.flatnonzero(there) for there in ran)])
    counts = [int(np.count_nonzero(there)) for there in ran]
    site = np.repeat([part.array for part in parts], counts)
    access = np.repeat([part.kind for part in parts], counts)
    inner = np.repeat([part.loop != region for part in parts], counts)
    # Job by job; there the iterations of inner loops one after the other, and then what is done once a job.
    order = np.lexsort((np.where(inner, turn, np.iinfo(np.int64).max), job))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(job, minlength=jobs))]).astype(np.int64)
    return (
        offsets,
        data[order].astype(np.int32),
        site[order].astype(np.int32),
        access[order].astype(np.uint8),
    )
