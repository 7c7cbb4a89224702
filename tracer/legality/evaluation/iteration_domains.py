"""Iterations of the loops of a nest: which of them each value changes with, and whether they fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Nest
from tracecut.support import memory_amounts
from tracecut.support.lazy_kernels import compiled
from tracecut.support.memory_budget import default_budget

from .elements import LONG
from .memory import MANY

MAX_ITERATIONS = 1 << 31
DOMAIN_BYTES = 8 * 4  # for each iteration of a loop: its counter, the way to the one around it, and their making
VECTOR_BYTES = 8 * 3  # for each iteration, while a value is computed: itself and two that it is made of


@dataclass(frozen=True, eq=False)
class Domain:
    """Iterations of one loop. Their numbers, and the way to the loop around it, are made when they are asked for.

    Attributes:
        loop: its id. size: iterations in all.
        counts: iterations in each entry of the enclosing domain (int64), each from number 0 on; None where not known.
        given: (`parent`, `counter`) where there are no counts.
        exits: which early exits each entry's last iteration takes (bool, exits × entries); None: none is.
        sure: whether exactly these iterations run; False where an exit may be taken before.
    """

    loop: int
    size: int
    counts: npt.NDArray[np.int64] | None
    given: tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64]] | None = None
    exits: npt.NDArray[np.bool_] | None = None
    sure: bool = True

    @property
    def inner(self) -> bool:
        """Whether the loop lies in another one."""
        return self.given is None or self.given[0] is not None

    @cached_property
    def parent(self) -> npt.NDArray[np.int64] | None:
        """Entry of the enclosing domain that each iteration belongs to (int64), None for the root."""
        return self.given[0] if self.given is not None else _unrolled(self.in_each(0), self.size, _parents)

    @cached_property
    def counter(self) -> npt.NDArray[np.int64]:
        """Iteration number of each entry (int64)."""
        return self.given[1] if self.given is not None else _unrolled(self.in_each(0), self.size, _numbers)

    def forget(self) -> None:
        """Drop what is made of the counts when somebody asks for it."""
        for name in ("parent", "counter") if self.counts is not None else ():
            self.__dict__.pop(name, None)

    @cached_property
    def numbers(self) -> tuple[int, int]:
        """Smallest and largest iteration number; (0, 0) where there is none. O(entries of the enclosing domain)."""
        if not self.size:
            return 0, 0
        if self.counts is not None:
            return 0, int(self.counts.max()) - 1
        return int(self.counter.min()), int(self.counter.max())

    def parents_of(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """`parent` of a few iterations. O(entries of the enclosing domain)."""
        if self.counts is None:
            assert self.parent is not None
            return self.parent[places]
        return np.searchsorted(np.cumsum(self.counts), places, side="right")

    def numbers_of(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """`counter` of a few iterations. O(entries of the enclosing domain)."""
        if self.counts is None:
            return self.counter[places]
        ends = np.cumsum(self.counts)
        entries = np.searchsorted(ends, places, side="right")
        return places - (ends - self.counts)[entries]

    def in_each(self, outer: int) -> npt.NDArray[np.int64]:
        """Iterations in each of the `outer` entries of the enclosing domain."""
        if self.counts is not None:
            return self.counts
        assert self.parent is not None
        return np.bincount(self.parent, minlength=outer)


class Domains(Protocol):
    """What knows the iterations of loops (`evaluate.Evaluation`)."""

    def domain(self, loop: int) -> Domain | None: ...
    def is_step(self, loop: int) -> bool: ...


class Nested(Protocol):
    """What knows which loops lie in which (`evaluate.Evaluation`)."""

    nest: Nest

    def domain(self, loop: int) -> Domain | None: ...
    def jobs(self, loop: int, region: int) -> npt.NDArray[np.int64]: ...


def entered(asked: Nested, loop: int, level: int) -> npt.NDArray[np.bool_]:
    """Iterations of an outer loop in which an inner one runs at all. O(iterations)."""
    outer, inner = asked.domain(level), asked.domain(loop)
    assert outer is not None and inner is not None
    if asked.nest.loops[loop].parent == level:
        return inner.in_each(outer.size) > 0
    return np.bincount(asked.jobs(loop, level), minlength=outer.size) > 0


def counter_ranges(domains: Domains, atoms: Iterable[Expr]) -> dict[Expr, tuple[int, int]]:
    """Smallest and largest number of the counters among some atoms, where they are known. O(iterations)."""
    found = {}
    for atom in atoms:
        if atom.kind != "counter" or domains.is_step(atom.data[0]):
            continue
        domain = domains.domain(atom.data[0])
        if domain is not None and domain.size:
            found[atom] = domain.numbers
    return found


def steps_around(nest: Nest, region: int) -> frozenset[int]:
    """The loops of a scope around a region: any number of their iterations is made in one layout."""
    found = set()
    above = nest.loops[region].parent if region in nest.loops else None
    while above is not None:
        found.add(above)
        above = nest.loops[above].parent
    return frozenset(found)


def inner_domain(
    loop: int, counts: npt.NDArray[np.int64], exits: npt.NDArray[np.bool_] | None = None, *, sure: bool = True
) -> Domain:
    """Iterations of a loop that runs so often in each entry of the domain around it."""
    size, counts = int(counts.sum()), counts.view()
    counts.flags.writeable = False  # others read it
    return Domain(loop, size, counts, None, exits, sure)


def _unrolled(counts: npt.NDArray[np.int64], size: int, unroll: Callable[..., None]) -> npt.NDArray[np.int64]:
    """A number for each of `size` iterations. O(iterations)."""
    made = np.empty(size, np.int64)
    unroll(counts, made)
    return made


def pieces(counts: npt.NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Cuts entries of an outer loop into ranges of about `most` iterations of the inner one. O(entries)."""
    ends = np.cumsum(counts)
    bounds = np.searchsorted(ends, np.arange(most, int(ends[-1]) if ends.size else 0, most), side="left") + 1
    yield from pairwise(np.unique(np.concatenate([[0], bounds, [counts.size]])).tolist())


