"""Loops beside the regions that are unrolled by hand, and walk records of which other loops take one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SEGMENT, Pattern, find_arrays, find_pattern
from tracecut.tracer.legality.accesses import Access, Accesses


def find_unrolled(accesses: Accesses, regions: Sequence[int], shared: Sequence[Access]) -> frozenset[int]:
    """Loops whose iterations have to count as their parts, for their arrays to have records of one size.

    The others stay as they are: a loop over points that does the same for x and y is one over points. `shared`: the
    accesses of the scope. O(unrolled loops × accesses).
    """
    nest = accesses.nest
    inside = set().union(*(nest.inside(region) for region in regions))
    left = {number for number, info in nest.loops.items() if info.parts and number not in inside}
    chosen: set[int] = set()
    while left:
        patterns = [find_pattern(accesses, access, regions, chosen) for access in shared]
        found: set[int] = set()
        for array in find_arrays(patterns):
            walks = [pattern for pattern in array.patterns if pattern.kind in (DIRECT, INDIRECT, SEGMENT)]
            least = min((abs(pattern.step) for pattern in walks), default=0)
            found |= {loop for pattern in walks if abs(pattern.step) > least and (loop := _loop(pattern)) in left}
        if not found:
            break
        chosen |= found
        left -= found
    return frozenset(chosen)


def _loop(pattern: Pattern) -> int:
    """The loop whose counter picks the record, −1 for another pattern."""
    return int(pattern.major.data[0]) if pattern.kind == DIRECT and pattern.major is not None else -1
