"""Index fields that keep their numbers, after all: these would not fit, or are read in another way."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SEGMENT

from .access_modes import holds_anywhere, holds_in_pieces
from .final_uses import FOLLOWING
from .offset_union_find import Shifts
from .own_indices import renumbers_in_place
from .row_bounds import BOUNDS, record_of, relate_bounds
from .scope_facts import Facts
from .scope_plan import Field, RegionUse, Space
from .whole_pieces import is_followed


def relate_copies(facts: Facts, uses: Mapping[int, list[RegionUse]], links: Shifts) -> None:
    """Copies that are reached through an index, or piece by piece, take the order of the index's space.

    A copy has one numbering: where an index of it cannot follow, none of them may change. O(patterns).
    """
    for region, found in uses.items():
        for use in found:
            if use.mode == BOUNDS:
                relate_bounds(facts, region, use, links)
            if use.mode not in FOLLOWING or not is_followed(facts, use.array):
                continue
            array = facts.arrays[use.array]
            for pattern in use.patterns:
                name = facts.field_of(pattern)
                own = use.mode == "tied" and pattern.kind == DIRECT
                picks = ("jobs", region) if own else ("field", name)
                good = own or (pattern.kind in (INDIRECT, SEGMENT) and name is not None and pattern.step > 0)
                if not good or not links.relate(("copy", use.array), picks, record_of(facts, array, pattern)):
                    fields = {known for item in use.patterns if (known := facts.field_of(item)) is not None}
                    cut = fields & facts.bounds.keys()
                    facts.torn.update(cut)
                    facts.frozen.update(() if cut else fields)
                    break


def freeze_narrow(facts: Facts, space: Space) -> None:
    """Any number of the space has to fit where an index is stored, and what is computed on the way to addresses."""
    for found, shift in space.fields.items():
        limit = 1 << (8 * found.width - 1)
        if space.low + shift < -limit or space.high + shift > limit:
            facts.frozen.add(found)
    for place in (*space.arrays, *space.copies):
        array = facts.arrays[place]
        for pattern in array.patterns:
            name = facts.field_of(pattern) if pattern.kind in (INDIRECT, SEGMENT) else None
            if name is None or name not in space.fields:
                continue
            if pattern.kind == INDIRECT:
                holds = holds_anywhere(facts.accesses, array, pattern)
            else:
                low, high = (edge + space.fields[name] for edge in (space.low, space.high))
                holds = low >= 0 and holds_in_pieces(facts.accesses, pattern, high)
            if not holds:
                facts.frozen.add(name)


def freeze_what_is_read_otherwise(
    facts: Facts,
    found: Field,
    uses: Mapping[int, list[RegionUse]],
    moved: Mapping[int, None],
    copies: Collection[int],
) -> None:
    """A renumbered index is read from copies alone, by every region that reads it; or it moves with its record.

    `copies`: arrays of which there are copies in the order of what it picks.
    """
    apart = {key for pair in facts.nest.lengths for key in pair}
    if found not in facts.bounds and any(found.array in facts.homes(key) for key in apart):
        facts.frozen.add(found)  # how far neighbours are apart is told by the old numbers
        return
    everywhere = {
        place
        for place in copies
        if all(use.mode in FOLLOWING for members in uses.values() for use in members if use.array == place)
    }
    if renumbers_in_place(facts, found, moved, everywhere):
        return
    for members in uses.values():
        for use in members:
            if use.array == found.array and use.mode not in ("direct", "segment", BOUNDS, *FOLLOWING):
                facts.frozen.add(found)
    if not facts.is_index_copy(found.array):
        facts.frozen.add(found)
