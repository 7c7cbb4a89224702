"""Inner loops that may be left early: which of their iterations run, as far as a run tells.

`for (j = 0; j < 8 && col[8 * i + j] >= 0; j++)` ends with the first exit that is known to be taken; nothing behind it
is looked at. Where it is not known whether an exit is taken (`if (front[col[e]]) break`, while `front` changes), all
iterations up to the next one that is known *may* run. Legality asks for no more than that: what may run counts as an
access, as what stands behind a condition that is not known. The iterations of a region, and of a loop that walks all of
the data, have to be known: `Evaluation.whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, walk_all
from tracecut.ir.loops.nest import NestLoop
from tracecut.ir.loops.path_conditions import Condition, literals

from .condition_values import must_hold
from .iteration_domains import Domain, inner_domain
from .masked_arithmetic import Bools, Values


class Asked(Protocol):
    """An evaluation of the loop as if all of its iterations ran."""

    def at(self, expr: Expr, loop: int) -> Values: ...

    def truth(self, condition: Condition, loop: int) -> Bools | np.bool_: ...

    def whole(self, loop: int) -> Domain | None: ...


def until_exit(info: NestLoop, made: Domain, asked: Asked, outer: int | None) -> Domain | None:
    """What the exits in front of the one that counts leave of the iterations of a loop: `made` itself, if all.

    Args:
        made: all of its iterations. outer: entries of the loop around it; None where its iterations may be jobs, so
            that they have to be known.

    None where they are not known. O(iterations · literals).
    """
    if any(asked.whole(inner) is None for inner in info.through):
        return None
    if not any(np.any(asked.truth(taken, info.id)) for _, taken in info.early):
        return made
    if outer is None:
        return None
    return cut_domain(made, [must_hold(taken, lambda expr: asked.at(expr, info.id)) for _, taken in info.early], outer)


def cut_domain(domain: Domain, exits: Sequence[Bools | np.bool_], outer: int) -> Domain:
    """Iterations up to the first one that takes an exit, in each of `outer` entries.

    `exits`: for each exit, in which iterations it is taken. O(iterations · exits).
    """
    assert domain.parent is not None
    counts = domain.in_each(outer).copy()
    taken = np.zeros(domain.size, np.bool_)
    for found in exits:
        taken |= found
    ends = np.flatnonzero(taken)
    entries, first = np.unique(domain.parent[ends], return_index=True)
    counts[entries] = domain.counter[ends[first]] + 1
    return inner_domain(domain.loop, counts)


def changes(info: NestLoop) -> bool:
    """Whether an exit of a loop may be taken in one iteration and not in another."""
    values = (expr for _, taken in info.early for term in literals(taken) for expr, _ in term)
    return any(node.kind == "counter" and node.data[0] == info.id for node in walk_all(values))


def counts_until_exit(
    info: NestLoop, outer: Bools, ask: Callable[[npt.NDArray[np.int64], Domain], Asked | None]
) -> npt.NDArray[np.int64] | None:
    """How often a loop without a trip count runs in each entry: up to the first exit that is taken, its iteration too.

    Args:
        outer: which entries of the loop around it enter it at all.
        ask: takes some of these, and some iterations in each of them; returns what knows their values, None where there
            is no room for so many.

    Looked at are one iteration of each entry, then the next two, four, … of those that are not left by then. None where
    it is not known of some iteration in front of that exit whether it takes one. O(iterations · literals).
    """
    counts = np.zeros(outer.size, np.int64)
    entries, first, length = np.flatnonzero(outer), 0, 1
    while entries.size:
        made = Domain(
            info.id,
            entries.size * length,
            None,
            (
                np.repeat(np.arange(entries.size, dtype=np.int64), length),
                np.tile(np.arange(first, first + length, dtype=np.int64), entries.size),
            ),
        )
        asked = ask(entries, made)
        if asked is None:
            return None
        may, must = np.zeros(made.size, np.bool_), np.zeros(made.size, np.bool_)
        for _, taken in info.early:
            may |= asked.truth(taken, info.id)
            must |= must_hold(taken, lambda expr, asked=asked: asked.at(expr, info.id))  # type: ignore[misc]
        ends, unknown = must.reshape(-1, length), (may & ~must).reshape(-1, length)
        left = ends.any(axis=1)
        place = np.where(left, ends.argmax(axis=1), length)
        if np.any(unknown.any(axis=1) & (unknown.argmax(axis=1) < place)):
            return None
        counts[entries[left]] = first + place[left] + 1
        entries, first, length = entries[~left], first + length, 2 * length
    return counts
