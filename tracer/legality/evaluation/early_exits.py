"""Inner loops that may be left early: which of their iterations run, as far as a run tells.

`for (j = 0; j < 8 && col[8 * i + j] >= 0; j++)` ends with the first exit that is known to be taken; nothing behind it
is looked at. Where it is not known whether an exit is taken (`if (front[col[e]]) break`, while `front` changes), all
iterations up to the next one that is known *may* run. Legality asks for no more than that: what may run counts as an
access, as what stands behind a condition that is not known. The iterations of a region, and of a loop that walks all of
the data, have to be known: `Evaluation.whole`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import NestLoop
from tracecut.ir.loops.path_conditions import Condition

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
