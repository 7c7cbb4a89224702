"""How regions reach arrays once it is known what moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .row_copies import as_they_are
from .scope_facts import Facts
from .scope_plan import RegionUse, Space

FOLLOWING = ("plain", "tied")  # modes of copies that may take the order of an index's space


def final_uses(
    facts: Facts, uses: Mapping[int, list[RegionUse]], moved: Mapping[int, None], spaces: Sequence[Space]
) -> dict[int, list[RegionUse]]:
    """Final mode of every use. `uses`: of `find_uses`; `moved`: arrays that are permuted in place. O(uses)."""
    spaced = {place for space in spaces for place in space.copies}
    fields = {found for space in spaces for found in space.fields}
    indices = {found.array for found in fields}
    result: dict[int, list[RegionUse]] = {}
    for region, members in uses.items():
        result[region] = []
        for use in members:
            mode = use.mode
            if use.array in moved:
                mode = "moved"
            elif mode in FOLLOWING:
                mode = "spaced" if use.array in spaced else ("plain" if use.array in indices else "old")
            elif mode in ("direct", "segment", "offsets") and region not in facts.movable:
                mode = "plain" if use.array in indices else "old"
            elif mode == "direct" and use.array in indices and not _reads_index(facts, use):
                mode = "old"  # indices of other loops, which it needs as they are
            item = facts.arrays[use.array].object
            if mode == "old" and item in facts.accesses.memory.rows and item not in facts.records:
                mode = as_they_are(facts, region, use, fields)
            result[region].append(RegionUse(use.array, mode, use.patterns, use.segments))
    return result


def _reads_index(facts: Facts, use: RegionUse) -> bool:
    return any(pattern.access.site.key in facts.fields for pattern in use.patterns)
