"""Spaces whose data stay together in pieces: a start in a record gets a new number, like an index.

`node[i].first` and `node[i].count` say which edges belong to a node. Starts in an array of their own are written anew
for each copy of the pieces (`access_modes.py`); one in a record that is written, or moved for what else it holds, keeps
its place there. So the edges are one space: whatever order it has, each piece has to be in it as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from tracecut.support.arrays import Ints
from tracecut.tracer.legality.access_patterns import SEGMENT, Pattern

from .piece_lengths import counts_of_walks
from .scope_facts import Facts
from .scope_plan import Field, Pieces, RegionUse, Space


def is_followed(facts: Facts, place: int) -> bool:
    """Whether regions may read a copy of an array in the order of the index, or of the starts, that reach it."""
    array = facts.arrays[place]
    picked = any(pattern.kind == SEGMENT and facts.field_of(pattern) is not None for pattern in array.patterns)
    return facts.is_index_copy(place) or (picked and not array.written and bool(array.stride))


def pieces_of(
    facts: Facts, uses: Mapping[int, list[RegionUse]], fields: Mapping[Field, int], moved: Collection[int]
) -> Pieces | None:
    """The pieces that regions run over by the starts of a space, None where it is reached record by record alone.

    Freezes starts whose pieces cannot stay together. O(iterations · log iterations).
    """
    found: list[Pieces] = []
    for start, shift in fields.items():
        for region, members in uses.items():
            walks = [
                pattern
                for use in members
                for pattern in use.patterns
                if pattern.kind == SEGMENT and facts.field_of(pattern) is start
            ]
            torn = any(facts.home[pattern] in moved for pattern in walks)
            pieces = _pieces(facts, region, walks, shift) if walks and not torn else None
            if walks and pieces is None:
                facts.frozen.add(start)
            elif pieces is not None:
                found.append(pieces)
    if found and not _stay_together(found):
        facts.frozen.update(fields)
    return _longest(found) if found else None


def _pieces(facts: Facts, region: int, walks: Sequence[Pattern], shift: int) -> Pieces | None:
    """The pieces that the inner loops of a region run over by one start. None where its numbers are not known, or a
    loop lies deeper."""
    evaluation = facts.accesses.evaluation
    outer, majors = evaluation.domain(region), {pattern.major for pattern in walks}
    if outer is None or len(majors) != 1 or region not in facts.movable:
        return None
    lengths = np.zeros(outer.size, np.int64)
    loops = {int(pattern.inner.data[0]) for pattern in walks if pattern.inner is not None}
    counts = counts_of_walks(facts, region, outer.size, loops)
    if counts is None:
        return None
    for many in counts.values():
        np.maximum(lengths, many, out=lengths)
    major = majors.pop()
    assert major is not None
    found = evaluation.at(major, region)
    known, starts = (np.broadcast_to(part, outer.size) for part in (found.known, found.data))
    if not np.all(known | (lengths == 0)):
        return None
    return Pieces(region, np.where(lengths > 0, starts.astype(np.int64) - shift, 0), lengths)


def _longest(found: Sequence[Pieces]) -> Pieces:
    """Those of the first region, each as long as the longest that begins with its first datum."""
    starts, lengths = (np.concatenate([getattr(item, name) for item in found]) for name in ("starts", "lengths"))
    begins, places = np.unique(starts, return_inverse=True)
    most = np.zeros(begins.size, np.int64)
    np.maximum.at(most, places, lengths)
    first = found[0]
    return Pieces(first.region, first.starts, np.where(first.lengths > 0, most[places[: first.starts.size]], 0))


def _stay_together(found: Sequence[Pieces]) -> bool:
    """Whether no two pieces overlap, but such as begin with the same datum: a loop may run over a part of a piece."""
    starts, lengths = (np.concatenate([getattr(item, name) for item in found]) for name in ("starts", "lengths"))
    starts, lengths = starts[lengths > 0], lengths[lengths > 0]
    order = np.lexsort((lengths, starts))
    starts, ends = starts[order], (starts + lengths)[order]
    return not np.any((starts[1:] != starts[:-1]) & (ends[:-1] > starts[1:]))


def order_of_pieces(space: Space, jobs: Ints) -> Ints:
    """Order of a space whose pieces follow a job order, int32 (data of the space), counted from its lowest.

    Data of no iteration's piece come last, as they were: nothing then lies between what they have to stay beside.
    O(data).
    """
    pieces = space.pieces
    assert pieces is not None
    size = space.high - space.low
    mine = jobs[pieces.lengths[jobs] > 0]
    _, first = np.unique(pieces.starts[mine], return_index=True)
    mine = mine[np.sort(first)]  # each piece where the first iteration comes to it
    starts, lengths = pieces.starts[mine] - space.low, pieces.lengths[mine]
    ends = np.cumsum(lengths)
    order = np.repeat(starts - ends + lengths, lengths) + np.arange(int(ends[-1]) if ends.size else 0)
    left = np.ones(size, np.bool_)
    left[order] = False
    return np.concatenate([order, np.flatnonzero(left)]).astype(np.int32)