def _parents(counts: npt.NDArray[np.int64], parent: npt.NDArray[np.int64]) -> None:
    if parent.size >= LONG:
        _unroll_parents(counts, parent)
    else:
        parent[:] = np.repeat(np.arange(counts.size, dtype=np.int64), counts)


def _numbers(counts: npt.NDArray[np.int64], counter: npt.NDArray[np.int64]) -> None:
    if counter.size >= LONG:
        _unroll_numbers(counts, counter)
    else:
        counter[:] = np.arange(counter.size, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)


@compiled("void(Array(int64, 1, 'A', True), int64[::1])", cache=True, nogil=True)
def _unroll_parents(counts: Any, parent: Any) -> None:
    at = 0
    for outer in range(counts.size):
        for _ in range(counts[outer]):
            parent[at] = outer
            at += 1


@compiled("void(Array(int64, 1, 'A', True), int64[::1])", cache=True, nogil=True)
def _unroll_numbers(counts: Any, counter: Any) -> None:
    at = 0
    for outer in range(counts.size):
        for number in range(counts[outer]):
            counter[at] = number
            at += 1


def is_even(addresses: npt.NDArray[np.int64], step: int) -> bool:
    """Whether each address lies `step` bytes behind the one before. O(addresses), less where an early one does not."""
    return bool(np.all(np.diff(addresses[:MANY]) == step) and np.all(np.diff(addresses[MANY - 1 :]) == step))


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
    """What the values of all iterations may take: asked for before anything is made, counted when it is there.

    Attributes:
        levels: of the nest. limit: bytes; a share of what is free when it is not given.
        too_long: loop → why not all of its iterations are looked at.
    """

    levels: Levels
    limit: int | None
    too_long: dict[int, str] = field(default_factory=dict)
    _taken: int = 0
    _vectors: int = 0

    @property
    def left(self) -> int:
        """Bytes of the limit that are not taken."""
        if self.limit is None:
            self.limit = default_budget()
        return self.limit - self._taken - self._vectors

    def enter(self, loop: int, size: float) -> bool:
        """Whether so many iterations of a loop fit in memory; they are then counted."""
        needed = int(DOMAIN_BYTES * size)
        if size > MAX_ITERATIONS or not self.fits(loop, size, needed):
            self.too_long.setdefault(loop, self._why(loop, size, needed))
            return False
        self._taken += needed
        return True

    def fits(self, loop: int, size: float, needed: int) -> bool:
        """Whether there is room for so many bytes more, of a loop of so many iterations; `too_long` says why not."""
        if needed <= self.left:
            return True
        self.too_long.setdefault(loop, self._why(loop, size, self._taken + self._vectors + needed))
        return False

    def take(self, *arrays: npt.NDArray[Any]) -> None:
        """Count arrays that are kept from now on; what shares the memory of another one takes none."""
        self._vectors += sum(array.nbytes for array in arrays if array.ndim and array.base is None)

    def give_back(self, *arrays: npt.NDArray[Any]) -> None:
        """Count arrays that were taken and are not kept any more."""
        self._vectors -= sum(array.nbytes for array in arrays if array.ndim and array.base is None)

    def vectors_gone(self) -> None:
        """None of the arrays that were taken is kept any more, but for short ones."""
        self._vectors = 0

    def forget(self) -> None:
        """Count from nothing again: what was taken is there no more."""
        self._taken = self._vectors = 0

    def _why(self, loop: int, size: float, needed: int) -> str:
        place = self.levels.nest.loops[loop].place
        return (
            f"its inspection would need at least {memory_amounts.size(needed)} for {size:,.0f} iterations of {place}, "
            f"{memory_amounts.size(self.left + self._taken + self._vectors)} are allowed (--memory)"
        )
