"""Lookups: accesses beside the regions that keep the program's own numbers, in loops that need these.

What a loop does may depend on the order of what it walks: the place of the largest value, the first that is not small
enough, running sums, a list of all that are above a limit, neighbours by number. It stays as it is. The code in front
of each of its loads and stores looks up where the order has put the record (`codegen/host/lookups.py`), so nothing has
to be known of the address but which objects it may lie in, and that it stays inside of a record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from tracecut.tracer.legality.access_patterns import DIRECT, LOOKUP, OTHER, RANGE, SCALAR, Array, Pattern
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.loops.row_numbers import is_number

CALL = "call:"


@dataclass(frozen=True)
class Lookups:
    """What looks its records up: every walk of these loops, and these sites; and why."""

    loops: Mapping[int, str] = field(default_factory=dict)
    sites: Mapping[str, str] = field(default_factory=dict)

    def with_these(self, patterns: Iterable[Pattern], why: str) -> Lookups:
        """These too: of a walk, with all others of its loop, whose iterations are records in one numbering."""
        patterns = list(patterns)
        walks = {walked: why for pattern in patterns if (walked := walked_by(pattern)) is not None}
        alone = {pattern.access.site.key: why for pattern in patterns if walked_by(pattern) is None}
        return Lookups({**walks, **self.loops}, {**alone, **self.sites})

    def of(self, accesses: Accesses, pattern: Pattern, regions: Collection[int]) -> Pattern:
        """The pattern, as a lookup if it is one. `regions`: loops that are rescheduled, with all that are in them."""
        walked = walked_by(pattern)
        why = self.sites.get(pattern.access.site.key, "") if walked is None else self.loops.get(walked, "")
        if not why or not may_look_up(accesses, pattern, regions):
            return pattern
        return replace(pattern, kind=LOOKUP, major=None, inner=None, step=0, offsets=(), why=why)


def walked_by(pattern: Pattern) -> int | None:
    """The loop whose counter picks the record."""
    return int(pattern.major.data[0]) if pattern.kind == DIRECT and pattern.major is not None else None


def may_look_up(accesses: Accesses, pattern: Pattern, regions: Collection[int]) -> bool:
    """Whether code in front of an access could look up where its record lies."""
    access, site = pattern.access, pattern.access.site
    if site.loop in regions or site.length is not None or site.apart or site.key.startswith(CALL):
        return False
    if access.object is None or access.object in accesses.memory.rows or is_number(site.key):
        return False
    return 0 < site.size <= site.align


def alignment_of(pattern: Pattern) -> int:
    """What the address of a lookup is a multiple of, as far as that matters: no access is cut by such places.

    The compiler may promise more (every second of the words that a loop takes), which does not hold for moved records.
    """
    size = pattern.access.site.size
    return 1 << (size - 1).bit_length()


def stays_inside(array: Array, pattern: Pattern) -> bool:
    """Whether a lookup touches no two records of an array: records begin where its addresses are aligned to."""
    align = alignment_of(pattern)
    return array.stride % align == 0 and (array.object.base + array.origin) % align == 0


def odd_ones(array: Array, inside: Collection[int]) -> list[Pattern]:
    """The accesses beside the regions that leave an array without records of one kind; none if regions do so.

    `inside`: loops of the regions.
    """
    own = [pattern for pattern in array.patterns if pattern.access.site.loop in inside]
    rest = [pattern for pattern in array.patterns if pattern.access.site.loop not in inside and pattern.kind != LOOKUP]
    if not own or any(pattern.kind == OTHER for pattern in own):
        return []
    steps = {abs(pattern.step) for pattern in own}
    return (
        [pattern for pattern in rest if pattern.kind == OTHER]
        or [pattern for pattern in rest if pattern.kind not in (SCALAR, RANGE) and abs(pattern.step) not in steps]
        or [pattern for pattern in rest if pattern.kind not in (SCALAR, RANGE)]
    )
