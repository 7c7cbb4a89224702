"""Blocks of bytes that code beside the regions fills, or copies (`memcpy`): their ends, their records, their parts.

An object may hold several arrays that are moved each by itself (a field of all elements, then the next field). A
block that covers them is planned as one block for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tracecut.tracer.legality.access_patterns import LOOKUP, RANGE, SCALAR, Array, Pattern, find_arrays
from tracecut.tracer.legality.evaluation.memory import Object


def other_end(key: str) -> str:
    """The site at the other end of a block copy; empty for a site that is no end of one."""
    ends = {":0w": ":1r", ":1r": ":0w"}
    return key[:-3] + ends[key[-3:]] if key.startswith("call:") and key[-3:] in ends else ""


def block_ends(by_site: Mapping[str, Sequence[Pattern]], pattern: Pattern) -> tuple[Pattern, ...]:
    """Both ends of a block copy, the target first, with the buffers that change places where they are for `pattern`.

    None unless each is one block of known bytes; of one that is planned in parts, those that hold the same bytes.
    """
    key = pattern.access.site.key
    names = sorted((key, other_end(key)), key=lambda name: name[-2:])
    found = [
        [end for end in by_site.get(name, ()) if end.state == pattern.state and end.within == pattern.within]
        for name in names
    ]
    if any(len(ends) != 1 or ends[0].kind != RANGE for ends in found):
        return ()
    return found[0][0], found[1][0]


def split_blocks(patterns: Sequence[Pattern], fine: Callable[[Pattern], bool]) -> list[Pattern]:
    """The patterns, with a block for each array that a block covers. `fine`: of `find_arrays`. O(n log n)."""
    blocks: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        if pattern.kind == RANGE and pattern.access.runs and pattern.access.object is not None:
            blocks.setdefault(pattern.access.site.key, []).append(pattern)
    if not blocks:
        return list(patterns)
    borders = _borders(find_arrays((one for one in patterns if one.kind != RANGE), fine))
    parts: dict[Pattern, list[Pattern]] = {}
    for block in (block for members in blocks.values() for block in members):
        ends = {block, *block_ends(blocks, block)}
        at = {border - end.first for end in ends for border in borders.get(end.access.object, ())}
        inside = sorted(border for border in at if 0 < border < block.extent)
        if len({end.extent for end in ends}) == 1:
            parts[block] = [_part(block, *part) for part in pairwise((0, *inside, block.extent))]
    return [part for pattern in patterns for part in parts.get(pattern, [pattern])]


def _part(block: Pattern, low: int, high: int) -> Pattern:
    access = replace(block.access, low=block.access.low + low, high=block.access.low + high)
    return replace(block, access=access, first=block.first + low, extent=high - low, within=low)


def _borders(arrays: Iterable[Array]) -> dict[Object | None, list[int]]:
    """Object → where one array of records ends and the next begins, in bytes."""
    found: dict[Object | None, list[Array]] = {}
    for array in arrays:
        if array.stride and array.touched[1] - array.touched[0] > 1:
            found.setdefault(array.object, []).append(array)
    return {
        item: [
            after.span[0]
            for before, after in pairwise(sorted(members, key=lambda array: array.low))
            if before.stride == after.stride and (after.span[0] - before.origin) % before.stride == 0
        ]
        for item, members in found.items()
    }


def find_records_of_blocks(
    arrays: Sequence[Array], home: Mapping[Pattern, int], by_site: Mapping[str, list[Pattern]]
) -> None:
    """Give arrays that are copied as blocks alone (`memcpy(old, u, …)`) the records of what is at the other end."""
    kinds = [{pattern.kind for pattern in array.patterns} for array in arrays]
    ahead = [array for array, of in zip(arrays, kinds, strict=True) if RANGE in of and of <= {RANGE, LOOKUP, SCALAR}]
    found = True
    while found:
        found = False
        for array in (array for array in ahead if not array.stride):
            records = set()
            for pattern in (pattern for pattern in array.patterns if pattern.kind == RANGE):
                for end in block_ends(by_site, pattern):  # none of a block that is filled
                    other = arrays[home[end]]
                    if other.stride and end.extent == pattern.extent:
                        records.add((other.stride, (pattern.first - end.first + other.origin) % other.stride))
            if len(records) == 1:
                found = array.take_records(*records.pop()) or found
