"""What the plan of a layout scope is made from: its arrays, who reaches them, and its index fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise

from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.refusals import scope_refusal
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.access_patterns import (
    DIRECT,
    INDIRECT,
    LOOKUP,
    SCALAR,
    SEGMENT,
    Array,
    Pattern,
    find_arrays,
    find_pattern,
)
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.base_objects import LOADED_ANEW, unknown_base
from tracecut.tracer.legality.evaluation.memory import Object

from .blocks import find_records_of_blocks, split_blocks
from .lookups import Lookups
from .private_data import is_local
from .scope_plan import Bounds, Field
from .unrolled_walks import find_unrolled


class BehindPointersError(UnsupportedError):
    """Rows are reached through pointers that are loaded anew in each iteration."""


@dataclass(frozen=True, eq=False)
class Facts:
    """A scope as the planner sees it.

    Attributes:
        inside: loop → the region that it belongs to.
        home: pattern → its array. by_site: site → its patterns: one, or several where the pointer varies.
        fields: index load → its field.
        own: local arrays that are born and die in an iteration, whatever else reaches them.
        unrolled: loops beside the regions whose iterations count as their parts. lookups: what looks its records up.
        frozen: fields that cannot be renumbered. Grows while the plan is made.
        bounds: of the plan that is made, field → array of bounds. torn: fields that can be none. Grows, too.
    """

    accesses: Accesses
    regions: Sequence[int]
    movable: frozenset[int]
    inside: Mapping[int, int]
    arrays: list[Array]
    home: Mapping[Pattern, int]
    by_site: Mapping[str, list[Pattern]]
    fields: Mapping[str, Field]
    own: frozenset[Object]
    unrolled: frozenset[int] = frozenset()
    lookups: Lookups = field(default_factory=Lookups)
    frozen: set[Field] = field(default_factory=set)
    bounds: dict[Field, Bounds] = field(default_factory=dict)
    torn: set[Field] = field(default_factory=set)

    @property
    def nest(self) -> Nest:
        return self.accesses.nest

    def region_of(self, pattern: Pattern) -> int | None:
        return self.inside.get(pattern.access.site.loop)

    def is_own(self, pattern: Pattern, region: int) -> bool:
        """Whether the region's own counter picks the record."""
        return pattern.major is not None and pattern.major.kind == "counter" and pattern.major.data[0] == region

    def field_of(self, pattern: Pattern) -> Field | None:
        """The index field that picks the record, None when there is none that could be renumbered."""
        found = self.fields.get(str(pattern.major.data[0])) if pattern.major is not None else None
        return None if found in self.frozen else found

    def homes(self, key: str) -> set[int]:
        """Arrays that one instruction reaches."""
        return {self.home[pattern] for pattern in self.by_site.get(key, [])}

    @property
    def records(self) -> Set[Object]:
        """Objects of rows that are records: these are where the regions reach them, and may move."""
        return self.accesses.memory.rows.records

    def is_table(self, place: int) -> bool:
        """Whether an array has the numbers of rows that are records: all that is of its order may be reached so."""
        array = self.arrays[place]
        loads = {pattern.access.site.key for pattern in array.patterns}
        rows = (pattern for other in self.arrays if other.object in self.records for pattern in other.patterns)
        copied = array.object in self.accesses.memory.rows.numbers.values()
        return copied and any(row.major is not None and str(row.major.data[0]) in loads for row in rows)

    def is_index_copy(self, place: int) -> bool:
        """Whether an array holds index fields and is only read: regions use copies of it."""
        holds = any(found.array == place for found in self.fields.values())
        return holds and not self.arrays[place].written and not self.leads_to_itself(place)

    def leads_to_itself(self, place: int) -> bool:
        """Whether the records of an array are walked, and hold the numbers of others of them."""
        patterns = self.arrays[place].patterns
        picked = {str(pattern.major.data[0]) for pattern in patterns if pattern.kind == INDIRECT and pattern.major}
        fields = {self.fields[name].array for name in picked if name in self.fields}
        return place in fields and any(pattern.kind == DIRECT for pattern in patterns)


def find_facts(
    accesses: Accesses, regions: Sequence[int], movable: frozenset[int], lookups: Lookups | None = None
) -> Facts:
    """Collect the facts of a scope. Raises UnsupportedError when it holds something that could reach any memory."""
    lookups = Lookups() if lookups is None else lookups
    nest = accesses.nest
    running = [access for access in accesses.all() if access.runs]
    shared = [access for access in running if not is_local(nest, regions, access.site)]
    own = {access.object for access in running if access.object is not None and is_local(nest, regions, access.site)}
    _check_scope(nest, shared)
    inside = {loop: region for region in regions for loop in nest.inside(region)}
    unrolled = find_unrolled(accesses, regions, shared)
    patterns = [find_pattern(accesses, access, regions, unrolled) for access in shared]
    for pattern in patterns:
        if pattern.access.site.length is not None:
            accesses.evaluation.rely_on(pattern.access.site.length)
    patterns = [lookups.of(accesses, pattern, inside) for pattern in patterns]

    def fine(pattern: Pattern) -> bool:
        return pattern.access.site.loop not in inside

    arrays = find_arrays(split_blocks(patterns, fine), fine)
    home = {pattern: place for place, array in enumerate(arrays) for pattern in array.patterns}
    by_site: dict[str, list[Pattern]] = {}
    for pattern in home:
        by_site.setdefault(pattern.access.site.key, []).append(pattern)
    find_records_of_blocks(arrays, home, by_site)
    fields, frozen = _find_fields(accesses, regions, arrays, home, by_site)
    known = (arrays, home, by_site, fields, frozenset(own), unrolled, lookups)
    return Facts(accesses, regions, movable, inside, *known, frozen)


