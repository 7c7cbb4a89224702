"""Index fields that keep their numbers, after all: these would not fit, or are read in another way."""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.tracer.legality.access_patterns import INDIRECT

from .access_modes import holds_anywhere
from .final_uses import FOLLOWING
from .own_indices import renumbers_in_place
from .scope_facts import Facts
from .scope_plan import Field, RegionUse, Space


def freeze_narrow(facts: Facts, space: Space) -> None:
    """Any number of the space has to fit where an index is stored, and what is computed on the way to addresses."""
    for found, shift in space.fields.items():
        limit = 1 << (8 * found.width - 1)
        if space.low + shift < -limit or space.high + shift > limit:
            facts.frozen.add(found)
    for place in (*space.arrays, *space.copies):
        array = facts.arrays[place]
        for pattern in array.patterns:
            name = facts.field_of(pattern) if pattern.kind == INDIRECT else None
            if name is not None and name in space.fields and not holds_anywhere(facts.accesses, array, pattern):
                facts.frozen.add(name)


def freeze_what_is_read_otherwise(
    facts: Facts, found: Field, uses: Mapping[int, list[RegionUse]], moved: Mapping[int, None]
) -> None:
    """A renumbered index is read from copies alone, by every region that reads it; or it moves with its record."""
    if renumbers_in_place(facts, found, moved):
        return
    for members in uses.values():
        for use in members:
            if use.array == found.array and use.mode not in ("direct", "segment", *FOLLOWING):
                facts.frozen.add(found)
    if not facts.is_index_copy(found.array):
        facts.frozen.add(found)
