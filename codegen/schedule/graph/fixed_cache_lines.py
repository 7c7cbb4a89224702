"""Data that stay where they are, as far as jobs can be ordered by them: the cache lines behind loaded indices.

A region may reach arrays through loaded indices that nothing may renumber (`ex[c]` beside `ex[c + nx]`). Its jobs can
still be moved: those that use the same lines belong together. Where a line lies decides nothing but the order, so one
line stands for all that an index reaches, and arrays that share an index share their lines. For the same reason the
values of an index that changes from run to run of a region (the cell of a particle that moves) may be guessed: they are
those of the captured memory, as long as the verdict does not ask for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tracecut.codegen.schedule.graph.guessed_values import guess_addresses
from tracecut.codegen.schedule.plan.offset_union_find import Shifts
from tracecut.codegen.schedule.plan.scope_plan import RegionUse, ScopePlan
from tracecut.ir.loops.expressions import Expr
from tracecut.support.arrays import Longs
from tracecut.tracer.legality.access_patterns import INDIRECT, OTHER, Pattern
from tracecut.tracer.legality.evaluation.memory import Object

from .pins import without_repeats

LINE = 64
MOVED = ("moved", "spaced")  # modes of arrays that do not stay
SPARSE = 4  # lines a pin from which their numbers are packed


@dataclass(frozen=True, eq=False)
class LineSpace:
    """Lines that stay: pins of each region, (jobs, line numbers from 0) pairs, and how many lines there are."""

    pins: Mapping[int, list[tuple[Longs, Longs]]]
    count: int


def line_spaces(plan: ScopePlan, regions: list[int]) -> list[LineSpace]:
    """The lines that the jobs of regions reach through loaded indices without ever moving them. O(pins).

    Arrays that are reached by one index, in any region, have lines in common.
    """
    links = Shifts()
    reached: list[tuple[int, int, Expr, Pattern, int]] = []
    for region in regions:
        found: dict[tuple[int, Expr], tuple[Pattern, int]] = {}
        for use in plan.uses[region]:
            for pattern, record in _patterns(plan, use):
                assert pattern.major is not None
                key = use.array, pattern.major
                if key not in found or record < found[key][1]:
                    found[key] = pattern, record
        for (array, atom), (pattern, record) in found.items():
            links.relate(("array", array), ("index", region, atom), 0)
            reached.append((region, array, atom, pattern, record))
    classes: dict[object, list[tuple[int, int, Expr, Pattern, int]]] = {}
    for item in reached:
        classes.setdefault(links.find(("array", item[1]))[0], []).append(item)
    loaded = [space for members in classes.values() if (space := _space(plan, members)) is not None]
    return loaded + _computed(plan, regions)


def _computed(plan: ScopePlan, regions: list[int]) -> list[LineSpace]:
    """Lines that are reached by an index which is computed of loaded values (`grid[(int)(x[i] * n)]`), by object."""
    accesses = plan.accesses
    found: dict[Object, dict[int, list[tuple[Longs, Longs]]]] = {}
    for region in regions:
        patterns = [pattern for use in plan.uses[region] if use.mode not in MOVED for pattern in use.patterns]
        for pattern in patterns:
            item, site = pattern.access.object, pattern.access.site
            if pattern.kind != OTHER or item is None or not site.address.has("load"):
                continue
            known = accesses.addresses(pattern.access)
            if known is not None:
                pins = accesses.evaluation.jobs(site.loop, region)[known[1]], known[0][known[1]]
            else:
                pins = guess_addresses(accesses, pattern.access, region)
            if pins[0].size:
                pins = without_repeats(pins[0], (pins[1] - item.base) // LINE)
                found.setdefault(item, {}).setdefault(region, []).append(pins)
    return [LineSpace(pins, -(-item.size // LINE)) for item, pins in found.items()]


def _patterns(plan: ScopePlan, use: RegionUse) -> list[tuple[Pattern, int]]:
    """Accesses by a loaded index to what stays, each with the first record that it reaches from number 0."""
    array = plan.arrays[use.array]
    if use.mode in MOVED:
        return []
    return [
        (pattern, array.record(pattern) if array.stride else pattern.first // pattern.step)
        for pattern in use.patterns
        if pattern.kind == INDIRECT and pattern.major is not None and pattern.step > 0
    ]


def _space(plan: ScopePlan, members: list[tuple[int, int, Expr, Pattern, int]]) -> LineSpace | None:
    """One line space of arrays that share indices; None when no value of them is known."""
    evaluation = plan.accesses.evaluation
    together = max(1, LINE // max(pattern.step for *_, pattern, _ in members))
    found: dict[tuple[int, Expr, int], tuple[Longs, Longs]] = {}
    for region, _, atom, pattern, record in members:
        if (region, atom, record) in found:  # another array by the same index
            continue
        values, valid = plan.accesses.values(atom, pattern.access.site)
        jobs = evaluation.jobs(pattern.access.site.loop, region)
        lines = (values[valid].astype(np.int64) + record) // together
        found[region, atom, record] = without_repeats(jobs[valid], lines)
    filled = [lines for _, lines in found.values() if lines.size]
    if not filled:
        return None
    low, high = min(int(lines.min()) for lines in filled), max(int(lines.max()) for lines in filled)
    count = high - low + 1
    if count > SPARSE * sum(lines.size for lines in filled):
        used = np.unique(np.concatenate(filled))
        count = used.size
        numbered = {key: np.searchsorted(used, lines) for key, (_, lines) in found.items()}
    else:
        numbered = {key: lines - low for key, (_, lines) in found.items()}
    pins: dict[int, list[tuple[Longs, Longs]]] = {}
    for key, (jobs, _) in found.items():
        pins.setdefault(key[0], []).append((jobs, numbered[key].astype(np.int64)))
    return LineSpace(pins, count)
