"""A marked loop in the outermost scope that it may have, with as few exits as that takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.support.errors import UnsupportedError

from tracecut.pipeline.stages.tune import scope_exits

from .harness import Inspected, Program
from .woven_programs import woven


def region_of(subject: Program, mark: str) -> int:
    """The marked loop; of several on its line, the innermost one that was captured."""
    line, traced = subject.lines[mark], subject.traced.profile.captures
    found = [item for item in subject.compiled.analysis.records if item.place.line == line and item.indirect]
    return max((item for item in found if item.id in traced), key=lambda item: (item.depth, -item.id)).id


def outermost(subject: Program, mark: str) -> Inspected:
    """The marked loop in its outermost scope, with the fewest exits with which what it gathers can move."""
    region = region_of(subject, mark)
    scope = subject.scopes_of(region)[0]
    why = ""
    for exits, _ in scope_exits(subject.compiled.analysis, subject.traced, scope, region):
        try:
            found = subject.inspect_in(mark, region, scope, exits)
        except UnsupportedError as error:
            why = why or error.message
            continue
        moved, stay = found.inspection.gathered(region)
        if found.inspection.verdicts[region].movable and moved and not stay:
            return found
        why = why or "; ".join(found.inspection.plan.kept.values())
    raise UnsupportedError(why)


def all_outermost(subject: Program, marks: Iterable[str]) -> dict[str, Inspected]:
    """The marked loops of a program."""
    return {mark: outermost(subject, mark) for mark in marks}


def shuffled(items: Mapping[str, Inspected], name: str) -> tuple[Path, list[ScopeFile], list[str]]:
    """The program with each of these loops in a random order."""
    schedules = [item.schedule(item.random(place)) for place, item in enumerate(items.values())]
    return woven(list(items.values()), schedules, name=name)


def levels(item: Inspected) -> int:
    """How many loops there are from the region up to its scope."""
    found, loop = 0, item.region
    while loop != item.scope:
        above = item.program.compiled.analysis.parent(loop)
        assert above is not None
        found, loop = found + 1, above
    return found
