"""Which arrays of a region the blocks of a GPU kernel can keep in shared memory.

A block copies the records that its jobs touch into shared memory and numbers them from 0 on. The same instructions
then reach them there, with another base pointer and these local numbers in the place of the indices (SPAC §4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tracecut.codegen.schedule.plan.range_function import Group, Outlined
from tracecut.codegen.schedule.plan.scope_plan import Field, RegionUse, ScopePlan, Space
from tracecut.ir.llvm.associative import BY_SIZE
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, Array, Pattern

ALIGNMENT = 16
IN_JOB_ORDER = ("direct", "segment")  # modes of copies in which the records of a block lie side by side
# Operators with an identity from which each block begins.
WHOLE = BY_SIZE | frozenset("add mul and or xor".split())
REAL = frozenset("fadd fmul fmin fmax minnum maxnum minimumnum maximumnum".split())
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}


@dataclass(frozen=True)
class CachedArray:
    """An array whose records blocks keep in shared memory.

    Attributes:
        array: its place in the scope plan. space: the index space of its records, a place in the scope plan.
        stride: bytes of a record. shift: record = datum + shift. lead: how far record 0 lies behind a multiple of 16.
        groups: base pointers that reach it.
        reads, writes: (byte of the record, type) of what jobs load and store there.
        updates: (byte of the record, type, operator) of what jobs reduce into.
        elsewhere: jobs also reduce into records in global memory, by other numbers: no block has one for itself.
    """

    array: int
    space: int
    stride: int
    shift: int
    lead: int
    groups: tuple[int, ...]
    reads: tuple[tuple[int, str], ...]
    writes: tuple[tuple[int, str], ...]
    updates: tuple[tuple[int, str, str], ...]
    elsewhere: bool = False

    def bytes_for(self, records: int) -> int:
        """Shared memory that so many records take."""
        return -(-(self.lead + self.stride * records) // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Cacheable:
    """What a region could keep in shared memory.

    Attributes:
        arrays: those that can be kept. spaces: the index spaces that get local numbers.
        others: sites of further arrays that are indexed by numbers of these spaces, and need the global ones. third:
            loads of these indices.
        refused: name of an array or index → why it cannot be kept.
    """

    arrays: tuple[CachedArray, ...]
    spaces: tuple[int, ...]
    others: frozenset[str]
    refused: Mapping[str, str]
    third: frozenset[str] = frozenset()


def cacheable_arrays(
    plan: ScopePlan,
    region: int,
    groups: Sequence[Group],
    outlined: Outlined,
    *,
    written_only: bool = False,
    without: Collection[int] = (),
) -> Cacheable:
    """What a region could keep in shared memory. O(accesses).

    Args:
        plan: of the scope. groups, outlined: of the region's range function.
        written_only: leave what is only read in global memory. without: arrays that stay there, too.
    """
    uses = {use.array: use for use in plan.uses[region]}
    reasons: dict[str, str] = {}
    arrays: list[CachedArray] = []
    others: set[str] = set()
    third: set[str] = set()
    as_data = {slot.group for slot in outlined.slots if slot.kind == "data-base"}
    for number, space in enumerate(plan.spaces):
        fields = _fields_of(plan, space, uses.values())
        if not fields:
            continue
        why = _unfit_index(plan, fields, uses)
        if why:
            reasons[space.name] = why
            continue
        kept: list[CachedArray] = []
        rest: set[str] = set()
        for use in uses.values():
            if not any(_indexed_by(plan, pattern, fields) for pattern in use.patterns):
                continue
            array = plan.arrays[use.array]
            why = _unfit_array(plan, use, uses.values(), fields, groups)
            if not why and use.array in without:
                why = "iterations of several blocks may write to one of its records"
            if not why and not (written_only and not _is_written(use)):
                kept.append(_cached(plan, use, fields, number, space, groups))
                continue
            if why:
                reasons[array.object.name or f"array {use.array}"] = why
            rest |= {p.access.site.key for p in use.patterns if _indexed_by(plan, p, fields)}
        loads = _loads_of(plan, fields)
        if rest and any(group.id in as_data and loads & set(group.sites) for group in groups):
            reasons[space.name] = "an index is used as data beside the addresses, so it cannot have a third number"
            continue
        if kept:
            arrays += kept
            others |= rest
            third |= loads if rest else set()
    spaces = tuple(dict.fromkeys(item.space for item in arrays))
    return Cacheable(tuple(arrays), spaces, frozenset(others), reasons, frozenset(third))


def with_groups(found: Cacheable, plan: ScopePlan, region: int, groups: Sequence[Group]) -> Cacheable:
    """The same with the groups of another range function of the region. O(accesses)."""
    uses = {use.array: use for use in plan.uses[region]}
    arrays = []
    for item in found.arrays:
        fields = _fields_of(plan, plan.spaces[item.space], uses.values())
        sites = {p.access.site.key for p in uses[item.array].patterns if _indexed_by(plan, p, fields)}
        arrays.append(replace(item, groups=tuple(group.id for group in groups if sites & set(group.sites))))
    return replace(found, arrays=tuple(arrays))


def _load_name(pattern: Pattern) -> str:
    assert pattern.major is not None
    return str(pattern.major.data[0])


def _indexed_by(plan: ScopePlan, pattern: Pattern, fields: set[Field]) -> bool:
    return pattern.kind == INDIRECT and plan.fields.get(_load_name(pattern)) in fields


def _fields_of(plan: ScopePlan, space: Space, uses: Iterable[RegionUse]) -> set[Field]:
    """Index fields by which the region reaches moved records of a space."""
    found = set()
    for use in uses:
        for pattern in use.patterns if use.mode in ("moved", "spaced") else ():
            field = plan.fields.get(_load_name(pattern)) if pattern.kind == INDIRECT else None
            if field is not None and field in space.fields:
                found.add(field)
    return found


def _loads_of(plan: ScopePlan, fields: set[Field]) -> set[str]:
    return {name for name, field in plan.fields.items() if field in fields}


def _unfit_index(plan: ScopePlan, fields: set[Field], uses: Mapping[int, RegionUse]) -> str:
    for field in fields:
        use = uses.get(field.array)
        if use is None or use.mode not in IN_JOB_ORDER:
            name = plan.arrays[field.array].object.name or "an index"
            return f"{name} is not read in the order of the jobs"
    return ""


def _unfit_array(
    plan: ScopePlan, use: RegionUse, uses: Iterable[RegionUse], fields: set[Field], groups: Sequence[Group]
) -> str:
    if use.mode not in ("moved", "spaced"):
        return "it stays where it is"
    if any(field.array == use.array for space in plan.spaces for field in space.fields):
        return "it holds indices itself"
    indexed = [pattern for pattern in use.patterns if _indexed_by(plan, pattern, fields)]
    others = [pattern for pattern in use.patterns if pattern not in indexed]
    if not all(_by_number(plan.arrays[use.array], pattern) for pattern in others):
        return "it is reached by something else than these indices and the number of the iteration, too"
    if others and any(_assigns(pattern) for pattern in use.patterns):
        return "it is written, and reached by the number of the iteration, too"
    if _mixed(plan.arrays[use.array], use):
        return "some of its records are summed up, and others are used in another way"
    sites = {pattern.access.site.key for pattern in indexed}
    if any(pattern.step != plan.arrays[use.array].stride for pattern in indexed):
        return "an index walks it backwards"
    for pattern in indexed:
        site = pattern.access.site
        if site.operator and not _combines(site.operator, site.type):
            return f"blocks cannot combine the {site.operator} at {site.place.told}"
        if site.type not in SIZES or site.length is not None or not pattern.offsets:
            return f"it is accessed as {site.type} at {site.place.told}"
    if any(sites & {pattern.access.site.key for pattern in other.patterns} for other in uses if other is not use):
        return "its pointer changes from sweep to sweep"
    for group in groups:
        mine = sites & set(group.sites)
        if mine and (not group.root or set(group.sites) - sites):
            return "a pointer to it leads to other arrays, too"
    if use.array not in {p for space in plan.spaces for p in (*space.arrays, *space.copies)}:
        return "it stays where it is"
    return ""


def _mixed(array: Array, use: RegionUse) -> bool:
    """Whether bytes that one access reduces into are touched by another that does something else.

    Blocks begin to reduce from the operator's identity, which is no value to be read, or to be combined in another way.
    """
    ways: dict[tuple[int, int], set[tuple[str, str]]] = {}
    for pattern in use.patterns:
        site = pattern.access.site
        for offset in _places(array, pattern):
            ways.setdefault((offset, offset + site.size), set()).add(
                (site.operator, site.type if site.operator else "")
            )
    reduced = {span: found for span, found in ways.items() if any(operator for operator, _ in found)}
    meet = (
        (mine, found)
        for span, mine in reduced.items()
        for other, found in ways.items()
        if span[0] < other[1] and other[0] < span[1]
    )
    return any(len(mine | found) > 1 for mine, found in meet)


def _combines(operator: str, type: str) -> bool:
    """Whether what blocks reduced apart can be combined. Narrow integers may be compared in a wider type."""
    if type in ("float", "double"):
        return operator in REAL
    return operator in WHOLE and not (type in ("i8", "i16") and operator in BY_SIZE)


def _by_number(array: Array, pattern: Pattern) -> bool:
    """Whether it reaches one record for each iteration, by its number."""
    whole = pattern in array.numbers and pattern not in array.fine
    return pattern.kind == DIRECT and whole and abs(pattern.step) == array.stride and bool(pattern.offsets)


def _assigns(pattern: Pattern) -> bool:
    """Whether it stores a value, and does not reduce into what is there."""
    return pattern.access.site.writes and not pattern.access.site.operator


def _is_written(use: RegionUse) -> bool:
    return any(pattern.access.site.writes for pattern in use.patterns)


def _cached(
    plan: ScopePlan, use: RegionUse, fields: set[Field], number: int, space: Space, groups: Sequence[Group]
) -> CachedArray:
    array = plan.arrays[use.array]
    indexed = [pattern for pattern in use.patterns if _indexed_by(plan, pattern, fields)]
    sites = {pattern.access.site.key for pattern in indexed}
    reads: dict[tuple[int, str], None] = {}
    writes: dict[tuple[int, str], None] = {}
    updates: dict[tuple[int, str, str], None] = {}
    for pattern in indexed:
        site = pattern.access.site
        for offset in _places(array, pattern):
            if site.operator:
                updates[offset, site.type, site.operator] = None
            elif site.writes:
                writes[offset, site.type] = None
            else:
                reads[offset, site.type] = None
    shift = space.arrays[use.array] if use.array in space.arrays else space.copies[use.array]
    return CachedArray(
        use.array,
        number,
        array.stride,
        shift,
        array.origin % ALIGNMENT,
        tuple(group.id for group in groups if sites & set(group.sites)),
        tuple(sorted(reads)),
        tuple(sorted(writes)),
        tuple(sorted(updates)),
        any(pattern.access.site.operator for pattern in use.patterns if pattern not in indexed),
    )


def _places(array: Array, pattern: Pattern) -> list[int]:
    """Bytes of the record that a pattern reaches."""
    start = pattern.first - array.origin - array.stride * array.record(pattern)
    return [start + offset for offset in pattern.offsets]
