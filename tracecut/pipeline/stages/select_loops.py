"""Selection of loops to inspect, by their share of the executed work, outermost first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracecut.ir.llvm.debug_info import Place
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.refusals import carried_in_memory, carried_values, obstacles
from tracecut.support.errors import UsageError
from tracecut.tracer.capture.snapshot import Profile
from tracecut.tracer.loops.phi_sources import LEFT_BEHIND
from tracecut.tracer.loops.program import Analysis, LoopRecord

from .settings import Settings, parse_place

SEARCHES = "each iteration searches where it goes, which no index array says"


@dataclass(frozen=True)
class Hot:
    """A loop that runs a large part of the program's work.

    Attributes:
        loop: id. share: part of all executed instructions. captured: whether its memory was captured.
        verdict: (class, reason, places) if it is known without a capture.
        inside: captured inner loops, which are tried if this loop cannot be reordered.
    """

    loop: int
    share: float
    captured: bool
    verdict: tuple[str, str, tuple[Place, ...]] | None = None
    inside: tuple[int, ...] = ()


def executed_work(analysis: Analysis, profile: Profile) -> dict[int, float]:
    """Each loop's share of the instructions executed in loops, inner loops included."""
    own = {}
    for record in analysis.records:
        instructions = analysis.nest(record.id).loops[record.id].instructions
        own[record.id] = instructions * profile.iterations[record.id]
    total = sum(own.values()) or 1
    work = dict(own)
    for record in sorted(analysis.records, key=lambda item: -item.depth):
        if record.parent is not None:
            work[record.parent] += work[record.id]
    return {loop: count / total for loop, count in work.items()}


def choose_loops(settings: Settings, analysis: Analysis, profile: Profile) -> list[Hot]:
    """Loops to inspect or to explain, largest share first."""
    shares = executed_work(analysis, profile)
    children: dict[int | None, list[int]] = {}
    for record in analysis.records:
        children.setdefault(record.parent, []).append(record.id)
    if settings.region is not None:
        return _asked_for(settings, settings.region, analysis, profile, shares, children)
    indexed = {record.id for record in analysis.records if record.indirect or settings.regular}
    captured = profile.captures.keys() & indexed
    found: list[Hot] = []
    stack = list(children.get(None, []))
    while stack:
        loop = stack.pop()
        if shares[loop] < settings.min_share:
            continue
        below = [child for child in children.get(loop, []) if shares[child] >= settings.min_share]
        inside = tuple(child for child in _all_inside(loop, children) if child in captured)
        if loop in captured:
            found.append(Hot(loop, shares[loop], True, inside=inside))
        elif loop in profile.captures and not inside and _is_one_nest(analysis, loop):  # for a kernel alone
            why = _without_capture(settings, analysis, loop, shares, children, profile.refused)
            within = tuple(child for child in _all_inside(loop, children) if child in profile.captures)
            found.append(Hot(loop, shares[loop], False, why, within))
        elif not inside and (place := _walks_rows(analysis.nest(loop))) is not None:
            reason = "it walks along rows that pointers lead to, and no index picks them: there is no reuse to gain"
            found.append(Hot(loop, shares[loop], False, ("rejected", reason, (place,))))
        elif not inside and (place := _searches(analysis.nest(loop))) is not None:
            found.append(Hot(loop, shares[loop], False, ("rejected", SEARCHES, (place,))))
        elif below and sum(shares[child] for child in below) > shares[loop] / 2:
            stack.extend(below)
        else:
            wider = _worth_explaining(settings, analysis, loop, profile)
            nested = {wider, *_all_inside(wider, children)}
            if not nested & captured:
                loop = wider
                stack = [other for other in stack if other not in nested]
                found = [hot for hot in found if hot.loop not in nested]
            why = _without_capture(settings, analysis, loop, shares, children, profile.refused)
            found.append(Hot(loop, shares[loop], False, why))
    return sorted(found, key=lambda hot: (-hot.share, hot.loop))


def _worth_explaining(settings: Settings, analysis: Analysis, loop: int, profile: Profile) -> int:
    """The loop, or where each entry of it is short the one around it that is not: why that one cannot be reordered is
    what matters. Loops that are regular are explained as they are."""
    records = {record.id: record for record in analysis.records}
    found: int | None = loop
    while found is not None and records[found].indirect and found not in profile.refused:
        around = records[found].parent  # of a loop without hooks it is not counted how often it was entered
        entries = profile.entries.get(found, 1 if around is None else profile.iterations[around])
        if profile.iterations[found] >= settings.min_jobs * max(1, entries):
            return found
        found = around
    return loop


