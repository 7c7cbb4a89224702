"""Rows behind pointers, and their numbers: regions read copies of them, for the program holds no such arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SEGMENT, Array, Pattern
from tracecut.tracer.legality.evaluation.memory import Object

from .scope_facts import Facts
from .scope_plan import Field, RegionUse


def is_tied(facts: Facts, region: int, array: Array, patterns: Sequence[Pattern]) -> bool:
    """Whether the numbers of rows are picked both by an index and by the iterations of a region that may be reordered.

    A copy in the order of the index's space holds them all if the iterations take that order too.
    """
    if array.object not in facts.accesses.memory.rows.numbers.values() or region not in facts.movable:
        return False
    own = [pattern for pattern in patterns if pattern.kind == DIRECT and facts.is_own(pattern, region)]
    picked = [pattern for pattern in patterns if pattern.kind == INDIRECT and facts.field_of(pattern) is not None]
    forwards = all(pattern.step > 0 for pattern in patterns)
    return forwards and bool(own) and bool(picked) and len(own) + len(picked) == len(patterns)


def read_by_pointers(facts: Facts) -> dict[Object, str]:
    """Tables of which a loop that runs as it is reads the pointers themselves, and why these stay.

    Such a loop counts for one that reads the numbers, from a copy of the table; it finds the table as it lies.
    """
    tables = {copy: table for table, copy in facts.accesses.memory.rows.numbers.items()}
    found: dict[Object, str] = {}
    for access in facts.accesses.all():
        if access.runs and access.object in tables and access.site.loop not in facts.inside:
            why = f"a loop that runs as it is reads its pointers at {access.site.place.told}"
            found.setdefault(tables[access.object], why)
    return found


def as_they_are(facts: Facts, region: int, use: RegionUse, renumbered: Collection[Field]) -> str:
    """Mode of rows, or of numbers, that are in no other order: copied as they are, or read where they lie.

    They lie where `flatten_memory` has put them, and a region's code begins there (`region_codes.py`): what picks the
    record need not be known. By an index that is `renumbered` for other arrays they are read where they lie, by its old
    numbers: a copy would be read by the new ones. Raises UnsupportedError for rows that are written and are no records.
    """
    array = facts.arrays[use.array]
    if array.written:
        place = facts.nest.loops[region].place.told
        raise UnsupportedError(f"rows behind pointers are written in several ways in the loop at {place}")
    known = all(pattern.kind in (DIRECT, INDIRECT, SEGMENT) for pattern in use.patterns)
    follows = any(pattern.kind == INDIRECT and facts.field_of(pattern) in renumbered for pattern in use.patterns)
    return "plain" if array.stride and known and not follows else "old"
