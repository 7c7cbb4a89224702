"""The locality graph of a layout scope: the jobs of all its regions, the data of all its spaces.

Regions that reach no datum that is renumbered touch the cache lines that stay (`fixed_cache_lines.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.plan.row_bounds import BOUNDS
from tracecut.codegen.schedule.plan.scope_plan import ScopePlan, Space
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.loops.expressions import Expr
from tracecut.support.lazy_kernels import compiled
from tracecut.tracer.legality.access_patterns import INDIRECT, Pattern

from .fixed_cache_lines import line_spaces
from .pins import Pins, pins_within, together


@dataclass(frozen=True, eq=False)
class ScopeGraph:
    """The graph, and which ids belong to whom.

    Attributes:
        graph: jobs of the movable regions one after the other; data of the indexed spaces one after the other, and
            behind them lines that stay where they are, whatever an order says of them.
        job_starts: region → first job id. `data_starts`: space → first datum id. line_spaces: how many kinds of lines.
    """

    graph: LocalityGraph
    job_starts: dict[int, int]
    data_starts: dict[Space, int]
    line_spaces: int = 0


def scope_graph(plan: ScopePlan) -> ScopeGraph:
    """Build the graph from the index values of the run. O(pins)."""
    spaces = [space for space in plan.spaces if space.fields and not space.follows]
    data_starts: dict[Space, int] = {}
    total = 0
    for space in spaces:
        data_starts[space] = total
        total += space.high - space.low
    regions = sorted(plan.movable)
    pins_of = {region: region_pins(plan, region, data_starts) for region in regions}
    edges = [*data_starts.values(), total]
    lines = line_spaces(plan, [region for region in regions if not pins_of[region]])
    for kind in lines:
        for region, own in kind.pins.items():
            pins_of[region] += [(jobs.astype(np.int32), (numbers + total).astype(np.int32)) for jobs, numbers in own]
        total += kind.count
        edges.append(total)
    # Jobs that touch one datum beside jobs that touch two count as loops: graphs are ordered faster than hypergraphs.
    width = 2 if max((len(pins) for pins in pins_of.values()), default=0) == 2 else 0
    job_starts: dict[int, int] = {}
    rows: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]] = []
    count = 0
    for region in regions:
        job_starts[region] = count
        size = plan.accesses.size(region) or 0
        rows.append(_rows(pins_of.pop(region), size, width))
        count += size
    offsets, pins = _one_behind_the_other(rows)
    names = (*(space.name for space in spaces), *(f"lines {number}" for number in range(len(lines))))
    graph = LocalityGraph(offsets, pins, total, space_offsets=np.array(edges, np.int64), names=names)
    return ScopeGraph(graph, job_starts, data_starts, len(lines))


def _one_behind_the_other(
    rows: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """CSR rows of all regions; those of a single one as they are."""
    if len(rows) == 1:
        return rows[0]
    ends = np.cumsum([0, *(data.size for _, data in rows)])
    offsets = [np.zeros(1, np.int64), *(own[1:] + end for (own, _), end in zip(rows, ends, strict=False))]
    return np.concatenate(offsets), np.concatenate([np.zeros(0, np.int32), *(data for _, data in rows)])


def graph_size(plan: ScopePlan) -> tuple[int, int, int]:
    """(pins, jobs, data) that the graph has at most; nothing is made for it."""
    pins = jobs = 0
    for region in plan.movable:
        count = plan.accesses.size(region) or 0
        for uses in indices_of(plan, region):
            pins += sum(plan.accesses.size(loop) or 0 for loop in {use.access.site.loop for use in uses})
        pins += count * sum(region in space.jobs for space in plan.spaces if space.fields)
        jobs += count
    return pins, jobs, sum(space.high - space.low for space in plan.spaces if space.fields)


def region_pins(plan: ScopePlan, region: int, data_starts: dict[Space, int]) -> list[Pins]:
    """(jobs, data) of each way in which a region reaches a space: one pair of int32 arrays for each loaded index."""
    evaluation = plan.accesses.evaluation
    found = []
    size = plan.accesses.size(region) or 0
    for space, start in data_starts.items():
        if region in space.jobs:
            jobs = np.arange(size, dtype=np.int32)
            found.append((jobs, jobs + np.int32(start - space.jobs[region] - space.low)))
    for uses in indices_of(plan, region):
        field = plan.fields[_load(uses[0])]
        home = next((space for space in data_starts if field in space.fields), None)
        if home is None:
            continue
        parts = []
        for loop in dict.fromkeys(use.access.site.loop for use in uses):
            values, valid = _values(plan, [use for use in uses if use.access.site.loop == loop])
            shift = home.fields[field]
            bounds = home.low + shift, home.high + shift
            jobs_of = None if loop == region else evaluation.jobs(loop, region)
            parts.append(pins_within(jobs_of, np.asarray(values, np.int64), valid, bounds, data_starts[home]))
        found.append(parts[0] if len(parts) == 1 else together(parts))
        del values, valid
        evaluation.forget()  # the next index has vectors of its own
    return found


def _values(plan: ScopePlan, uses: Sequence[Pattern]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """(values, valid) of a loaded index for each iteration of a loop in which any of its uses may run."""
    values, valid = plan.accesses.values(_atom(uses[0]), uses[0].access.site)
    for use in uses[1:]:
        more, runs = plan.accesses.values(_atom(use), use.access.site)
        values, valid = np.where(valid, values, more), valid | runs
    return values, valid


def indices_of(plan: ScopePlan, region: int) -> list[list[Pattern]]:
    """For each loaded value by which a region reaches renumbered records, its uses: one under each condition."""
    found: dict[tuple[object, ...], dict[tuple[int, object], Pattern]] = {}
    for use in plan.uses[region]:
        if use.mode not in ("moved", "spaced", BOUNDS):
            continue
        for pattern in use.patterns:
            if pattern.kind == INDIRECT and pattern.major is not None and _load(pattern) in plan.fields:
                site = pattern.access.site
                found.setdefault(_same_load(plan, pattern.major), {}).setdefault((site.loop, site.reach), pattern)
    return [list(uses.values()) for uses in found.values()]


def _atom(pattern: Pattern) -> Expr:
    assert pattern.major is not None
    return pattern.major


def _load(pattern: Pattern) -> str:
    """Name of the load that a use is indexed by."""
    return str(_atom(pattern).data[0])


def _same_load(plan: ScopePlan, atom: Expr) -> tuple[object, ...]:
    """Loads of the same address have the same key."""
    access = plan.accesses.by_site[str(atom.data[0])][0]
    if access.form is None:
        return (atom,)
    return (access.form.const, access.site.loop, *sorted((a.serial, f) for a, f in access.form.terms.items()))


def _rows(parts: list[Pins], count: int, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """CSR rows of (job, datum) pairs, in the order of the parts inside of each row; at least `width` pins a row."""
    if not parts or not count:
        return np.zeros(count + 1, np.int64), np.zeros(0, np.int32)
    if all(_is_every_job(jobs, count) for jobs, _ in parts):
        columns = [part for _, part in parts]
        columns += [columns[0]] * (width - len(columns))
        pins = np.empty((count, len(columns)), np.int32)
        for column, values in enumerate(columns):
            pins[:, column] = values
        return np.arange(0, (count + 1) * len(columns), len(columns), dtype=np.int64), pins.reshape(-1)
    offsets = np.zeros(count + 1, np.int64)
    for jobs, _ in parts:
        _count_by_job(jobs, offsets[1:])
    np.cumsum(offsets, out=offsets)
    if len(parts) == 1:  # whose pins are by job
        return offsets, parts[0][1]
    place, result = offsets[:-1].copy(), np.empty(int(offsets[-1]), np.int32)
    for jobs, data in parts:
        _put_by_job(jobs, data, place, result)
    return offsets, result


def _is_every_job(jobs: npt.NDArray[np.int32], count: int) -> bool:
    return (
        jobs.size == count and int(jobs[0]) == 0 and int(jobs[-1]) == count - 1 and bool(np.all(jobs[1:] > jobs[:-1]))
    )


@compiled("void(int32[::1], int64[::1])", cache=True, nogil=True)
def _count_by_job(jobs: Any, counts: Any) -> None:
    for item in range(jobs.size):
        counts[jobs[item]] += 1


@compiled("void(int32[::1], int32[::1], int64[::1], int32[::1])", cache=True, nogil=True)
def _put_by_job(jobs: Any, data: Any, place: Any, result: Any) -> None:
    """Put pins behind those of their jobs that are there. `place`: where those end, moved on."""
    for item in range(jobs.size):
        job = jobs[item]
        result[place[job]] = data[item]
        place[job] += 1
