"""Iterations of the loops of a nest: which of them each value changes with, and whether they fit in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..ir import amounts
from ..ir.budget import default_budget
from .expr import Expr
from .nest import Nest

MAX_ITERATIONS = 1 << 31
# 8-byte words for each iteration of a loop: its domain and the way to those around it; and for each of its accesses,
# while conflicts are counted: job, offset, address, and where it runs.
DOMAIN_WORDS, SITE_WORDS = 4, 5
TRANSIENT = 2  # what is kept at most, and as much again while it is made


@dataclass(frozen=True)
class Domain:
    """Iterations of one loop.

    Attributes:
        loop: its id. `size`: iterations in all.
        parent: entry of the enclosing domain that each iteration belongs to (int64), None for the root.
        counter: iteration number of each entry (int64).
    """

    loop: int
    size: int
    parent: npt.NDArray[np.int64] | None
    counter: npt.NDArray[np.int64]


@dataclass
class Levels:
    """The loop of a nest whose iterations each expression changes with."""

    nest: Nest
    _known: dict[int, int | None] = field(default_factory=dict)

    def of(self, expr: Expr) -> int | None:
        """The innermost loop whose counter `expr` depends on, None for a constant."""
        if id(expr) not in self._known:
            for node in expr.walk():
                if id(node) in self._known:
                    continue
                below = [self._known[id(arg)] for arg in node.args]
                below += [node.data[0]] if node.kind == "counter" else []
                inner = [loop for loop in below if loop is not None]
                self._known[id(node)] = max(inner, key=lambda loop: self.nest.loops[loop].depth, default=None)
        return self._known[id(expr)]

    def above(self, loop: int) -> set[int]:
        """A loop and those around it."""
        found = set()
        current: int | None = loop
        while current is not None:
            found.add(current)
            current = self.nest.loops[current].parent
        return found


@dataclass
class Room:
    """What the values of all iterations may take.

    Attributes:
        levels: of the nest. limit: bytes; a share of what is free when it is not given.
    """

    levels: Levels
    limit: int | None
    _reserved: int = 0
    _words: Counter[int | None] | None = None

    @property
    def left(self) -> int:
        """Bytes of the limit that are not reserved."""
        return (default_budget() if self.limit is None else self.limit) - self._reserved

    def refuses(self, loop: int, size: float) -> str:
        """Why not all that is kept of so many iterations of a loop stays below the limit; empty: it is now reserved."""
        if self.limit is None:
            self.limit = default_budget()
        if self._words is None:
            self._words = self._count_words()
        needed = int(8 * TRANSIENT * (DOMAIN_WORDS + self._words[loop]) * size)
        if size <= MAX_ITERATIONS and self._reserved + needed <= self.limit:
            self._reserved += needed
            return ""
        place, allowed = self.levels.nest.loops[loop].place, amounts.size(self.limit)
        return (
            f"its inspection would need {amounts.size(needed)} for {size:,.0f} iterations of {place}, "
            f"{allowed} are allowed (--memory)"
        )

    def _count_words(self) -> Counter[int | None]:
        """Loop → words for each of its iterations: one for each value that changes with its counter."""
        words: Counter[int | None] = Counter()
        seen: set[int] = set()
        for expr in self.levels.nest.expressions():
            for node in expr.walk():
                if id(node) not in seen:
                    seen.add(id(node))
                    words[self.levels.of(node)] += 1
        for site in self.levels.nest.sites:
            words[site.loop] += SITE_WORDS
        return words
