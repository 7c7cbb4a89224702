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
from tracecut.ir.loops.expressions import NEVER_KNOWN, Expr, walk_all
from tracecut.ir.loops.nest import Nest, NestLoop
from tracecut.ir.loops.path_conditions import Condition
from tracecut.tracer.loops.pointer_rotation import in_all_states

from .condition_values import may_hold
from .contents import let_go
from .early_exits import changes, counts_until_exit, left, until_exit
from .iteration_domains import DOMAIN_BYTES, VECTOR_BYTES, Domain, Levels, Room, entered, inner_domain, pieces
from .loaded_values import loaded, walked
from .masked_arithmetic import UNKNOWN, Bools, Few, Values, combined
from .memory import DTYPES, Memory
from .trip_numbers import counts_of, trips
from .untold_loops import one_for_all

GLANCE = 1 << 12  # iterations of a loop that are looked at before it is evaluated as a whole
LONG = 1 << 16  # numbers of a vector that is rather made again than kept
PIECE = 1 << 17  # iterations that are looked at together, where no more than the last one is asked for

Evaluated = dict[int, tuple[int | None, Values]]  # expressions, by their ids


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
        untold: loops of which one iteration stands for any number of them (`stands_for_all`).
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
    _values: Evaluated = field(default_factory=dict)
    spans: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    cut: set[int] = field(default_factory=set)
    untold: set[int] = field(default_factory=set)
    limit: int | None = None
    steps: frozenset[int] = frozenset()
    at_step: int | None = None
    _busy: dict[tuple[int, int], Bools] = field(default_factory=dict)
    _jobs: dict[tuple[int, int], npt.NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.levels = Levels(self.nest)
        self.room = Room(self.levels, self.limit)
        self._steps = self.nest.mere_steps

    @property
    def too_long(self) -> dict[int, str]:
        """Loop → what its iterations would take, of loops that are not looked at, or not in all, for that."""
        return self.room.too_long

    def domain(self, loop: int) -> Domain | None:
        """Iterations of a loop; None when it is not known how many, or that nothing leaves it before.

        Those of a loop in an iteration of a region end with the first exit that is taken for sure; where one may be
        taken before, they are all that may run (`cut`), or not known where the loop has no trip count. None also when
        they do not fit in memory, which is found out before any of it is taken: `too_long` says so.
        """
        if loop not in self._domains:
            early = self.nest.loops[loop].ends_early and not self.is_step(loop)
            soon = early and self._left_soon(loop)
            self.cut |= {loop} if soon else set()
            made = None if soon else self._until_exit(loop) if early else self._make_domain(loop)
            self._domains[loop] = made
        return self._domains[loop]

    def whole(self, loop: int) -> Domain | None:
        """Iterations of a loop that nothing leaves before its trip count; None where that is not known."""
        found = self.domain(loop)
        return None if loop in self.cut else found

    def is_step(self, loop: int) -> bool:
        """Whether one iteration of a loop stands for all."""
        return loop in self.untold or self._is_given(loop)

    def _is_given(self, loop: int) -> bool:
        return loop in self.steps or (self.single and self.nest.loops[loop].parent is None)

    def stands_for_all(self, loop: int) -> None:
        """See `one_for_all`: if nothing tells how often an inner loop runs, and before anything in it is asked for."""
        made = one_for_all(self, loop) if self.domain(loop) is None and loop not in self.too_long else None
        if made is not None and self.room.enter(loop, made.size):
            self._domains[loop] = made
            self.untold.add(loop)
            self.cut.add(loop)

    def _left_soon(self, loop: int) -> bool:
        """Whether an exit of the outermost loop may be taken in its first iterations: others need not be looked at.

        What is seen of these few is forgotten. Without doubts more values are known than with them.
        """
        size = self.root_size() if loop == self.nest.root else None
        if size is None or size <= GLANCE:
            return False
        asked = self.some(np.arange(GLANCE, dtype=np.int64))
        first = asked.domain(loop)
        assert first is not None
        return until_exit(self.nest.loops[loop], first, asked, None) is None

    def some(self, numbers: npt.NDArray[np.int64]) -> Evaluation:
        """Another evaluation, of these iterations of the outermost loop alone (int64)."""
        found = Evaluation(self.nest, self.memory, self.lives, distrusted=self.distrusted, limit=self.room.left)
        found._domains[self.nest.root] = Domain(self.nest.root, numbers.size, None, (None, numbers))
        return found

    def _until_exit(self, loop: int) -> Domain | None:
        """See `until_exit`. Long loops are looked at piece by piece, so that only what is left of them is made."""
        info = self.nest.loops[loop]
        around = None if info.parent is None or self._is_given(info.parent) else self.domain(info.parent)
        if info.trip is None:
            return None if around is None else self._until_data(info, around)
        counts = None if around is None else counts_of(self, loop)
        if counts is None or around is None or counts.sum() <= 2 * PIECE:
            made = self._make_domain(loop)
            if made is None:
                return None
            asked = self._asked()
            asked._begin(asked._domains, asked._values, made)
            found = until_exit(info, made, asked, None if around is None else around.size)
            self.cut |= set() if found is made else {loop}
            return found
        counts, asked, sure = counts.copy(), self._asked(), True
        exits = np.zeros((len(info.early), counts.size), np.bool_)
        above = self.levels.above(loop) - {loop}
        for low, high in pieces(counts, PIECE):
            made = inner_domain(loop, counts[low:high])
            asked._begin(*self._part(around, above, slice(low, high)), made)
            found = until_exit(info, made, asked, high - low)
            if found is None or not found.inner:
                self.cut.add(loop)
                return None
            if found is not made:
                self.cut.add(loop)
                counts[low:high], sure = found.in_each(high - low), sure and found.sure
                exits[:, low:high] = found.exits
        fits = self.room.enter(loop, float(counts.sum(dtype=np.float64)))
        return inner_domain(loop, counts, exits, sure=sure) if fits else None

    def _asked(self) -> Evaluation:
        """Another evaluation of the same, for what lies behind exits: it means nothing, and is forgotten."""
        return replace(self, limit=self.room.left, _domains=dict(self._domains), _values=dict(self._values))

    def _begin(self, domains: dict[int, Domain | None], values: Evaluated, made: Domain) -> None:
        """Forget everything but these, and one more domain."""
        self._domains, self._values = domains | {made.loop: made}, values
        self.hidden, self.spans, self.cut, self._busy, self._jobs = set(), {}, set(), {}, {}
        self.room.forget()

    def _part(self, whole: Domain, levels: set[int], few: Few) -> tuple[dict[int, Domain | None], Evaluated]:
        """Some iterations of a loop and those of the loops around it (`levels`), with what is known of them."""
        parent, counter = None if whole.parent is None else whole.parent[few], whole.counter[few]
        domains = {level: found for level, found in self._domains.items() if level in levels}
        domains[whole.loop] = Domain(whole.loop, counter.size, None, (parent, counter))
        values = {
            key: (level, found.taken(few) if level == whole.loop else found)
            for key, (level, found) in self._values.items()
            if level is None or level in levels
        }
        return domains, values

    def _until_data(self, info: NestLoop, around: Domain) -> Domain | None:
        """Iterations of a loop that has no trip count (`counts_until_exit`)."""
        above, asked = self.levels.above(info.id) - {info.id}, self._asked()
        longest, taken = 0, np.broadcast_to(self.truth(info.reach, around.loop), around.size)

        def ask(entries: npt.NDArray[np.int64], made: Domain) -> Evaluation | None:
            nonlocal longest
            longest += made.size
            if not self.room.fits(info.id, longest, DOMAIN_BYTES * longest + VECTOR_BYTES * made.size):
                return None
            asked._begin(*self._part(around, above, entries), made)
            return asked

        found = counts_until_exit(info, taken, ask) if changes(info) else None
        self.cut.add(info.id)
        if found is None or not self.room.enter(info.id, float(found[0].sum(dtype=np.float64))):
            return None
        return inner_domain(info.id, *found)

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
        level, values = self.evaluated(expr)
        if id(expr) not in self.relied and np.any(values.known):
            self.relied[id(expr)] = expr
        return self.spread(values, level, loop)

    def extremes(self, expr: Expr, loop: int) -> tuple[int, int] | None:
        """Smallest and largest value over all iterations of `loop`, None unless all are known integers."""
        if expr.kind == "counter" and expr.data[0] == loop and not self.is_step(loop):
            domain = self.domain(loop)
            return domain.numbers if domain is not None and domain.size else None
        level, values = self.evaluated(expr)
        if not values.all_known or values.data.dtype.kind not in "iu" or values.data.size == 0:
            return None
        if id(expr) not in self.relied:
            self.relied[id(expr)] = expr
        data = values.data
        if level is not None and level != loop and data.ndim:
            if level not in self.levels.above(loop) or self.domain(loop) is None:
                return None
            running = self._entered(loop, level)
            data = data if running.all() else data[running]
            if data.size == 0:
                return None
        return int(data.min()), int(data.max())

    def alone(self, expr: Expr) -> int | None:
        """The one integer that an expression is in all iterations of all loops, None when it is not known."""
        level, values = self.evaluated(expr)
        if level is not None or not values.all_known or values.data.ndim or values.data.dtype.kind not in "iu":
            return None
        return int(values.data)

    def _entered(self, loop: int, level: int) -> Bools:
        """See `entered`."""
        key = (loop, level)
        if key not in self._busy:
            self._busy[key] = entered(self, loop, level)
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
                return Domain(loop, 1, None, (None, np.full(1, self.at_step or 0, np.int64)))
            found = self.root_size()
            if found is None or not self.room.enter(loop, found):
                return None
            return Domain(loop, found, None, (None, np.arange(found, dtype=np.int64)))
        outer = self.domain(info.parent)
        if outer is None:
            return None
        if self.is_step(loop):
            return inner_domain(loop, np.full(outer.size, np.any(self.truth(info.reach, info.parent)), np.int64))
        counts = counts_of(self, loop)
        if counts is None or not self.room.enter(loop, float(counts.sum(dtype=np.float64))):
            return None
        return inner_domain(loop, counts)

    def root_size(self) -> int | None:
        """How often the outermost loop runs if nothing leaves it early, None when not known. Takes no memory."""
        total = trips(self, self.nest.root, None)
        return None if total is None else int(total.data)

    def spread(self, values: Values, level: int | None, loop: int) -> Values:
        """Values in the iterations of a loop, of what changes with another one around it."""
        if level is None or level == loop:
            return values
        if level not in self.levels.above(loop) or self.domain(loop) is None:
            return UNKNOWN
        return values.taken(self.jobs(loop, level))

    def evaluated(self, expr: Expr) -> tuple[int | None, Values]:
        """The innermost loop that an expression changes with, None for one number, and its values in all iterations."""
        found = self._values.get(id(expr))
        if found is None:
            level = self.levels.of(expr)
            values = self._compute(expr, level) if self._fits(level) else UNKNOWN
            if values.data.ndim < np.ndim(values.known):  # one number, known in some iterations alone
                values = Values(np.broadcast_to(values.data, np.shape(values.known)), values.known)
            found = self._values[id(expr)] = (level, values)
            if expr.kind != "counter":  # that of its domain
                self.room.take(values.data, np.asarray(values.known))
        return found

    def forget(self) -> None:
        """Drop long vectors, and bytes that lie in a file: both come back if somebody asks. O(expressions)."""
        for key in [key for key, (_, values) in self._values.items() if values.data.size >= LONG]:
            del self._values[key]
        for domain in self._domains.values():
            if domain is not None:
                domain.forget()
        self._jobs.clear()
        self.room.vectors_gone()
        let_go(self.memory.contents)

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
            return self.counted(expr.data[0])
        if kind == "left":
            return left(self, expr, level)
        if kind == "load":
            return self._load(expr, level)
        if kind in NEVER_KNOWN:
            return UNKNOWN
        if kind in ("op", "cmp") and expr.has("state"):
            number = in_all_states(expr, self.nest.pool, self.alone)
            if number is not None:
                return Values(np.asarray(number), np.bool_(True))
        parts = []
        for argument in expr.args:
            inner, values = self.evaluated(argument)
            parts.append(values if level is None else self.spread(values, inner, level))
            if id(argument) in self._steps:  # made again if somebody asks for it after all
                self.room.give_back(values.data, np.asarray(values.known))
                del self._values[id(argument)]
        return combined(str(kind), expr.data, parts)

    def counted(self, loop: int) -> Values:
        """Numbers of the iterations of a loop."""
        domain = None if self.uncounted(loop) else self.domain(loop)
        return UNKNOWN if domain is None else Values(domain.counter, np.bool_(True))

    def uncounted(self, loop: int) -> bool:
        """Whether it is not known which iteration of a loop one is."""
        return self.is_step(loop) and (self.at_step is None or loop != self.nest.root)

    def _load(self, expr: Expr, level: int | None) -> Values:
        name, type = expr.data
        if name in self.distrusted or type not in DTYPES:
            return UNKNOWN
        fresh = name not in self.read
        self.read[name] = expr
        values = loaded(self, expr, level)
        if fresh and self.doubts is not None and np.any(values.known) and self.doubts(name, expr):
            return UNKNOWN
        return values

    def walk(self, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None:
        """See `walked`."""
        return walked(self, name, address, level, type)