def _is_one_nest(analysis: Analysis, loop: int) -> bool:
    """Whether each loop of a nest has at most one in it: what has more is a step that runs them in turn."""
    parents = [info.parent for info in analysis.nest(loop).loops.values()]
    return len(set(parents)) == len(parents)


def _all_inside(loop: int, children: Mapping[int | None, list[int]]) -> list[int]:
    found: list[int] = []
    stack = list(children.get(loop, []))
    while stack:
        item = stack.pop(0)
        found.append(item)
        stack.extend(children.get(item, []))
    return found


def _without_capture(
    settings: Settings,
    analysis: Analysis,
    loop: int,
    shares: Mapping[int, float],
    children: Mapping[int | None, list[int]],
    refused: Mapping[int, str],
) -> tuple[str, str, tuple[Place, ...]]:
    """Why a hot loop was not captured."""
    nest = analysis.nest(loop)
    info = nest.loops[loop]
    if loop in refused:
        return "rejected", refused[loop], (info.place,)
    records = {record.id: record for record in analysis.records}
    if info.through:
        inner = nest.loops[info.through[0]]
        return "rejected", f"it may be left early inside the loop at {inner.place}", inner.left or info.evidence
    for number in sorted(nest.inside(loop)):
        which = "the loop" if number == loop else f"the loop at {nest.loops[number].place}"
        heavy = shares.get(number, 0.0) > shares[loop] / 2
        for found in carried_values(nest, number) if heavy and not children.get(number) else ():
            if found.ordered:
                return "ordered", f"{which} {found.says}", found.places
    for found in obstacles(nest, loop):
        return "rejected", f"the loop {found.says}", found.places
    if not records[loop].indirect:
        # Also irregular: it follows a linked list, for example.
        for found in (*carried_values(nest, loop), *carried_in_memory(nest, loop)):
            if found.ordered:
                return "ordered", f"the loop {found.says}", found.places
        if not settings.regular:
            return (
                "rejected",
                "its addresses are regular: no index is loaded, so there is no reuse to gain",
                (info.place,),
            )
    if info.trip is None or info.ends_early:
        return "rejected", f"it {info.why}", info.evidence
    return "rejected", "it has too few executions or iterations for a new order to pay", (info.place,)


def same_file(known: str, wanted: str) -> bool:
    """Whether two names can mean the same source file: `mesh.c` matches `/home/me/mesh.c`."""
    first, second = Path(os.path.normpath(known)).parts, Path(os.path.normpath(wanted)).parts
    count = min(len(first), len(second))
    return first[-count:] == second[-count:]


def _asked_for(
    settings: Settings,
    wanted: str,
    analysis: Analysis,
    profile: Profile,
    shares: Mapping[int, float],
    children: Mapping[int | None, list[int]],
) -> list[Hot]:
    file, line = parse_place(wanted)
    places = [record for record in analysis.records if record.place.line == line]
    matching = [record for record in places if same_file(record.place.file, file) and profile.iterations[record.id]]
    matching.sort(key=lambda record: -shares[record.id])  # the hottest copy of a loop that was inlined several times
    if not matching:
        hot = sorted(analysis.records, key=lambda record: -shares[record.id])[:8]
        raise UsageError(
            f"--region {wanted}: no executed loop starts there",
            hint=_hot_loops([record for record in hot if shares[record.id] > 0]),
        )
    return [
        Hot(
            record.id,
            shares[record.id],
            record.id in profile.captures,
            None
            if record.id in profile.captures
            else _without_capture(settings, analysis, record.id, shares, children, profile.refused),
            tuple(child for child in _all_inside(record.id, children) if child in profile.captures),
        )
        for record in matching[:1]
    ]


def _hot_loops(records: Sequence[LoopRecord]) -> str:
    """The hint, which names the hot loops."""
    if not records:
        return "No loop of the program was executed: omit the option."
    return f"Hot loops: {', '.join(str(record.place) for record in records)}."


def _walks_rows(nest: Nest) -> Place | None:
    """Where each iteration of the loop reaches memory through a pointer that it loads."""
    for site in nest.sites:
        for node in site.address.walk():
            if node.kind == "load" and node.data[1] == "ptr":
                counters = [inner.data[0] for inner in node.walk() if inner.kind == "counter"]
                if nest.root in counters:
                    return site.place
    return None


def _searches(nest: Nest) -> Place | None:
    """Where each iteration of the loop uses an index that a loop in it finds, as in a hash table; not in a row."""
    for site in nest.sites:
        unknown = (node.kind == "opaque" and node.data[0] == LEFT_BEHIND for node in site.address.walk())
        found = site.address.has("left") and not site.address.numbers()
        if site.loop == nest.root and (found or any(unknown)):
            return site.place
    return None
