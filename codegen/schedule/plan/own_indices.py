"""Index fields inside of records that move: a node that holds the numbers of its neighbours.

There is no copy of such records: they are permuted in place, and their indices get new numbers where they lie. So
nothing may read or write these bytes but the loads of the index, and these are used for nothing but addresses of data
that move too.
"""

from __future__ import annotations

from collections.abc import Collection

from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, LOOKUP, SCALAR, SEGMENT, Array, Pattern

from .scope_facts import Facts
from .scope_plan import Field


def renumbers_in_place(facts: Facts, found: Field, moved: Collection[int], copied: Collection[int]) -> bool:
    """Whether an index field gets new numbers where it lies.

    `moved`: arrays that are permuted in place; `copied`: those that all regions read from copies in the new order.
    """
    array = facts.arrays[found.array]
    names = {key for key, field in facts.fields.items() if field is found}
    if found.array not in moved or not names:
        return False
    for pattern in array.patterns:
        key = pattern.access.site.key
        if key not in names:
            if _meets(facts, found, array, pattern):
                return False
        elif facts.region_of(pattern) is None or facts.nest.index_data.get(key, True) or facts.nest.is_bound(key):
            return False
    for site in facts.nest.sites:
        if names & {str(node.data[0]) for node in site.address.walk() if node.kind == "load"}:
            homes = facts.homes(site.key)
            if not homes or not homes <= {*moved, *copied}:
                return False
    return True


def _meets(facts: Facts, found: Field, array: Array, pattern: Pattern) -> bool:
    """Whether an access that is none of the index's loads may touch its bytes."""
    if pattern.kind == LOOKUP:
        places = [array.origin + offset for offset in found.offsets]
        apart = (facts.accesses.stays_beside(pattern.access, at, array.stride, found.width) for at in places)
        return not all(apart)
    first = (pattern.first - array.origin) % array.stride
    if pattern.kind == SCALAR:
        offsets, width = {first}, pattern.extent
    elif pattern.kind in (DIRECT, INDIRECT, SEGMENT) and pattern.offsets:
        offsets, width = {first + offset for offset in pattern.offsets}, pattern.access.width
    else:
        return True
    if not width or any(offset + width > array.stride for offset in offsets):
        return True
    return any(at < low + width and low < at + found.width for at in found.offsets for low in offsets)
