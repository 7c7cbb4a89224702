"""Pieces: the records of an array that an iteration of a region reads, from a loaded start on.

Where the loop over a piece runs to a loaded end, the piece is what lies between both. Otherwise it is all that the
iteration reads by that start: as many records as an inner loop runs, and those ahead of it. A list that ends by what
stands in it, `for (k = start[i]; list[k] >= 0; k++)`, is read one record ahead, to see its end, and its first record
is read before the loop, to see whether it is empty.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr
from tracecut.tracer.legality.access_patterns import INDIRECT, SEGMENT, Array, Pattern

from .scope_facts import Facts


def is_head(pattern: Pattern, region: int, start: Expr, step: int) -> bool:
    """Whether an access reads one record of a piece outside of the loop over it, at a fixed distance to its start."""
    alone = pattern.kind == INDIRECT and pattern.major is start and pattern.step == step
    return alone and pattern.access.site.loop == region and len(pattern.access.atoms) == 1


def first_of(array: Array, patterns: Collection[Pattern]) -> int:
    """The first record of a piece that starts at number 0."""
    return min(array.record(pattern) for pattern in patterns)


def piece_lengths(
    facts: Facts, region: int, loops: Collection[int], start: Expr, end: Expr | None
) -> npt.NDArray[np.int64] | None:
    """Records of the piece of each iteration, None when not known. O(iterations · accesses by `start`).

    With an end also of iterations whose inner loop does not run: a comparison of both has to come out as before.
    """
    evaluation = facts.accesses.evaluation
    outer = evaluation.domain(region)
    if outer is None:
        return None
    counts = counts_of_walks(facts, region, outer.size, loops)
    if end is None:
        return None if counts is None else _read(facts, region, start, outer.size)
    first, last = (evaluation.at(node, region) for node in (start, end))
    if counts is None or not (first.all_known and last.all_known):
        return None
    lengths = np.broadcast_to(last.data, outer.size) - np.broadcast_to(first.data, outer.size)
    good = not np.any(lengths < 0) and all(np.all((many == 0) | (many == lengths)) for many in counts.values())
    return lengths if good and _read_alike(facts, region, start) else None


def counts_of_walks(
    facts: Facts, region: int, jobs: int, loops: Collection[int]
) -> dict[int, npt.NDArray[np.int64]] | None:
    """How often each loop runs in each iteration of the region; None where one is not known, or lies deeper.

    Of loops in one that nothing tells the number of iterations of: in each of those, which is the same.
    """
    found, evaluation = {}, facts.accesses.evaluation
    for loop in loops:
        inner = evaluation.domain(loop)
        if inner is None or not inner.inner or facts.accesses.around(loop) != region:
            return None
        own = facts.nest.loops[loop].parent == region
        found[loop] = inner.in_each(jobs) if own else np.bincount(evaluation.jobs(loop, region), minlength=jobs)
    return found


def _read(facts: Facts, region: int, start: Expr, jobs: int) -> npt.NDArray[np.int64] | None:
    """Records that each iteration reads by a start, in the array of which it reads the most."""
    lengths = np.zeros(jobs, np.int64)
    for array, patterns in _picked(facts, region, start):
        counts = counts_of_walks(facts, region, jobs, {int(p.inner.data[0]) for p in patterns if p.inner is not None})
        if counts is None:
            return None
        low = first_of(array, patterns)
        for pattern in patterns:
            ahead = array.record(pattern) - low
            if pattern.inner is None and pattern.access.site.loop != region:
                return None
            if pattern.inner is not None:
                many = counts[int(pattern.inner.data[0])]
                read = np.where(many > 0, many + ahead, 0)
            else:
                read = np.where(facts.accesses.mask(pattern.access.site), ahead + 1, 0)
            np.maximum(lengths, read, out=lengths)
    return lengths


def _read_alike(facts: Facts, region: int, start: Expr) -> bool:
    """Whether all that is read by a start is the loop's record."""
    return all(
        len({array.record(pattern) for pattern in patterns}) == 1 and {p.kind for p in patterns} == {SEGMENT}
        for array, patterns in _picked(facts, region, start)
    )


def _picked(facts: Facts, region: int, start: Expr) -> list[tuple[Array, list[Pattern]]]:
    """Arrays with record structure, and the accesses of a region to them that a start picks."""
    found = []
    for array in facts.arrays:
        patterns = [p for p in array.numbers if p.major is start and facts.region_of(p) == region]
        if patterns:
            found.append((array, patterns))
    return found