def inner_trip_loads(nest: Nest, region: int, bounds: Collection[str] = ()) -> list[Expr]:
    """Numbers that the inner loops of a region load to know how often to run, and what these are picked by.

    `bounds`: loads of which it does not matter what picks them.
    """
    found: dict[Expr, None] = {}
    for loop in sorted(nest.inside(region) - {region}):
        trip = nest.loops[loop].trip
        for number in trip.numbers() if trip is not None else ():
            found[number] = None
            for node in number.walk() if str(number.data[0]) not in bounds else ():
                if node.kind == "load" and node.data[1] != "ptr":
                    found[node] = None
    return list(found)


def _check_scope(nest: Nest, shared: list[Access]) -> None:
    refused = scope_refusal(nest)
    if refused is not None:
        raise UnsupportedError(f"the loop {refused.says} ({refused.places[0]})")
    for access in shared:
        if access.object is None:
            verb = "written" if access.site.writes else "read"
            why = unknown_base(nest, access.site.address)
            kind = BehindPointersError if why == LOADED_ANEW else UnsupportedError
            raise kind(f"it is not known which memory is {verb} at {access.site.place}{why}")


def _find_fields(
    accesses: Accesses,
    regions: Sequence[int],
    arrays: list[Array],
    home: Mapping[Pattern, int],
    by_site: Mapping[str, list[Pattern]],
) -> tuple[dict[str, Field], set[Field]]:
    """Index fields: what the loaded values in addresses and trip counts are read from; and which cannot change."""
    majors = [pattern.major for pattern in home if pattern.major is not None]
    atoms = {str(node.data[0]) for node in majors if node.kind == "load" and node.data[1] != "ptr"}
    for region in regions:
        atoms |= {str(node.data[0]) for node in inner_trip_loads(accesses.nest, region)}
    spans: dict[int, list[tuple[set[int], int, str]]] = {}
    for name in sorted(atoms):
        patterns = by_site.get(name, [])
        if len(patterns) != 1 or not arrays[home[patterns[0]]].stride or not patterns[0].offsets:
            continue
        array = arrays[home[patterns[0]]]
        if patterns[0].kind not in (DIRECT, INDIRECT, SEGMENT):
            continue
        low = (patterns[0].first - array.origin) % array.stride
        offsets = {low + offset for offset in patterns[0].offsets}
        spans.setdefault(home[patterns[0]], []).append((offsets, patterns[0].access.site.size, name))
    fields: dict[str, Field] = {}
    frozen: set[Field] = set()
    for place, found in spans.items():
        for offsets, widths, names in _joined(found):
            made = Field(place, tuple(sorted(offsets)), max(widths))
            if len(widths) > 1 or any(b - a < made.width for a, b in pairwise(made.offsets)):
                frozen.add(made)
            for pattern in arrays[place].patterns:
                if _reads_in_part(made, arrays[place], pattern, names):
                    frozen.add(made)
            for name in names:
                fields[name] = made
    return fields, frozen


def _reads_in_part(found: Field, array: Array, pattern: Pattern, names: list[str]) -> bool:
    """Whether an access that is none of the field's index loads reads its bytes, and not as whole numbers.

    Loads of whole numbers get the old ones from the range function (`outline_loop.py`); nothing else does.
    """
    site = pattern.access.site
    if site.key in names or pattern.kind == LOOKUP:  # which reads the program's own indices
        return False
    first = (pattern.first - array.origin) % array.stride
    offsets = {first + offset for offset in pattern.offsets} if pattern.kind != SCALAR else {first}
    whole = site.type == f"i{8 * found.width}" and offsets <= set(found.offsets)
    if pattern.kind not in (DIRECT, INDIRECT, SEGMENT, SCALAR) or not offsets:
        return True
    return not whole and _overlap(offsets, pattern.access.width, set(found.offsets), found.width)


def _joined(found: list[tuple[set[int], int, str]]) -> list[tuple[set[int], set[int], list[str]]]:
    """(offsets, widths, loads) of fields whose bytes do not overlap."""
    groups: list[tuple[set[int], set[int], list[str]]] = []
    for first, width, name in found:
        apart = []
        offsets, widths, names = set(first), {width}, [name]
        for other in groups:
            if _overlap(offsets, max(widths), other[0], max(other[1])):
                offsets, widths, names = offsets | other[0], widths | other[1], [*other[2], *names]
            else:
                apart.append(other)
        groups = [*apart, (offsets, widths, names)]
    return groups


def _overlap(first: set[int], first_width: int, second: set[int], second_width: int) -> bool:
    """Whether bytes of two sets of fields overlap."""
    return any(a < b + second_width and b < a + first_width for a in first for b in second)
