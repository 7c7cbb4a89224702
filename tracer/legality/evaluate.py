"""Expressions on the numbers of a run: every iteration at once, in vectors.

The domain of a loop holds one entry for each of its iterations; inner loops with varying trip counts make ragged
domains. Nothing here can crash or read out of bounds: a load outside of a known object makes its value unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import NEVER_KNOWN, Expr, roams, walk_all
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.path_conditions import Condition
from tracecut.tracer.loops.linear_forms import linear_form
from tracecut.tracer.loops.pointer_rotation import in_all_states
from tracecut.tracer.loops.trip_counts import count

from .condition_values import may_hold
from .early_exits import until_exit
from .iteration_domains import VECTOR_BYTES, Domain, Levels, Room, begins_of_pieces, inner_domain, is_even, mere_steps
from .masked_arithmetic import UNKNOWN, Bools, Values, combined, widened
from .memory import DTYPES, Memory

GLANCE = 1 << 12  # iterations of a loop that are looked at before it is evaluated as a whole


@dataclass
class Evaluation:
    """Evaluates the expressions of a nest.

    Attributes:
        nest, memory: what is evaluated on what.
        lives: numbers of the live values (floats as Python floats); a missing one is unknown.
        single: the root is one iteration of unknown number (a layout scope) instead of all of them.
        steps: loops inside of such a root of which the same holds, as of all loops around them.
        at_step: the number of that iteration of the root, where it is known.
        distrusted: names of loads whose memory may change while the nest runs: their values are unknown.
        read: every load that was evaluated, by name.
        relied: expressions whose known values were asked for: what a verdict depends on.
        hidden: loads of which some values lie in memory that cannot be read, though the program may read it.
        doubts: says of a load that is evaluated for the first time why it cannot be trusted, once the sites of the
            nest are known; empty when it can.
        spans: load → (first address, behind the last, step), for loads that walk through memory.
        cut: loops with exits that are or may be taken; their domains hold what may run.
        limit: bytes that all of it may take; a share of what is free when it is not given.
    """

    nest: Nest
    memory: Memory
    lives: Mapping[str, int | float]
    single: bool = False
    distrusted: frozenset[str] = frozenset()
    read: dict[str, Expr] = field(default_factory=dict)
    relied: dict[int, Expr] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    doubts: Callable[[str, Expr], str] | None = None
    _domains: dict[int, Domain | None] = field(default_factory=dict)
    _values: dict[int, tuple[int | None, Values]] = field(default_factory=dict)
    spans: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    cut: set[int] = field(default_factory=set)
    limit: int | None = None
    steps: frozenset[int] = frozenset()
    at_step: int | None = None
    _busy: dict[tuple[int, int], Bools] = field(default_factory=dict)
    _jobs: dict[tuple[int, int], npt.NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._levels = Levels(self.nest)
        self.room = Room(self._levels, self.limit)
        self._steps = mere_steps(self.nest)

    @property
    def too_long(self) -> dict[int, str]:
        """Loop → what its iterations would take, of loops that are not looked at, or not in all, for that."""
        return self.room.too_long

    def domain(self, loop: int) -> Domain | None:
        """Iterations of a loop; None when it is not known how many, or that nothing leaves it before.

        Those of a loop in an iteration of a region end with the first exit that is taken for sure; where one may be
        taken before, they are all that may run (`cut`). None also when they do not fit in memory, which is found out
        before any of it is taken: `too_long` says so.
        """
        if loop not in self._domains:
            early = self.nest.loops[loop].ends_early and not self.is_step(loop)
            soon = early and self._left_soon(loop)
            self.cut |= {loop} if soon else set()
            made = None if soon else self._make_domain(loop)
            self._domains[loop] = self._until_exit(loop, made) if early and made is not None else made
        return self._domains[loop]

    def whole(self, loop: int) -> Domain | None:
        """Iterations of a loop that nothing leaves before its trip count; None where that is not known."""
        found = self.domain(loop)
        return None if loop in self.cut else found

    def is_step(self, loop: int) -> bool:
        """Whether one iteration of a loop, of unknown number, stands for all."""
        return loop in self.steps or (self.single and self.nest.loops[loop].parent is None)

    def _left_soon(self, loop: int) -> bool:
        """Whether an exit of the outermost loop may be taken in its first iterations: others need not be looked at.

        What is seen of these few is forgotten. Without doubts more values are known than with them.
        """
        size = self.root_size() if loop == self.nest.root else None
        if size is None or size <= GLANCE:
            return False
        first = Domain(loop, GLANCE, None, np.arange(GLANCE, dtype=np.int64))
        asked = Evaluation(self.nest, self.memory, self.lives, distrusted=self.distrusted, limit=self.room.left)
        asked._domains[loop] = first
        return until_exit(self.nest.loops[loop], first, asked, None) is None

    def _until_exit(self, loop: int, made: Domain) -> Domain | None:
        """See `until_exit`. What is computed behind an exit means nothing: it is forgotten."""
        asked = replace(self, limit=self.room.left, hidden=set(), spans={}, cut=set(), _busy={}, _jobs={})
        asked._domains, asked._values = {**self._domains, loop: made}, dict(self._values)
        parent = self.nest.loops[loop].parent
        around = None if parent is None or self.is_step(parent) else self.domain(parent)
        left = until_exit(self.nest.loops[loop], made, asked, None if around is None else around.size)
        self.cut |= set() if left is made else {loop}
        return left

    def jobs(self, loop: int, region: int) -> npt.NDArray[np.int64]:
        """For each iteration of `loop`, the iteration of the enclosing loop `region` that it belongs to."""
        key = (loop, region)
        if key not in self._jobs:
            domain = self.domain(loop)
            assert domain is not None
            if loop == region:
                self._jobs[key] = np.arange(domain.size, dtype=np.int64)
            else:
                parent = self.nest.loops[loop].parent
                assert domain.parent is not None and parent is not None
                if parent == region:
                    return domain.parent
                self._jobs[key] = self.jobs(parent, region)[domain.parent]
            self.room.take(self._jobs[key])
        return self._jobs[key]

    def at(self, expr: Expr, loop: int) -> Values:
        """Values of `expr` for each iteration of `loop` (or one number when it is the same for all)."""
        level, values = self._evaluate(expr)
        if id(expr) not in self.relied and np.any(values.known):
            self.relied[id(expr)] = expr
        return self._spread(values, level, loop)

    def pick(self, expr: Expr, loop: int, places: npt.NDArray[np.int64]) -> Values:
        """Values of `expr` for a few iterations of `loop`."""
        level, values = self._evaluate(expr)
        if level is None or values is UNKNOWN:
            return values
        if level not in self._levels.above(loop):
            return UNKNOWN
        index = places if level == loop else self.jobs(loop, level)[places]
        return values.taken(index)

    def extremes(self, expr: Expr, loop: int) -> tuple[int, int] | None:
        """Smallest and largest value over all iterations of `loop`, None unless all are known integers."""
        level, values = self._evaluate(expr)
        if not values.all_known or values.data.dtype.kind not in "iu" or values.data.size == 0:
            return None
        if id(expr) not in self.relied:
            self.relied[id(expr)] = expr
        data = values.data
        if level is not None and level != loop and data.ndim:
            if level not in self._levels.above(loop) or self.domain(loop) is None:
                return None
            data = data[self._entered(loop, level)]
            if data.size == 0:
                return None
        return int(data.min()), int(data.max())

    def alone(self, expr: Expr) -> int | None:
        """The one integer that an expression is in all iterations of all loops, None when it is not known."""
        level, values = self._evaluate(expr)
        if level is not None or not values.all_known or values.data.ndim or values.data.dtype.kind not in "iu":
            return None
        return int(values.data)

    def _entered(self, loop: int, level: int) -> Bools:
        """Iterations of an outer loop in which an inner one runs at all."""
        key = (loop, level)
        if key not in self._busy:
            outer = self.domain(level)
            assert outer is not None
            self._busy[key] = np.bincount(self.jobs(loop, level), minlength=outer.size) > 0
        return self._busy[key]

    def rely_on(self, expr: Expr) -> None:
        """Note that something was concluded from an expression outside of this class."""
        self.relied[id(expr)] = expr

    def grounds(self) -> list[Expr]:
        """Every live value and load behind what was relied on."""
        nodes = walk_all(self.relied.values())
        loads = (node for node in nodes if node.kind == "live" or node.kind == "load")
        return [node for node in dict.fromkeys(loads) if node.kind == "live" or node.data[0] not in self.distrusted]

    def truth(self, condition: Condition, loop: int) -> Bools | np.bool_:
        """Whether a reach condition may hold, for each iteration of `loop`."""
        return may_hold(condition, lambda expr: self.at(expr, loop))

    def _make_domain(self, loop: int) -> Domain | None:
        info = self.nest.loops[loop]
        if info.parent is None:
            if self.single:
                return Domain(loop, 1, None, np.full(1, self.at_step or 0, np.int64))
            found = self.root_size()
            if found is None or not self.room.enter(loop, found):
                return None
            return Domain(loop, found, None, np.arange(found, dtype=np.int64))
        outer = self.domain(info.parent)
        if outer is None:
            return None
        if self.is_step(loop):
            return inner_domain(loop, np.full(outer.size, np.any(self.truth(info.reach, info.parent)), np.int64))
        trips = self._trips(loop, outer)
        if trips is None:
            return None
        may = self.truth(info.reach, info.parent)
        counts = np.where(np.broadcast_to(may, outer.size), np.broadcast_to(trips.data, outer.size), 0).astype(np.int64)
        if not self.room.enter(loop, float(counts.sum(dtype=np.float64))):
            return None
        return inner_domain(loop, counts)

    def root_size(self) -> int | None:
        """How often the outermost loop runs if nothing leaves it early, None when not known. Takes no memory."""
        total = self._trips(self.nest.root, None)
        return None if total is None else int(total.data)

    def _trips(self, loop: int, outer: Domain | None) -> Values | None:
        info = self.nest.loops[loop]
        if info.trip is None:
            return None
        where = info.parent
        parts = []
        for argument in info.trip.args:
            self.rely_on(argument)
            level, values = self._evaluate(argument)
            if where is None and level is not None:
                return None
            parts.append(values if where is None else self._spread(values, level, where))
        data, known = count(info.trip.data, *(part.data for part in parts))
        for part in parts:
            known = known & part.known
        if outer is not None:
            may = self.truth(info.reach, outer.loop)
            known = known | ~may
            data = np.where(may, data, 0)
        if not np.all(known):
            return None
        return Values(data, np.bool_(True))

    def _spread(self, values: Values, level: int | None, loop: int) -> Values:
        if level is None or level == loop:
            return values
        if level not in self._levels.above(loop):
            return UNKNOWN
        if self.domain(loop) is None:
            return UNKNOWN
        return values.taken(self.jobs(loop, level))

    def _evaluate(self, expr: Expr) -> tuple[int | None, Values]:
        found = self._values.get(id(expr))
        if found is None:
            level = self._levels.of(expr)
            values = self._compute(expr, level) if self._fits(level) else UNKNOWN
            if values.data.ndim < np.ndim(values.known):  # one number, known in some iterations alone
                values = Values(np.broadcast_to(values.data, np.shape(values.known)), values.known)
            found = self._values[id(expr)] = (level, values)
            if expr.kind != "counter":  # that of its domain
                self.room.take(values.data, np.asarray(values.known))
        return found

    def _fits(self, level: int | None) -> bool:
        """Whether a value for each iteration of a loop fits in memory, while it is made."""
        domain = None if level is None else self._domains.get(level)
        return domain is None or self.room.fits(domain.loop, domain.size, VECTOR_BYTES * domain.size)

    def _compute(self, expr: Expr, level: int | None) -> Values:
        kind = expr.kind
        if kind == "const":
            return Values(np.asarray(expr.data[0]), np.bool_(True))
        if kind == "live":
            number = self.lives.get(expr.data[0])
            return UNKNOWN if number is None else Values(np.asarray(number), np.bool_(True))
        if kind == "counter":
            return self._counter(expr.data[0])
        if kind == "load":
            return self._load(expr, level)
        if kind in NEVER_KNOWN:
            return UNKNOWN
        if kind in ("op", "cmp") and expr.has("state"):
            number = in_all_states(expr, self.nest.pool, self.alone)
            return UNKNOWN if number is None else Values(np.asarray(number), np.bool_(True))
        parts = []
        for argument in expr.args:
            inner, values = self._evaluate(argument)
            parts.append(values if level is None else self._spread(values, inner, level))
            if id(argument) in self._steps:  # made again if somebody asks for it after all
                self.room.give_back(values.data, np.asarray(values.known))
                del self._values[id(argument)]
        return combined(str(kind), expr.data, parts)

    def _counter(self, loop: int) -> Values:
        if self.is_step(loop) and (self.at_step is None or loop != self.nest.root):
            return UNKNOWN
        domain = self.domain(loop)
        return UNKNOWN if domain is None else Values(domain.counter, np.bool_(True))

    def _load(self, expr: Expr, level: int | None) -> Values:
        name, type = expr.data
        if name in self.distrusted or type not in DTYPES:
            return UNKNOWN
        fresh = name not in self.read
        self.read[name] = expr
        values = self._loaded(expr, level)
        if fresh and self.doubts is not None and np.any(values.known) and self.doubts(name, expr):
            return UNKNOWN
        return values

    def _loaded(self, expr: Expr, level: int | None) -> Values:
        name, type = expr.data
        walked = self._walk(name, expr.args[0], level, type)
        if walked is not None:
            return Values(widened(np.ascontiguousarray(walked), type), np.bool_(True))
        _, address = self._evaluate(expr.args[0])
        if not np.any(address.known):
            return UNKNOWN
        addresses = np.atleast_1d(address.data)
        step = int(addresses[1]) - int(addresses[0]) if addresses.size > 1 else 0
        view = None
        if address.all_known and addresses.size and is_even(addresses, step):
            view = self.memory.strided(int(addresses[0]), step, addresses.size, type)
        if view is not None:
            values, ok = np.ascontiguousarray(view), np.ones(addresses.shape, bool)
        else:
            values, ok = self.memory.gather(addresses, type)
            missing = addresses[np.broadcast_to(address.known, addresses.shape) & ~ok & self.may_load(name, level)]
            if missing.size and (roams(expr.args[0]) or self.memory.inside(missing).any()):
                self.hidden.add(name)
        data = widened(values, type)
        known = ok & address.known
        if address.data.ndim == 0:
            return Values(data[0], np.bool_(np.ravel(known)[0]))
        return Values(data, known)

    def may_load(self, name: str, level: int | None) -> Bools | np.bool_:
        """Iterations of loop `level` in which a load may run, as far as that is known."""
        site = next((site for site in self.nest.sites if site.key == name), None)
        if site is None or level is None or site.loop != level:
            return np.bool_(True)
        return self.truth(site.reach, level)

    def _walk(self, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None:
        """Loaded values where the address advances by a constant step over a whole domain, without its vector."""
        if level is None:
            return None
        form = linear_form(address, self.lives)
        domain = self.domain(level)
        counter = next((atom for atom in form.terms if atom.kind == "counter" and atom.data[0] == level), None)
        if counter is None or domain is None or domain.size == 0 or self._counter(level) is UNKNOWN:
            return None
        step = form.terms[counter]
        rest = [atom for atom in form.terms if atom is not counter]
        start = form.const
        longest = int(domain.counter.max())
        ranges = {counter: (0, longest)}
        if not rest:
            if longest + 1 != domain.size:
                return None
        else:
            begins = self._piece_starts(rest[0], domain) if len(rest) == 1 and form.terms[rest[0]] == step else None
            if begins is None:
                return None
            ranges[rest[0]] = (int(begins.min()), int(begins.max()))
            start += step * int(begins[0])
        if not form.atoms() <= ranges.keys() or not form.holds(ranges):
            return None
        last = start + step * (domain.size - 1)
        self.spans[name] = (min(start, last), max(start, last) + DTYPES[type].itemsize, abs(step))
        return self.memory.strided(start, step, domain.size, type)

    def _piece_starts(self, atom: Expr, domain: Domain) -> npt.NDArray[np.int64] | None:
        """Values of a loaded start for every iteration that has a piece, when the pieces follow each other."""
        above = self.nest.loops[domain.loop].parent
        if above is None or atom.kind != "load" or self._levels.of(atom) != above or domain.parent is None:
            return None
        _, starts = self._evaluate(atom)
        outer = self.domain(above)
        assert outer is not None
        return begins_of_pieces(domain, starts, outer.size)
