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
from tracecut.ir.loops.nest import Nest, NestLoop
from tracecut.ir.loops.path_conditions import Condition, literals

from .condition_values import must_hold
from .iteration_domains import Domain, inner_domain
from .masked_arithmetic import UNKNOWN, Bools, Values


class Asked(Protocol):
    """An evaluation of the loop as if all of its iterations ran."""

    def at(self, expr: Expr, loop: int) -> Values: ...

    def truth(self, condition: Condition, loop: int) -> Bools | np.bool_: ...

    def whole(self, loop: int) -> Domain | None: ...


class Leaving(Protocol):
    """What knows the iterations of loops, and when they are entered (`evaluate.Evaluation`)."""

    nest: Nest

    def at(self, expr: Expr, loop: int) -> Values: ...
    def domain(self, loop: int) -> Domain | None: ...
    def is_step(self, loop: int) -> bool: ...
    def truth(self, condition: Condition, loop: int) -> Bools | np.bool_: ...


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
    may = [asked.truth(taken, info.id) for _, taken in info.early]
    must = [must_hold(taken, lambda expr: asked.at(expr, info.id)) for _, taken in info.early]
    return cut_domain(made, must, outer, may)


def cut_domain(
    domain: Domain, exits: Sequence[Bools | np.bool_], outer: int, may: Sequence[Bools | np.bool_] = ()
) -> Domain:
    """Iterations up to the first one that takes an exit, in each of `outer` entries.

    `exits`: for each exit, in which iterations it is taken. `may`: in which it may be. O(iterations · exits).
    """
    assert domain.parent is not None
    counts = domain.in_each(outer).copy()
    taken = np.zeros(domain.size, np.bool_)
    for found in exits:
        taken |= found
    ends = np.flatnonzero(taken)
    entries, first = np.unique(domain.parent[ends], return_index=True)
    last = ends[first]
    counts[entries] = domain.counter[last] + 1
    by = np.zeros((len(exits), outer), np.bool_)
    for place, found in enumerate(exits):
        by[place, entries] = np.broadcast_to(found, domain.size)[last]
    sooner = np.zeros(domain.size, np.bool_)
    for found in may:
        sooner |= found
    sooner &= ~taken
    sure = not sooner.any() or not np.any(domain.counter[sooner] < counts[domain.parent[sooner]])
    return inner_domain(domain.loop, counts, by, sure=sure)


def changes(info: NestLoop) -> bool:
    """Whether an exit of a loop may be taken in one iteration and not in another."""
    values = (expr for _, taken in info.early for term in literals(taken) for expr, _ in term)
    return any(node.kind == "counter" and node.data[0] == info.id for node in walk_all(values))


def counts_until_exit(
    info: NestLoop, outer: Bools, ask: Callable[[npt.NDArray[np.int64], Domain], Asked | None]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None:
    """How often a loop without a trip count runs in each entry: up to the first exit that is taken, its iteration too;
    and which exits that one takes (exits × entries).

    Args:
        outer: which entries of the loop around it enter it at all.
        ask: takes some of these, and some iterations in each of them; returns what knows their values, None where there
            is no room for so many.

    Looked at are one iteration of each entry, then the next two, four, … of those that are not left by then. None where
    it is not known of some iteration in front of that exit whether it takes one. O(iterations · literals).
    """
    counts, by = np.zeros(outer.size, np.int64), np.zeros((len(info.early), outer.size), np.bool_)
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
        may, must = np.zeros(made.size, np.bool_), np.zeros((len(info.early), made.size), np.bool_)
        for exit, (_, taken) in enumerate(info.early):
            may |= asked.truth(taken, info.id)
            must[exit] = must_hold(taken, lambda expr, asked=asked: asked.at(expr, info.id))  # type: ignore[misc]
        each, any_must = must.reshape(-1, entries.size, length), must.any(axis=0)
        ends, unknown = any_must.reshape(-1, length), (may & ~any_must).reshape(-1, length)
        left = ends.any(axis=1)
        place = np.where(left, ends.argmax(axis=1), length)
        if np.any(unknown.any(axis=1) & (unknown.argmax(axis=1) < place)):
            return None
        counts[entries[left]] = first + place[left] + 1
        by[:, entries[left]] = each[:, left, place[left]]
        entries, first, length = entries[~left], first + length, 2 * length
    return counts, by


def left(asked: Leaving, expr: Expr, level: int | None) -> Values:
    """Values of a `left` node in the iterations of `level`: in which of its own a loop is left, or whether by an edge.

    The number is unknown where the loop is not entered, the truth is False there. Both are unknown where it is not
    known whether it is entered. O(entries · exits).
    """
    info, edge = asked.nest.loops[expr.data[0]], str(expr.data[1])
    around = asked.domain(level) if level is not None and level == info.parent else None
    domain = None if around is None or asked.is_step(info.id) else asked.domain(info.id)
    if domain is None or around is None or not domain.sure:
        return UNKNOWN
    may = np.broadcast_to(asked.truth(info.reach, around.loop), around.size)
    entered = must_hold(info.reach, lambda part: asked.at(part, around.loop)) & may
    exits = np.zeros((len(info.early), around.size), np.bool_) if domain.exits is None else domain.exits
    if not edge:
        # Left by the exit that counts, in front of its body, it has begun one iteration more than ran.
        last = info.trip is None or bool(info.trip.data[2]) or exits.any(axis=0)
        return Values(domain.in_each(around.size) - np.where(last, 1, 0), entered)
    places = [place for place, (early, _) in enumerate(info.early) if ">".join(early) == edge]
    counts = info.trip is not None and ">".join(info.exit) == edge
    if not places and not counts:
        return UNKNOWN
    taken = exits[places].any(axis=0)
    if counts:
        taken |= ~exits.any(axis=0)
    return Values(np.negative((taken & may).astype(np.int64)), entered | ~may)
