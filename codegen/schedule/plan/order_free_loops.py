"""Companions: loops of a layout scope that run unchanged on renumbered data.

`for v: u[v] += dt * res[v]` does the same whatever the numbering, as long as it visits every record once, in any
order, touches each array at the same number, and does not use that number for anything else.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from tracecut.ir.llvm.passes.aside.look_ahead import look_of
from tracecut.ir.loops.refusals import refusal
from tracecut.tracer.legality.access_patterns import DIRECT, OTHER, SCALAR, Array, Pattern, find_arrays, find_pattern
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.loops.updates.reductions import FLOAT_OPERATORS

from .private_data import follows_counter, is_local


@dataclass(frozen=True)
class Companion:
    """A loop that walks renumbered arrays: it visits the numbers [low, high). `why`: why it cannot, or empty.

    `steps`: iterations that it takes for one record; the numbers are iterations, or parts of unrolled ones.
    `rounds`: it adds up floating-point numbers in the order that they have in memory (a dot product): all iterations
    are there on any numbering, and the sum is rounded otherwise.
    """

    loop: int
    low: int
    high: int
    why: str = ""
    steps: int = 1
    rounds: bool = False


def examine(accesses: Accesses, loop: int, unrolled: Collection[int] = ()) -> Companion:
    """Whether a loop does the same on any numbering of what it walks. O(accesses in it).

    `unrolled`: loops whose iterations count as their parts, each of which then needs a record of its own.
    """
    nest = accesses.nest
    info = nest.loops[loop]
    refused = refusal(nest, loop)
    if refused is not None:
        return Companion(loop, 0, 0, refused.says)
    if look_of(info.exit[1]):
        return Companion(loop, 0, 0, "may be left early")  # but as a region, behind one that has looked
    if info.counter_data:
        return Companion(loop, 0, 0, f"uses its counter as data ({info.counter_data[0]})")
    if any(site.apart for site in nest.sites_in(loop)):
        return Companion(loop, 0, 0, "touches an array that is made in the scope")
    for number in sorted(nest.inside(loop) - {loop}):
        if follows_counter(nest, number, loop):
            return Companion(loop, 0, 0, f"runs an inner loop as far as its counter says ({nest.loops[number].place})")
    size = _entry_size(accesses, loop)
    if size is None:
        return Companion(loop, 0, 0, "does not visit the same numbers each time")
    patterns = [
        find_pattern(accesses, access, (), unrolled)
        for access in accesses.inside(loop)
        if access.runs and not is_local(nest, (), access.site)
    ]
    for pattern in patterns:
        if pattern.kind == OTHER and _may_follow(pattern, loop):
            return Companion(loop, 0, 0, "picks by its number what is not renumbered")
    operators = {carried.operator for carried in info.carried if carried.operator}
    for array in find_arrays(patterns):
        if array.written and not _any_order(array, loop):
            return Companion(loop, 0, 0, "may write what another of its iterations touches")
        if array.written and not own_record(array, loop):
            operators |= {pattern.access.site.operator for pattern in array.patterns}
    size *= info.unrolled if loop in unrolled else 1
    return Companion(loop, 0, size, rounds=bool(operators & FLOAT_OPERATORS))


def _may_follow(pattern: Pattern, loop: int) -> bool:
    """Whether an address may depend on the number of the iteration, in a way that is no linear form."""
    return any(
        node.kind in ("opaque", "any") or (node.kind == "counter" and node.data[0] == loop)
        for node in pattern.access.site.address.walk()
    )


def _entry_size(accesses: Accesses, loop: int) -> int | None:
    """Iterations of each entry of the loop, None when they differ."""
    domain = accesses.evaluation.whole(loop)
    if domain is None or domain.size == 0:
        return None
    if not domain.inner:
        return domain.size
    counts = np.unique(domain.in_each(0))
    counts = counts[counts > 0]
    return int(counts[0]) if counts.size == 1 else None


def _any_order(array: Array, loop: int) -> bool:
    sites = [pattern.access.site for pattern in array.patterns]
    if all(site.operator for site in sites) and len({site.operator for site in sites}) == 1:
        return all(pattern.kind == SCALAR for pattern in array.patterns) or own_record(array, loop)
    return own_record(array, loop)


def own_record(array: Array, loop: int) -> bool:
    """Whether every iteration stays in a record of its own."""
    return array.stride > 0 and (
        all(
            pattern.kind == DIRECT and pattern.major is not None and pattern.major.data[0] == loop
            for pattern in array.patterns
        )
        and len({array.record(pattern) for pattern in array.patterns}) == 1
        and len({pattern.step for pattern in array.patterns}) == 1
    )
