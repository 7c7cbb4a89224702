"""The static rule for renumbering: which arrays of a layout scope may be moved, and which must move together.

Every array that a rescheduled region reaches through loaded indices is a candidate. It stays where it is as soon
as one access to it, anywhere in the scope, is not understood; the region then reads it by the old numbers. What is
moved together is one *space*: arrays, index fields, and counters whose numbers are the same up to constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from tracecut.ir.loops.nest import Fill
from tracecut.tracer.legality.access_patterns import (
    DIRECT,
    INDIRECT,
    LOOKUP,
    OTHER,
    RANGE,
    SCALAR,
    SEGMENT,
    Array,
    Pattern,
)
from tracecut.tracer.legality.accesses import Accesses

from .access_modes import find_uses
from .blocks import block_ends, other_end
from .final_uses import FOLLOWING, final_uses
from .frozen_fields import freeze_narrow, freeze_what_is_read_otherwise, relate_copies
from .lookups import Lookups, may_look_up, odd_ones, stays_inside
from .offset_union_find import Shifts
from .order_free_loops import Companion, examine
from .row_bounds import BOUNDS, find_bounds, record_of, rows_of, tear_unlike
from .row_copies import read_by_pointers
from .scope_facts import Facts, find_facts
from .scope_plan import RegionUse, ScopePlan, Space
from .whole_pieces import is_followed, pieces_of


def plan_scope(
    accesses: Accesses,
    regions: list[int],
    movable: frozenset[int],
    *,
    renumber: bool = True,
    exact: bool = False,
    look_up: bool = True,
) -> ScopePlan:
    """Determine which arrays may be moved in a scope.

    Args:
        accesses: the scope's accesses. regions: loops to reschedule, none inside of another.
        movable: those whose iterations may be reordered. renumber: move data too, not only jobs.
        look_up: code beside the regions may look up where records are.
        exact: what a loop adds up in the order of memory, in floating-point numbers, stays where it is.

    Raises UnsupportedError when the scope holds something that could reach any memory.
    """
    lookups = Lookups()
    while True:
        planner = _Planner(find_facts(accesses, regions, movable, lookups), renumber, exact, look_up)
        plan = planner.plan()
        if planner.lookups == lookups:
            return plan
        lookups = planner.lookups


class _Planner:
    def __init__(self, facts: Facts, renumber: bool, exact: bool, look_up: bool) -> None:
        self.facts, self.look_up = facts, look_up
        self.accesses = facts.accesses
        self.nest = facts.nest
        self.arrays = facts.arrays
        self.home = facts.home
        self.renumber = renumber
        self.exact = exact
        self.lookups = facts.lookups  # grows: the plan is made anew with more of them
        self.blocking: dict[int, None] = {}
        self.kept: dict[int, str] = {
            place: "every iteration has it for itself"
            for place, array in enumerate(self.arrays)
            if array.object in facts.own
        } | {
            place: "rows behind pointers are read from a copy"
            for place, array in enumerate(self.arrays)
            if array.object in self.accesses.memory.rows and array.object not in self.facts.records
        }
        pinned = read_by_pointers(facts)
        self.kept |= {place: pinned[array.object] for place, array in enumerate(self.arrays) if array.object in pinned}

    def plan(self) -> ScopePlan:
        while True:
            before = self._known()
            spaces, uses, companions = self._attempt()
            if self._known() == before or self.lookups != self.facts.lookups:
                break
        return ScopePlan(
            self.accesses,
            self.arrays,
            spaces,
            uses,
            self.facts.movable,
            dict(self.kept),
            tuple(companions),
            tuple(self.blocking | dict.fromkeys(sorted(self.lookups.loops))),
            dict(self.facts.fields),
        )

    def _known(self) -> tuple[int, ...]:
        """How much is known of what cannot be: it grows until there is a plan."""
        return len(self.kept), len(self.facts.frozen), len(self.facts.torn)

    def _keep(self, array: int, why: str) -> None:
        self.kept.setdefault(array, why)

    def _look_up(self, patterns: Sequence[Pattern], why: str) -> bool:
        """Let these accesses look their records up in the plan that is made next; whether they may."""
        may = (may_look_up(self.accesses, pattern, self.facts.inside) for pattern in patterns)
        if not self.look_up or not patterns or not all(may):
            return False
        self.lookups = self.lookups.with_these(patterns, why)
        return True

    def _keep_odd(self, place: int) -> None:
        """Keep an array without records of one kind, if what leaves it without cannot look them up."""
        why = self._why(self.arrays[place]) or "it has no record structure"
        if not self._look_up(odd_ones(self.arrays[place], self.facts.inside), why):
            self._keep(place, why)

    def _why(self, array: Array) -> str:
        """Why an array is not understood: an access in a loop that was too long to look at, before all others."""
        too_long = self.accesses.evaluation.too_long
        loops = [pattern.access.site.loop for pattern in array.patterns if pattern.kind == OTHER]
        return next((too_long[loop] for loop in loops if loop in too_long), array.why)

    def _attempt(self) -> tuple[list[Space], dict[int, list[RegionUse]], list[Companion]]:
        self.facts.bounds.clear()
        self.facts.bounds.update(find_bounds(self.facts, self.kept) if self.renumber else {})
        uses = {region: find_uses(self.facts, region) for region in self.facts.regions}
        links = Shifts()
        moved: dict[int, None] = {}
        for place, array in enumerate(self.arrays):
            picked = any(pattern.kind == INDIRECT for pattern in array.patterns)
            if array.why and picked and place not in self.kept:
                self._keep_odd(place)
            if place in self.kept or not array.stride or self.facts.is_index_copy(place):
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
                if more not in moved and not self.facts.is_index_copy(more):
                    moved[more] = None
                    queue.append(more)
        if self.lookups != self.facts.lookups:
            return [], {}, []  # there is no plan yet
        for place in self.kept:
            moved.pop(place, None)
        self._keep_torn(moved)
        self._keep_halves(moved)
        relate_copies(self.facts, uses, links)
        for companion in companions.values():
            self._check_companion(companion, moved)
        spaces = self._spaces(moved, links, uses, cuts)
        return spaces, final_uses(self.facts, uses, moved, spaces), list(companions.values())

    def _is_candidate(self, array: Array) -> bool:
        """Reached through an index by a region, or written by the iterations of one that may be reordered."""
        for pattern in array.patterns:
            region = self.facts.region_of(pattern)
            if region is None:
                continue
            if self.renumber and pattern.kind == INDIRECT:
                return True
            if array.written and self._in_rows(pattern):
                return True
            own = pattern.kind == DIRECT and self.facts.is_own(pattern, region)
            if own and array.written and region in self.facts.movable:
                return not any(other.kind == INDIRECT for other in array.patterns) or self.renumber
        return False

    def _in_rows(self, pattern: Pattern) -> bool:
        """Whether a region reaches data in rows that move as a whole."""
        return pattern.kind == SEGMENT and self.facts.field_of(pattern) in self.facts.bounds

    def _keep_torn(self, moved: dict[int, None]) -> None:
        """An instruction that reaches several arrays (buffers that swap) uses one numbering for all of them."""
        for key, patterns in self.facts.by_site.items():
            homes = self.facts.homes(key)
            if len(homes) < 2 or not any(pattern.kind in (DIRECT, INDIRECT, SEGMENT) for pattern in patterns):
                continue
            told = patterns[0].access.site.place.told
            why = f"the access at {told} reaches it and an array that is not moved"
            if homes & moved.keys() and not homes <= moved.keys() and not self._look_up(patterns, why):
                for place in sorted(homes):
                    self._keep(place, why)

    def _keep_halves(self, moved: dict[int, None]) -> None:
        """Both ends of a block that is copied move, or none of them."""
        for pattern in self.home:
            site = pattern.access.site
            if pattern.kind != RANGE or isinstance(site.effect, Fill):
                continue
            homes = {self.home[end] for end in block_ends(self.facts.by_site, pattern)}
            homes = homes or self.facts.homes(site.key) | self.facts.homes(other_end(site.key))
            if homes & moved.keys() and not homes <= moved.keys():
                for place in sorted(homes):
                    self._keep(
                        place, f"the block at {site.place.told} is copied between it and an array that is not moved"
                    )

    def _relate(
        self, place: int, links: Shifts, companions: dict[int, Companion], cuts: dict[int, set[int]]
    ) -> list[int]:
        """Tie a moved array to the indices and counters that reach it. Returns arrays that have to move with it."""
        array = self.arrays[place]
        if array.why or not array.stride:
            self._keep_odd(place)
            return []
        more: list[int] = []
        for pattern in sorted(array.patterns, key=lambda pattern: self.facts.region_of(pattern) is None):
            region, told = self.facts.region_of(pattern), pattern.access.site.place.told
            if pattern.kind == SCALAR:
                record = (pattern.first - array.origin) // array.stride
                if (pattern.first - array.origin) % array.stride + pattern.extent > array.stride:
                    self._keep(place, f"the access at {told} spans records")
                cuts.setdefault(place, set()).update((record, record + 1))
            elif pattern.kind == RANGE:
                more += self._relate_range(place, array, pattern, links, cuts)
            elif region is not None and (pattern.kind == INDIRECT or self._in_rows(pattern)):
                found = self.facts.field_of(pattern)
                if found is None or pattern.step < 0:
                    self._keep(place, f"the index at {told} cannot be renumbered")
                elif not links.relate(("array", place), ("field", found), record_of(self.facts, array, pattern)):
                    self._keep(place, f"the index at {told} reaches it at two distances")
            elif pattern.kind == DIRECT and region is not None and self.facts.is_own(pattern, region):
                if region not in self.facts.movable:
                    self._keep(place, f"the loop at {self.nest.loops[region].place} has to keep its order")
                elif pattern.step < 0 or not links.relate(("array", place), ("jobs", region), array.record(pattern)):
                    self._keep(place, f"the loop at {self.nest.loops[region].place} reaches it at two distances")
            elif pattern.kind == DIRECT and region is None:
                more += self._relate_companion(place, array, pattern, links, companions, cuts)
            elif pattern.kind == LOOKUP:
                if not stays_inside(array, pattern):
                    self._keep(place, f"the access at {told} may cross the border of a record")
            else:
                why = f"the access at {told} accesses it with another stride"
                if pattern.kind == INDIRECT:
                    why = f"the index at {told} is not one of a loop that could be rescheduled"
                if not self._look_up([pattern], why):
                    self._keep(place, why)
            if place in self.kept:
                return []
        return more

    def _relate_range(
        self, place: int, array: Array, pattern: Pattern, links: Shifts, cuts: dict[int, set[int]]
    ) -> list[int]:
        """A block that is filled, or copied to or from another array: it has to cover whole records.

        Both ends of a copy move alike, record by record. Returns the array at the other end.
        """
        first, rest = divmod(pattern.first - array.origin, array.stride)
        last, tail = divmod(pattern.first + pattern.extent - array.origin, array.stride)
        cuts.setdefault(place, set()).update((first, last))
        site = pattern.access.site
        if rest or tail:
            self._keep(place, f"the block at {site.place.told} is cut inside of a record")
        elif not isinstance(site.effect, Fill):
            ends = block_ends(self.facts.by_site, pattern)
            alike = {(self.arrays[self.home[end]].stride, end.extent) for end in ends}
            if len(alike) == 1 and links.relate(("array", place), ("block", ends[0]), first):
                return [self.home[end] for end in ends if self.home[end] != place]
            self._keep(place, f"the block at {site.place.told} is copied from or to records that do not move along")
        return []

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
        steps, first = array.fine.get(pattern, (1, 0))  # iterations to a record
        companion = companions.get(loop)
        if companion is None:
            companion = companions[loop] = replace(examine(self.accesses, loop, self.facts.unrolled), steps=steps)
        sign = 1 if pattern.step > 0 else -1
        low, high = (companion.low, companion.high) if sign > 0 else (1 - companion.high, 1 - companion.low)
        why = companion.why
        if not why and self.exact and companion.rounds:
            why = "sums it in memory order, which --exact keeps"
        if not why and companion.steps != steps:
            why = "walks records of it in pieces, and others in other pieces"
        elif not why and (first % steps or (low + first) % steps or (high + first) % steps):
            why = "walks a part of a record"
        record = first // steps if steps > 1 else array.record(pattern)
        if not why and not links.relate(("array", place), ("walk", loop, sign), record):
            why = "reaches it at two distances"
        if why:
            self.blocking[loop] = None
            why = f"the loop at {self.nest.loops[loop].place} {why}"
            if not self._look_up([pattern], why):
                self._keep(place, why)
            return []
        cuts.setdefault(place, set()).update((low // steps + record, high // steps + record))
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
            why = f"the loop at {place} accesses it together with an array that is not moved"
            self.blocking[companion.loop] = None
            if self._look_up([pattern for pattern in walked if self.home[pattern] in moved], why):
                return
            for pattern in walked:
                self._keep(self.home[pattern], why)

    def _spaces(
        self,
        moved: Mapping[int, None],
        links: Shifts,
        uses: Mapping[int, list[RegionUse]],
        cuts: Mapping[int, set[int]],
    ) -> list[Space]:
        nodes: list[Hashable] = [("array", place) for place in moved]
        nodes += [("field", item) for item in dict.fromkeys(self.facts.fields.values())]
        nodes += [("jobs", region) for region in self.facts.regions if region in self.facts.movable]
        copied = [use.array for found in uses.values() for use in found if use.mode in (*FOLLOWING, BOUNDS)]
        nodes += [("copy", place) for place in dict.fromkeys(copied) if is_followed(self.facts, place)]
        spaces: list[Space] = []
        for members in links.classes(nodes).values():
            arrays = {key[1]: shift for key, shift in members if key[0] == "array"}  # type: ignore[index]
            copies = {key[1]: shift for key, shift in members if key[0] == "copy"}  # type: ignore[index]
            fields = {key[1]: shift for key, shift in members if key[0] == "field"}  # type: ignore[index]
            cut = [self.facts.bounds[found] for found in fields if found in self.facts.bounds]
            pieces = pieces_of(self.facts, uses, fields, moved) if not cut else None
            if pieces is not None and (arrays or any(key[0] == "jobs" for key, _ in members)):  # type: ignore[index]
                self.facts.frozen.update(fields)  # which have an order of their own
            table = any(self.facts.is_table(place) for place in copies)
            bounds = {place: item for item in self.facts.bounds.values() if (place := item.array) in copies}
            if not arrays and not bounds and not (fields and copies and (pieces is not None or table or cut)):
                continue
            jobs = {key[1]: shift for key, shift in members if key[0] == "jobs"}  # type: ignore[index]
            fixed = {at - shift for place, shift in arrays.items() for at in cuts.get(place, ())}
            for region, shift in jobs.items():
                domain = self.accesses.evaluation.domain(region)
                assert domain is not None
                fixed |= {-shift, domain.size - shift}
            rows = rows_of(self.facts, cut, fields, {**arrays, **copies}, fixed) if cut else None
            edges = fixed | {*(rows or ())}
            for place, shift in {**arrays, **copies}.items() if rows is None else ():
                low, high = bounds[place].records if place in bounds else self.arrays[place].touched
                edges |= {low - shift, high - shift}
            for found in fields:
                freeze_what_is_read_otherwise(self.facts, found, uses, moved, copies)
            name = next((self.arrays[place].object.name for place in arrays if self.arrays[place].object.name), "")
            name = name or f"data {len(spaces)}"
            known = (arrays, fields, copies, jobs, tuple(sorted(edges)), name, pieces, cut[0] if cut else None)
            space = Space(min(edges), max(edges), *known)
            freeze_narrow(self.facts, space)
            spaces.append(space)
        tear_unlike(self.facts, spaces)
        return spaces
