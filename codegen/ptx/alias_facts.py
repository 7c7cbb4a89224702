"""What a GPU kernel may assume of a region's arrays, from the accesses of the run."""

from __future__ import annotations

from collections.abc import Sequence

from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.schedule.plan.range_function import Group
from tracecut.tracer.legality.access_patterns import DIRECT


def gpu_facts(inspection: Inspection, groups: Sequence[Group], region: int) -> dict[str, list[int]]:
    """Groups that nothing in the region writes (`disjoint`), and groups where every job has its own (`exclusive`)."""
    accesses = inspection.accesses
    verdict = inspection.verdicts[region]
    touched = [access for access in accesses.inside(region) if access.runs]
    written = {access.object for access in touched if access.site.writes}
    objects = {group.id: {a.object for a in touched if a.site.key in group.sites} for group in groups}
    disjoint = [group.id for group in groups if None not in objects[group.id] and not objects[group.id] & written]
    if verdict.kind == "parallel":
        return {"disjoint": disjoint, "exclusive": [group.id for group in groups]}
    shared = {
        site.key
        for use in inspection.plan.uses[region]
        for site in (pattern.access.site for pattern in use.patterns)
        if not _own(inspection, use.patterns, region, use.array)
    }
    return {
        "disjoint": disjoint,
        "exclusive": [group.id for group in groups if not shared & set(group.sites) and group.sites],
    }


def _own(inspection: Inspection, patterns: Sequence[object], region: int, place: int) -> bool:
    """Whether every iteration stays in a record of its own of an array."""
    array = inspection.plan.arrays[place]
    mine = [pattern for pattern in array.patterns if pattern in patterns]
    return array.stride > 0 and (
        all(p.kind == DIRECT and p.major is not None and p.major.data[0] == region for p in mine)
        and len({array.record(pattern) for pattern in mine}) == 1
    )
