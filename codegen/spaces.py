"""The static rule for renumbering: which arrays of a layout scope may be moved, together with what. (DESIGN §5)

Every array that a rescheduled region reaches through loaded indices is a candidate. It stays where it is as soon
as one access to it, anywhere in the scope, is not understood; the region then reads it by the old numbers. What is
moved together is one *space*: arrays, index fields, and counters whose numbers are the same up to constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..ir.errors import UnsupportedError
from ..tracer.access import Accesses
from ..tracer.expr import Expr
from ..tracer.linear import linear_form
from ..tracer.patterns import (
    DIRECT,
    INDIRECT,
    RANGE,
    SCALAR,
    SEGMENT,
    Array,
    Pattern,
    find_arrays,
    find_pattern,
)
from .companions import Companion, examine
from .shifts import Shifts


@dataclass(frozen=True, eq=False)
class Field:
    """Loaded indices inside of the records of an array: `width` bytes at each of `offsets` of the record."""

    array: int
    offsets: tuple[int, ...]
    width: int


@dataclass(frozen=True, eq=False)
class Space:
    """Data that are renumbered together: datum numbers [low, high).

    Attributes:
        arrays: array → shift; record = datum + shift. These are permuted in place.
        fields: index field → shift; loaded value = datum + shift.
        copies: arrays of which regions use copies with records in this space's order → shift.
        jobs: region → shift; iteration = datum + shift: its job order is this space's order.
        cuts: datum numbers between which the order may not move anything, ascending, low and high included.
    """

    low: int
    high: int
    arrays: Mapping[int, int]
    fields: Mapping[Field, int]
    copies: Mapping[int, int]
    jobs: Mapping[int, int]
    cuts: tuple[int, ...]
    name: str


@dataclass(frozen=True, eq=False)
class Segments:
    """An inner loop over a piece of an array that a loaded start (and end) picks: CSR rows.

    `start`, `end`: index fields; `end_record` − `start_record` is 1 for the usual one-array offsets.
    """

    loop: int
    start: Field
    end: Field | None
    start_record: int
    end_record: int


@dataclass(frozen=True, eq=False)
class RegionUse:
    """How a region reaches one array: `mode` is moved, direct, offsets, segment, spaced, plain or old."""

    array: int
    mode: str
    patterns: tuple[Pattern, ...]
    segments: Segments | None = None


@dataclass(frozen=True, eq=False)
class ScopePlan:
    """What may be moved in a scope, before any order is chosen.

    Attributes:
        arrays: all arrays of the scope. `spaces`: what is renumbered together.
        uses: region → how it reaches each array that it touches.
        movable: regions whose iterations may be reordered.
        kept: array → why it stays in place.
        companions: loops that run unchanged on the new layout.
    """

    accesses: Accesses
    arrays: list[Array]
    spaces: list[Space]
    uses: Mapping[int, list[RegionUse]]
    movable: frozenset[int]
    kept: Mapping[int, str]
    companions: tuple[Companion, ...]
    fields: Mapping[str, Field] = field(default_factory=dict)


def plan_scope(accesses: Accesses, regions: list[int], movable: frozenset[int], *, renumber: bool = True) -> ScopePlan:
    """Find out what may be moved in a scope.

    Args:
        accesses: the scope's accesses. regions: loops to reschedule, none inside of another.
        movable: those whose iterations may be reordered. renumber: move data too, not only jobs.

    Raises UnsupportedError when the scope holds something that could reach any memory.
    """
    return _Planner(accesses, regions, movable, renumber).plan()


class _Planner:
    def __init__(self, accesses: Accesses, regions: list[int], movable: frozenset[int], renumber: bool) -> None:
        self.accesses = accesses
        self.nest = accesses.nest
        self.regions = regions
        self.movable = movable
        self.renumber = renumber
        self.inside = {loop: region for region in regions for loop in self.nest.inside(region)}
        self._check_scope()
        patterns = [
            find_pattern(accesses, access, regions)
            for access in accesses.all()
            if access.runs and access.site.private is None
        ]
        self.arrays = find_arrays(patterns)
        self.home = {pattern: place for place, array in enumerate(self.arrays) for pattern in array.patterns}
        self.by_site: dict[str, list[Pattern]] = {}
        for pattern in self.home:
            self.by_site.setdefault(pattern.access.site.key, []).append(pattern)
        self.fields: dict[str, Field] = {}
        self.kept: dict[int, str] = {}
        self.frozen: set[Field] = set()

    def plan(self) -> ScopePlan:
        self._find_fields()
        while True:
            before = (len(self.kept), len(self.frozen))
            attempt = self._attempt()
            if (len(self.kept), len(self.frozen)) == before:
                break
        spaces, uses, companions = attempt
        return ScopePlan(
            self.accesses,
            self.arrays,
            spaces,
            uses,
            self.movable,
            dict(self.kept),
            tuple(companions),
            dict(self.fields),
        )

    def _check_scope(self) -> None:
        for info in self.nest.loops.values():
            for obstacle in info.obstacles:
                if obstacle.kind in ("unknown", "memory"):
                    raise UnsupportedError(f"it holds {obstacle.reason} ({obstacle.place})")
        for access in self.accesses.all():
            if access.runs and access.object is None and access.site.private is None:
                verb = "written" if access.site.writes else "read"
                raise UnsupportedError(f"it is not known which memory is {verb} at {access.site.place}")

    def _find_fields(self) -> None:
        """Index fields: what the loaded values in addresses and trip counts are read from."""
        atoms: dict[str, Expr] = {}
        for pattern in self.home:
            if pattern.major is not None and pattern.major.kind == "load":
                atoms[str(pattern.major.data[0])] = pattern.major
        for region in self.regions:
            for loop in self.nest.inside(region) - {region}:
                trip = self.nest.loops[loop].trip
                for node in trip.walk() if trip is not None else ():
                    if node.kind == "load" and node.data[1] != "ptr":
                        atoms[str(node.data[0])] = node
        spans: dict[int, list[tuple[set[int], int, str]]] = {}
        for name in sorted(atoms):
            patterns = self.by_site.get(name, [])
            if len(patterns) != 1 or not self.arrays[self.home[patterns[0]]].stride or not patterns[0].offsets:
                continue
            array = self.arrays[self.home[patterns[0]]]
            if patterns[0].kind not in (DIRECT, INDIRECT, SEGMENT):
                continue
            low = (patterns[0].first - array.origin) % array.stride
            offsets = {low + offset for offset in patterns[0].offsets}
            spans.setdefault(self.home[patterns[0]], []).append((offsets, patterns[0].access.site.size, name))
        for place, found in spans.items():
            groups: list[tuple[set[int], set[int], list[str]]] = []  # offsets, widths, loads
            for offsets, width, name in found:
                apart = []
                offsets, widths, names = set(offsets), {width}, [name]
                for other in groups:
                    if _overlap(offsets, max(widths), other[0], max(other[1])):
                        offsets, widths, names = offsets | other[0], widths | other[1], [*other[2], *names]
                    else:
                        apart.append(other)
                groups = [*apart, (offsets, widths, names)]
            for offsets, widths, names in groups:
                made = Field(place, tuple(sorted(offsets)), max(widths))
                if len(widths) > 1 or any(b - a < made.width for a, b in pairwise(made.offsets)):
                    self.frozen.add(made)
                for name in names:
                    self.fields[name] = made

    def _region_of(self, pattern: Pattern) -> int | None:
        return self.inside.get(pattern.access.site.loop)

    def _keep(self, array: int, why: str) -> None:
        self.kept.setdefault(array, why)

    def _is_index_copy(self, place: int) -> bool:
        """Whether an array holds index fields and is only read: regions use copies of it."""
        holds = any(found.array == place for found in self.fields.values())
        return holds and not self.arrays[place].written

    def _attempt(self) -> tuple[list[Space], dict[int, list[RegionUse]], list[Companion]]:
        uses = {region: self._uses(region) for region in self.regions}
        links = Shifts()
        moved: dict[int, None] = {}
        for place, array in enumerate(self.arrays):
            if array.why and place not in self.kept and any(p.kind == INDIRECT for p in array.patterns):
                self._keep(place, array.why)
            if place in self.kept or not array.stride or self._is_index_copy(place):
                continue
            if self._is_candidate(array):
                moved[place] = None
        companions: dict[int, Companion] = {}
        cuts: dict[int, set[int]] = {}
        queue = list(moved)
        while queue:
            place = queue.pop(0)
            if place in self.kept:
                continue
            for more in self._relate(place, links, companions, cuts):
                if more not in moved:
                    moved[more] = None
                    queue.append(more)
        for place in self.kept:
            moved.pop(place, None)
        self._relate_copies(uses, links)
        for companion in companions.values():
            self._check_companion(companion, moved)
        spaces = self._spaces(moved, links, uses, cuts)
        return spaces, self._settle(uses, moved, spaces), list(companions.values())

    def _is_candidate(self, array: Array) -> bool:
        """Reached through an index by a region, or written by the iterations of one that may be reordered."""
        for pattern in array.patterns:
            region = self._region_of(pattern)
            if region is None:
                continue
            if self.renumber and pattern.kind == INDIRECT:
                return True
            if pattern.kind == DIRECT and array.written and region in self.movable and self._is_own(pattern, region):
                return not any(other.kind == INDIRECT for other in array.patterns) or self.renumber
        return False

    def _is_own(self, pattern: Pattern, region: int) -> bool:
        return pattern.major is not None and pattern.major.kind == "counter" and pattern.major.data[0] == region

    def _relate(
        self, place: int, links: Shifts, companions: dict[int, Companion], cuts: dict[int, set[int]]
    ) -> list[int]:
        """Tie a moved array to the indices and counters that reach it. Returns arrays that have to move with it."""
        array = self.arrays[place]
        if array.why or not array.stride:
            self._keep(place, array.why or "it has no record structure")
            return []
        more: list[int] = []
        for pattern in array.patterns:
            region = self._region_of(pattern)
            if pattern.kind == SCALAR:
                record = (pattern.first - array.origin) // array.stride
                if (pattern.first - array.origin) % array.stride + pattern.extent > array.stride:
                    self._keep(place, f"the access at {pattern.access.site.place} spans records")
                cuts.setdefault(place, set()).update((record, record + 1))
            elif pattern.kind == RANGE:
                self._relate_range(place, array, pattern, cuts)
            elif pattern.kind == INDIRECT and region is not None:
                found = self.fields.get(str(pattern.major.data[0])) if pattern.major is not None else None
                if found is None or found in self.frozen or pattern.step < 0:
                    self._keep(place, f"the index at {pattern.access.site.place} can not be renumbered")
                elif not links.relate(("array", place), ("field", found), array.record(pattern)):
                    self._keep(place, f"the index at {pattern.access.site.place} reaches it at two distances")
            elif pattern.kind == DIRECT and region is not None and self._is_own(pattern, region):
                if region not in self.movable:
                    self._keep(place, f"the loop at {self.nest.loops[region].place} has to keep its order")
                elif pattern.step < 0 or not links.relate(("array", place), ("jobs", region), array.record(pattern)):
                    self._keep(place, f"the loop at {self.nest.loops[region].place} reaches it at two distances")
            elif pattern.kind == DIRECT and region is None:
                more += self._relate_companion(place, array, pattern, links, companions, cuts)
            else:
                self._keep(place, f"the access at {pattern.access.site.place} walks it in another way")
            if place in self.kept:
                return []
        return more

    def _relate_range(self, place: int, array: Array, pattern: Pattern, cuts: dict[int, set[int]]) -> None:
        """A block that is filled: it has to cover whole records."""
        key = pattern.access.site.key
        first, rest = divmod(pattern.first - array.origin, array.stride)
        last, tail = divmod(pattern.first + pattern.extent - array.origin, array.stride)
        if rest or tail or not self._is_fill(key):
            self._keep(place, f"the block at {pattern.access.site.place} is copied or cut inside of a record")
        cuts.setdefault(place, set()).update((first, last))

    def _is_fill(self, key: str) -> bool:
        return key.startswith("call:") and not any(
            other != key and other.rsplit(":", 1)[0] == key.rsplit(":", 1)[0] for other in self.by_site
        )

    def _relate_companion(
        self,
        place: int,
        array: Array,
        pattern: Pattern,
        links: Shifts,
        companions: dict[int, Companion],
        cuts: dict[int, set[int]],
    ) -> list[int]:
        assert pattern.major is not None
        loop = int(pattern.major.data[0])
        companion = companions.get(loop)
        if companion is None:
            companion = companions[loop] = examine(self.accesses, loop)
        sign = 1 if pattern.step > 0 else -1
        if companion.why or not links.relate(("array", place), ("walk", loop, sign), array.record(pattern)):
            why = companion.why or "reaches it at two distances"
            self._keep(place, f"the loop at {self.nest.loops[loop].place} {why}")
            return []
        low, high = (companion.low, companion.high) if sign > 0 else (1 - companion.high, 1 - companion.low)
        cuts.setdefault(place, set()).update((low + array.record(pattern), high + array.record(pattern)))
        others = [
            self.home[other]
            for other in self.home
            if other.kind == DIRECT and other.major is pattern.major and self.home[other] != place
        ]
        return list(dict.fromkeys(others))

    def _check_companion(self, companion: Companion, moved: dict[int, None]) -> None:
        """Everything that a companion walks has to move, in one direction, or nothing of it may."""
        walked = [
            pattern
            for pattern in self.home
            if pattern.kind == DIRECT and pattern.major is not None and pattern.major.data[0] == companion.loop
        ]
        signs = {pattern.step > 0 for pattern in walked}
        unmoved = [pattern for pattern in walked if self.home[pattern] not in moved]
        if unmoved or len(signs) > 1:
            place = self.nest.loops[companion.loop].place
            why = f"the loop at {place} walks it together with something that stays"
            for pattern in walked:
                self._keep(self.home[pattern], why)

    def _uses(self, region: int) -> list[RegionUse]:
        """How a region reaches each array that it touches, if nothing is moved in place."""
        found = []
        for place, array in enumerate(self.arrays):
            patterns = tuple(pattern for pattern in array.patterns if self._region_of(pattern) == region)
            if not patterns:
                continue
            kinds = {pattern.kind for pattern in patterns}
            mode, segments = "old", None
            if array.stride and not array.written:
                if kinds == {DIRECT} and all(self._is_own(pattern, region) for pattern in patterns):
                    records = {array.record(pattern) for pattern in patterns}
                    mode = "direct" if len(records) == 1 else "old"
                elif kinds == {SEGMENT}:
                    segments = self._segments(region, patterns)
                    mode = "segment" if segments is not None else "plain"
                elif kinds == {INDIRECT}:
                    mode = "plain"
            found.append(RegionUse(place, mode, patterns, segments))
        return self._with_offsets(region, found)

    def _segments(self, region: int, patterns: tuple[Pattern, ...]) -> Segments | None:
        """The inner loop over pieces that all patterns share, None when there is no single one."""
        heads = {(pattern.major, pattern.inner, pattern.step, pattern.first) for pattern in patterns}
        if len({(major, inner) for major, inner, _, _ in heads}) != 1 or region not in self.movable:
            return None
        major, inner = patterns[0].major, patterns[0].inner
        assert major is not None and inner is not None
        start = self.fields.get(str(major.data[0]))
        loop = int(inner.data[0])
        info = self.nest.loops[loop]
        if start is None or start in self.frozen or info.trip is None or info.parent != region:
            return None
        begin, step, bound = (linear_form(part, self.accesses.lives) for part in info.trip.args)
        ends = [atom for atom in bound.terms if atom.kind == "load"]
        if begin.terms != {major: 1} or step.terms or step.const != 1 or bound.terms != dict.fromkeys(ends[:1], 1):
            return None
        end = self.fields.get(str(ends[0].data[0]))
        first, last = self.by_site[str(major.data[0])][0], self.by_site[str(ends[0].data[0])][0]
        if end is None or end in self.frozen or not (self._is_own(first, region) and self._is_own(last, region)):
            return None
        if not self._covers(region, loop, major, ends[0]):
            return None
        arrays = self.arrays[self.home[first]], self.arrays[self.home[last]]
        return Segments(loop, start, end, arrays[0].record(first), arrays[1].record(last))

    def _covers(self, region: int, loop: int, start: Expr, end: Expr) -> bool:
        """Whether the inner loop runs over exactly the numbers from start to end, in every iteration that enters it."""
        evaluation = self.accesses.evaluation
        outer, inner = evaluation.domain(region), evaluation.domain(loop)
        first, last = evaluation.at(start, region), evaluation.at(end, region)
        if outer is None or inner is None or inner.parent is None or not (first.all_known and last.all_known):
            return False
        counts = np.bincount(inner.parent, minlength=outer.size)
        return bool(np.all((counts == 0) | (counts == np.broadcast_to(last.data - first.data, outer.size))))

    def _with_offsets(self, region: int, found: list[RegionUse]) -> list[RegionUse]:
        """Arrays of starts and ends get new values when everything that they cut into pieces is copied in pieces."""
        cut: dict[Field, list[RegionUse]] = {}
        for use in found:
            for pattern in use.patterns:
                if pattern.kind == SEGMENT and pattern.major is not None:
                    start = self.fields.get(str(pattern.major.data[0]))
                    if start is not None:
                        cut.setdefault(start, []).append(use)
        result = {use.array: use for use in found}
        for start, members in cut.items():
            segments = [use.segments for use in members if use.segments is not None]
            good = len(segments) == len(members) and len({item.loop for item in segments}) == 1
            if good:
                good = self._offsets_fit(region, segments[0], result)
            if good:
                for place in {segments[0].start.array, (segments[0].end or start).array}:
                    result[place] = RegionUse(place, "offsets", result[place].patterns, segments[0])
            else:
                for use in members:
                    if use.segments is not None:
                        result[use.array] = RegionUse(use.array, "plain", use.patterns)
        return list(result.values())

    def _offsets_fit(self, region: int, segments: Segments, uses: Mapping[int, RegionUse]) -> bool:
        """Offsets are read as start and end alone, in one of the two known forms."""
        end = segments.end or segments.start
        for place, records in ((segments.start.array, {segments.start_record}), (end.array, {segments.end_record})):
            array = self.arrays[place]
            if segments.start.array == end.array:
                records = {segments.start_record, segments.end_record}
                if segments.end_record != segments.start_record + 1:
                    return False
                if any(self.nest.index_data.get(p.access.site.key) for p in uses[place].patterns):
                    return False  # starts and ends share an array: the old values of both do not fit into one copy
            if array.written or place not in uses or array.stride != segments.start.width:
                return False
            for pattern in uses[place].patterns:
                if pattern.kind != DIRECT or pattern.step < 0 or not self._is_own(pattern, region):
                    return False
                if array.record(pattern) not in records:
                    return False
        return True

    def _relate_copies(self, uses: Mapping[int, list[RegionUse]], links: Shifts) -> None:
        """Copies that are reached through an index may take the order of the index's space."""
        for found in uses.values():
            for use in found:
                if use.mode != "plain" or use.array in self.kept or not self._is_index_copy(use.array):
                    continue
                array = self.arrays[use.array]
                for pattern in use.patterns:
                    name = self.fields.get(str(pattern.major.data[0])) if pattern.major is not None else None
                    if pattern.kind != INDIRECT or name is None or name in self.frozen or pattern.step < 0:
                        continue
                    if not links.relate(("copy", use.array), ("field", name), array.record(pattern)):
                        self.frozen.add(name)

    def _spaces(
        self,
        moved: Mapping[int, None],
        links: Shifts,
        uses: Mapping[int, list[RegionUse]],
        cuts: Mapping[int, set[int]],
    ) -> list[Space]:
        nodes: list[Hashable] = [("array", place) for place in moved]
        nodes += [("field", item) for item in dict.fromkeys(self.fields.values())]
        nodes += [("jobs", region) for region in self.regions if region in self.movable]
        copied = [use.array for found in uses.values() for use in found if use.mode == "plain"]
        nodes += [("copy", place) for place in dict.fromkeys(copied) if self._is_index_copy(place)]
        spaces: list[Space] = []
        for members in links.classes(nodes).values():
            arrays = {key[1]: shift for key, shift in members if key[0] == "array"}  # type: ignore[index]
            if not arrays:
                continue
            fields = {key[1]: shift for key, shift in members if key[0] == "field"}  # type: ignore[index]
            jobs = {key[1]: shift for key, shift in members if key[0] == "jobs"}  # type: ignore[index]
            copies = {key[1]: shift for key, shift in members if key[0] == "copy"}  # type: ignore[index]
            edges: set[int] = set()
            for place, shift in arrays.items():
                low, high = self.arrays[place].touched
                edges |= {low - shift, high - shift}
                edges |= {cut - shift for cut in cuts.get(place, ())}
            for region, shift in jobs.items():
                domain = self.accesses.evaluation.domain(region)
                assert domain is not None
                edges |= {-shift, domain.size - shift}
            for found in fields:
                self._check_field(found, uses)
            for place, shift in copies.items():
                low, high = self.arrays[place].touched
                edges |= {low - shift, high - shift}
            name = next((self.arrays[place].object.name for place in arrays if self.arrays[place].object.name), "")
            spaces.append(
                Space(
                    min(edges),
                    max(edges),
                    arrays,
                    fields,
                    copies,
                    jobs,
                    tuple(sorted(edges)),
                    name or f"data {len(spaces)}",
                )
            )
        return spaces

    def _check_field(self, found: Field, uses: Mapping[int, list[RegionUse]]) -> None:
        """A renumbered index is read from copies alone, by every region that reads it."""
        for members in uses.values():
            for use in members:
                if use.array == found.array and use.mode not in ("direct", "segment", "plain"):
                    self.frozen.add(found)
        if not self._is_index_copy(found.array):
            self.frozen.add(found)

    def _settle(
        self, uses: Mapping[int, list[RegionUse]], moved: Mapping[int, None], spaces: list[Space]
    ) -> dict[int, list[RegionUse]]:
        """Final mode of every use."""
        spaced = {place for space in spaces for place in space.copies}
        indices = {found.array for space in spaces for found in space.fields}
        result: dict[int, list[RegionUse]] = {}
        for region, members in uses.items():
            result[region] = []
            for use in members:
                mode = use.mode
                if use.array in moved:
                    mode = "moved"
                elif mode == "plain":
                    mode = "spaced" if use.array in spaced else ("plain" if use.array in indices else "old")
                elif mode in ("direct", "segment", "offsets") and region not in self.movable:
                    mode = "plain" if use.array in indices else "old"
                result[region].append(RegionUse(use.array, mode, use.patterns, use.segments))
        return result


def _overlap(first: set[int], first_width: int, second: set[int], second_width: int) -> bool:
    """Whether bytes of two sets of fields overlap."""
    return any(a < b + second_width and b < a + first_width for a in first for b in second)
