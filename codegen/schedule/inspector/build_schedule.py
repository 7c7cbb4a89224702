"""From a plan and an ordering to a concrete schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule import schedule as sc
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.guards.relevance import unrelated_numbers
from tracecut.codegen.schedule.plan.lookups import alignment_of
from tracecut.codegen.schedule.plan.range_function import NEW, OLD, Group
from tracecut.codegen.schedule.plan.row_bounds import order_of_rows
from tracecut.codegen.schedule.plan.scope_plan import ScopePlan, Space
from tracecut.codegen.schedule.plan.whole_pieces import order_of_pieces
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.ir.ordering import Ordering
from tracecut.support.arrays import Ints
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.access_patterns import DIRECT
from tracecut.tracer.legality.evaluation.memory import Object

from .copies import copy_for, records_in, renumberings, starts_of
from .cut_into_blocks import Share, Span, share_out, whole

VIEWLESS = (OLD, "")


def _without_unrelated(guard: sc.Guard, objects: Sequence[Object], plan: ScopePlan) -> sc.Guard:
    """The guard without the sizes of objects that no region touches, and no index was loaded from.

    And without the numbers of loops that have nothing to do with what is moved (`relevance.py`).

    What the rest of the scope does with them, it does inside of them, however large they are: they are only to be
    objects of their own. An argument that sizes a log must not void a schedule.
    """
    known = {access.object for region in plan.uses for access in plan.accesses.inside(region)}
    known |= {plan.arrays[place].object for space in plan.spaces for place in space.arrays}
    known |= {objects[load.object] for load in guard.loads}
    refs = zip(guard.objects, objects, strict=True)
    free = unrelated_numbers(guard, objects, plan)
    return replace(
        guard,
        numbers={name: number for name, number in guard.numbers.items() if name not in free},
        objects=tuple(ref if item in known else replace(ref, size=sc.ANY_SIZE) for ref, item in refs),
    )


def build_schedule(
    plan: ScopePlan,
    graph: ScopeGraph,
    ordering: Ordering,
    guard: sc.Guard,
    objects: list[Object],
    groups: Mapping[int, list[Group]],
    *,
    threads: int = 1,
    reduce: str = FAST,
    remark: str = "",
) -> sc.Schedule:
    """Make a schedule.

    Args:
        plan: what may be moved. graph, ordering: the proposed order of its jobs and data.
        guard, objects: from `make_guard`, on the same accesses.
        groups: region → groups of its range function.
        threads: how many threads the jobs are shared out to.
        reduce: `fast`, or `ordered`: results are the same for any number of threads.

    Raises UnsupportedError when the emitted code cannot express what the plan needs.
    """
    places = {item: number for number, item in enumerate(objects)}
    orders: dict[Space, Ints] = {}
    jobs: dict[int, Ints] = {}
    shares: dict[int, Share] = {}
    slots: dict[int, tuple[sc.Private, ...]] = {}
    for space, start in graph.data_starts.items():
        size = space.high - space.low
        orders[space] = _within_cuts(space, _counted_from(ordering.data[start : start + size], start))
    for region in _rows_first(plan):
        size = plan.accesses.size(region) or 0
        if region not in plan.movable:
            jobs[region] = np.arange(size, dtype=np.int32)
            continue
        start = graph.job_starts[region]
        proposed = ordering.jobs
        if size < proposed.size:
            proposed = proposed[(proposed >= start) & (proposed < start + size)]
        jobs[region] = _counted_from(proposed, start)
        tied = next((space for space in plan.spaces if region in space.jobs), None)
        if tied is not None:
            if tied.bounds is not None:
                orders[tied] = _in_rows(plan, tied, orders)
            if tied not in orders:
                orders[tied] = _within_cuts(tied, _order_of_jobs(tied, region, jobs[region]))
            jobs[region] = _jobs_of_space(tied, orders[tied], region, size)
        work = None
        if threads > 1 or reduce != FAST:
            offsets, work = graph.graph.offsets[start : start + size + 1], np.empty(size, np.int32)
            np.subtract(offsets[1:], offsets[:-1], out=work, casting="unsafe")
            work += 1
        breaks = _breaks(ordering, start, size) if tied is None else None
        share = share_out(plan, region, jobs[region], threads, work=work, breaks=breaks, reduce=reduce)
        privates = _privates(plan, region, groups[region], share.spans, places)
        if privates is None:
            share = whole(size)
        elif privates:
            slots[region] = privates
        if share.order is not None:
            if tied is None or _follow(tied, orders, region, share.order):
                jobs[region] = share.order
            else:
                share = whole(size)
        shares[region] = share
    spaces = list(plan.spaces)
    for space in spaces:
        if space.pieces is not None:
            orders[space] = order_of_pieces(space, jobs[space.pieces.region])
        if space.bounds is not None:
            orders[space] = _in_rows(plan, space, orders)
        orders.setdefault(space, np.arange(space.high - space.low, dtype=np.int32))
    regions = tuple(
        replace(
            _region(
                plan, region, jobs[region], spaces, places, groups[region], shares.get(region, whole(jobs[region].size))
            ),
            privates=slots.get(region, ()),
        )
        for region in plan.uses
    )
    return sc.Schedule(
        scope=plan.accesses.nest.root,
        spaces=tuple(sc.SpaceOrder(space.low, space.high, space.cuts, orders[space]) for space in spaces),
        moves=tuple(
            _move(plan, place, places, number, shift)
            for number, space in enumerate(spaces)
            for place, shift in space.arrays.items()
        ),
        regions=regions,
        guard=_without_unrelated(guard, objects, plan),
        method=ordering.method,
        remark=remark,
        lookups=_lookups(plan),
    )


def _lookups(plan: ScopePlan) -> tuple[sc.Lookup, ...]:
    """What is looked up, array by array in the sequence of the moves."""
    moved = [place for space in plan.spaces for place in space.arrays]
    found = plan.lookups
    return tuple(
        sc.Lookup(
            tuple(sorted({pattern.access.site.key for pattern in found[place]})),
            number,
            plan.arrays[place].stride,
            max(map(alignment_of, found[place])),
        )
        for number, place in enumerate(moved)
        if place in found
    )


def _counted_from(order: Ints, first: int) -> Ints:
    """Numbers from `first` on as numbers from 0 on; the same array where that is 0."""
    return np.ascontiguousarray(order - first if first else order, np.int32)


def _breaks(ordering: Ordering, start: int, size: int) -> npt.NDArray[np.int64]:
    """Places in the order of a region, whose jobs are [start, start + size), where a block of the ordering ends."""
    if ordering.blocks.size <= 2 or size == ordering.jobs.size:
        return np.unique(ordering.blocks)[1:-1]
    mine = (ordering.jobs >= start) & (ordering.jobs < start + size)
    return np.unique(np.concatenate([[0], np.cumsum(mine)])[ordering.blocks])[1:-1]


def views_of(plan: ScopePlan, region: int) -> dict[str, str]:
    """Site key → view (new or old numbers) of every access of a region.

    Arrays in one object have views of their own, so that a pointer that leads to several can have several copies.
    """
    found = {}
    seen: dict[Object, int] = {}
    for use in plan.uses[region]:
        item = plan.arrays[use.array].object
        number = seen[item] = seen.get(item, -1) + 1
        new = f"{NEW} {number}" if number else NEW
        for pattern in use.patterns:
            old = use.mode in VIEWLESS or (use.mode == "plain" and pattern.kind == DIRECT)
            found[pattern.access.site.key] = OLD if old else new
    for site in plan.accesses.nest.sites_in(region):
        found.setdefault(site.key, OLD)
    return found


def _within_cuts(space: Space, order: Ints) -> Ints:
    """The order with every datum back in its own piece between two cuts."""
    if len(space.cuts) <= 2:
        return np.ascontiguousarray(order)
    inner = np.array(space.cuts[1:-1], np.int64) - space.low
    return np.ascontiguousarray(order[np.argsort(np.searchsorted(inner, order, side="right"), kind="stable")])


def _jobs_of_space(space: Space, order: Ints, region: int, size: int) -> Ints:
    """Job order of a region whose iterations are data of the space."""
    first = -space.jobs[region] - space.low
    return np.ascontiguousarray(order[first : first + size] - first).astype(np.int32)


def _order_of_jobs(space: Space, region: int, jobs: Ints) -> Ints:
    """Data order of a space that follows the job order of a region."""
    first = -space.jobs[region] - space.low
    order = np.arange(space.high - space.low, dtype=np.int32)
    order[first : first + jobs.size] = jobs + first
    return order


def _rows_first(plan: ScopePlan) -> list[int]:
    """The regions, behind all others those whose iterations are data in rows: their order follows from these."""
    cut = {region for space in plan.spaces if space.bounds is not None for region in space.jobs}
    return sorted(plan.uses, key=lambda region: region in cut)


def _in_rows(plan: ScopePlan, space: Space, orders: dict[Space, Ints]) -> Ints:
    """Order of a space that is cut into rows, by that of the space which has these."""
    assert space.bounds is not None
    rows = next(other for other in plan.spaces if space.bounds.array in other.copies)
    return order_of_rows(space, orders.setdefault(rows, np.arange(rows.high - rows.low, dtype=np.int32)))


def _follow(tied: Space, orders: dict[Space, Ints], region: int, jobs: Ints) -> bool:
    """Take over the job order that threads want for the data that are tied to the jobs, if these can follow."""
    changed = orders[tied].copy()
    first = -tied.jobs[region] - tied.low
    changed[first : first + jobs.size] = jobs + first
    if len(tied.jobs) > 1 or tied.bounds is not None or not np.array_equal(_within_cuts(tied, changed), changed):
        return False
    orders[tied] = changed
    return True


def _move(plan: ScopePlan, place: int, places: Mapping[Object, int], space: int, shift: int) -> sc.Move:
    array = plan.arrays[place]
    low, high = records_in(plan, place, plan.spaces[space], shift)
    known = (places[array.object], array.origin, array.stride, low, high - low)
    return sc.Move(*known, space, shift, renumberings(plan.spaces, place))


def _region(
    plan: ScopePlan,
    region: int,
    jobs: Ints,
    spaces: list[Space],
    places: Mapping[Object, int],
    groups: list[Group],
    share: Share,
) -> sc.RegionSchedule:
    copies: list[sc.Copy] = []
    copy_of: dict[int, int] = {}
    lengths: list[Ints] = []
    for place, use in enumerate(plan.uses[region]):
        if use.mode in ("moved", "old"):
            continue
        copy_of[place] = len(copies)
        copy = copy_for(plan, use, jobs.size, spaces, places)
        if use.segments is not None and use.mode in ("segment", "offsets"):
            mine = np.ascontiguousarray(use.segments.lengths, np.int32)
            cut = next((place for place, other in enumerate(lengths) if np.array_equal(other, mine)), len(lengths))
            lengths += [mine] if cut == len(lengths) else []
            copy = replace(copy, starts=starts_of(plan, use.segments, places), cut=cut)
        copies.append(copy)
    bases: dict[int, int] = {}
    rows = plan.accesses.memory.rows
    for group in groups:
        found = {of for key in group.sites if (of := _use(plan, region, key)) is not None}
        homes = {plan.uses[region][of].array for of in found}
        wanted = {copy_of.get(of) for of in found}
        if len(wanted) > 1:
            raise UnsupportedError("accesses that share a base pointer need different copies")
        number = wanted.pop() if wanted else None
        if number is None and not group.root and any(plan.arrays[home].object in rows for home in homes):
            raise UnsupportedError("rows behind pointers are reached through a choice of pointers")
        if number is not None:
            if not group.root:
                raise UnsupportedError("an array that needs a copy is reached through a choice of pointers")
            whole = {site.key for site in plan.accesses.nest.sites_in(region) if site.type.startswith("i")}
            numbers = plan.fields.keys() | {name for pair in plan.accesses.nest.lengths for name in pair}
            if copies[number].renumber and whole & set(group.sites) and not numbers & set(group.sites):
                raise UnsupportedError("an array of indices is read as data, and through another pointer")
            bases[group.id] = number
    together = np.concatenate(lengths) if lengths else np.zeros(0, np.int32)
    return sc.RegionSchedule(region, jobs, share.blocks, tuple(copies), bases, together)


def _privates(
    plan: ScopePlan,
    region: int,
    groups: list[Group],
    spans: tuple[Span, ...],
    places: Mapping[Object, int],
) -> tuple[sc.Private, ...] | None:
    """Private slots for the groups that reach the spans; None where a base pointer leads to something else too."""
    found = []
    for span in spans:
        for group in groups:
            homes = {_home(plan, region, key) for key in group.sites}
            if span.array not in homes:
                continue
            if len(homes) > 1 or not group.root:
                return None
            found.append(sc.Private(group.id, places[plan.arrays[span.array].object], span.type, span.low, span.high))
    return tuple(found)


def _use(plan: ScopePlan, region: int, key: str) -> int | None:
    """Which use of the region an access belongs to."""
    for place, use in enumerate(plan.uses[region]):
        if any(pattern.access.site.key == key for pattern in use.patterns):
            return place
    return None


def _home(plan: ScopePlan, region: int, key: str) -> int | None:
    place = _use(plan, region, key)
    return None if place is None else plan.uses[region][place].array
