"""Which numbers the index loads of a region may read new ones of."""

from __future__ import annotations

from .scope_plan import ScopePlan


def renumbered(plan: ScopePlan, region: int) -> dict[str, tuple[int, int]]:
    """Load → [low, high): of what it reads, these numbers are replaced by others of them, and nothing else is.

    Loads of whole index fields in copies that the region reads, whether an address is formed with them or not. O(sites
    of the region).
    """
    found: dict[str, tuple[int, int]] = {}
    seen: dict[str, int] = {}
    moved = {place for space in plan.spaces for place in space.arrays}
    for use in plan.uses[region]:
        array = plan.arrays[use.array]
        for pattern in use.patterns:
            site = pattern.access.site
            seen[site.key] = seen.get(site.key, 0) + 1
            for space in plan.spaces if array.stride and use.array not in moved and not site.writes else ():
                for field, shift in space.fields.items():
                    places = {(pattern.first - array.origin) % array.stride + offset for offset in pattern.offsets}
                    if field.array == use.array and site.type == f"i{8 * field.width}" and places <= {*field.offsets}:
                        last = space.bounds is not None and space.bounds.field is field  # where the last row ends
                        found[site.key] = space.low + shift, space.high + shift + last
    return {key: numbers for key, numbers in found.items() if seen[key] == 1}
