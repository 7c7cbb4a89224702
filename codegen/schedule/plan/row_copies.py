"""Rows behind pointers, and their numbers: regions read them from copies, for the program holds no such arrays."""

from __future__ import annotations

from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SEGMENT

from .scope_facts import Facts
from .scope_plan import RegionUse


def follows_jobs(facts: Facts, region: int, use: RegionUse) -> bool:
    """Whether the numbers of rows are picked both by an index and by the iterations of a region that may be reordered.

    A copy in the order of the index's space holds them all if the iterations take that order too.
    """
    if not is_numbers(facts, use) or facts.arrays[use.array].written or region not in facts.movable:
        return False
    own = [pattern for pattern in use.patterns if pattern.kind == DIRECT and facts.is_own(pattern, region)]
    picked = [pattern for pattern in use.patterns if pattern.kind == INDIRECT and facts.field_of(pattern) is not None]
    forwards = all(pattern.step > 0 for pattern in use.patterns)
    return forwards and bool(own) and bool(picked) and len(own) + len(picked) == len(use.patterns)


def is_numbers(facts: Facts, use: RegionUse) -> bool:
    """Whether an array is a copy of a table, with numbers in the places of its pointers."""
    return facts.arrays[use.array].object in facts.accesses.memory.rows.numbers.values()


def as_they_are(facts: Facts, region: int, use: RegionUse) -> str:
    """Mode of rows, or of numbers, that are in no other order. Raises UnsupportedError where a copy does not do."""
    array = facts.arrays[use.array]
    kinds = {pattern.kind for pattern in use.patterns}
    known = kinds <= {DIRECT, INDIRECT, SEGMENT}
    if not array.stride or not known or array.written:
        place = facts.nest.loops[region].place.told
        raise UnsupportedError(f"rows behind pointers are reached in several ways in the loop at {place}")
    return "plain"
