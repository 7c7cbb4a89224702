"""A loop nest as later stages see it: loops, memory accesses, effects, all as expressions relative to its root.

The same loop is described once as a region of its own, and again inside of each loop around it that may become a
layout scope; what is live into the one may be computed in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tracecut.ir.llvm.debug_info import Place

from .expressions import Expr, Pool, walk_all
from .path_conditions import Condition, literals

NOWHERE = Place("", 0)
STEPS = ("op", "cast", "cmp", "choice")
Edge = tuple[str, str]


class AccessKind(StrEnum):
    READ = "read"
    WRITE = "write"
    REDUCE = "reduce"


@dataclass(frozen=True)
class Read:
    """A load, or a call that reads."""

    kind = AccessKind.READ

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True)
class Write:
    """A store, or a call that writes."""

    kind = AccessKind.WRITE

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True)
class Fill(Write):
    """A call that writes the same byte everywhere (memset)."""

    def __str__(self) -> str:
        return "fill"


@dataclass(frozen=True)
class Put(Write):
    """A store that leaves the same value however often it is executed: `value` is a constant.

    With `loads` (which may be empty), the value depends on these loads and on the index in the address only.
    """

    value: str
    loads: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"= {self.value}" + ("" if self.loads is None else f" from {' '.join(self.loads)}")


@dataclass(frozen=True)
class Repeat(Write):
    """A store of what `function` makes of the value there: however often it is done, it may be in any order.

    Attributes:
        function: in words. load: the result of the load. loop: what else goes into it is made outside of this one.
        between: as of `Reduce`.
    """

    function: str
    load: str
    loop: int
    between: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.loop} repeats {self.function}"


@dataclass(frozen=True)
class Reduce:
    """A load, an associative operation and a store to one address; the load has no site of its own.

    Attributes:
        load: the result of the load. between: keys of the stores between the load and the store.
    """

    operator: str
    load: str = ""
    between: tuple[str, ...] = ()
    kind = AccessKind.REDUCE

    def __str__(self) -> str:
        return self.operator


Effect = Read | Write | Reduce


@dataclass(frozen=True, eq=False)
class Site:
    """One memory access of the nest.

    Attributes:
        key: names the instruction: the result of a load, `store:block:n`, `call:block:n:r|w`.
        effect: what it does to memory.
        type: accessed type; `bytes` for ranges.
        size: bytes of one access; of a range, 1.
        address: first byte. `length`: bytes of a range, None for a plain access.
        loop: id of the innermost loop around it.
        reach: path condition of the access within the body of `loop`.
        private: the loop each of whose iterations has this memory for itself (a local array that is born there).
        apart: it touches nothing but memory that the nest itself has made, which no other object is.
        align: what the compiler promises of the address, in bytes.
    """

    key: str
    effect: Effect
    type: str
    size: int
    address: Expr
    length: Expr | None
    loop: int
    reach: Condition
    place: Place
    private: int | None = None
    apart: bool = False
    align: int = 1

    @property
    def kind(self) -> AccessKind:
        return self.effect.kind

    @property
    def writes(self) -> bool:
        return self.kind is not AccessKind.READ

    @property
    def operator(self) -> str:
        """Of a reduction; empty for everything else."""
        return self.effect.operator if isinstance(self.effect, Reduce) else ""

    @property
    def load(self) -> str:
        """The result of the load of a reduction; empty for everything else."""
        return self.effect.load if isinstance(self.effect, Reduce) else ""

    @property
    def between(self) -> tuple[str, ...]:
        """Keys of the stores between the load and the store of an update of either kind."""
        return self.effect.between if isinstance(self.effect, Reduce | Repeat) else ()

    @property
    def update(self) -> tuple[str, str]:
        """What makes updates of one place interchangeable: the same is done to the same type."""
        return str(self.effect), self.type


class ObstacleKind(StrEnum):
    IO = "io"
    CLOCK = "clock"
    MEMORY = "memory"
    UNKNOWN = "unknown"
    TEMPORARY = "temporary"  # memory that an iteration allocates or frees, and that nothing else can reach


@dataclass(frozen=True)
class Obstacle:
    """Something that prevents any reordering of the iterations."""

    kind: ObstacleKind
    reason: str
    place: Place


class ValueKind(StrEnum):
    """How a loop computes a value."""

    INVARIANT = "invariant"  # made outside of the loop
    COUNTER = "counter"  # start + step · number of the iteration
    REDUCTION = "reduction"
    DELAYED = "delayed"  # what the iteration before loaded
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Carried:
    """A header phi. `operator`: of a reduction."""

    name: str
    type: str
    kind: ValueKind
    operator: str
    place: Place


@dataclass(frozen=True, eq=False)
class Result:
    """A value that is used after the loop: the phi in the exit block, the value inside the loop, and its kind."""

    phi: str
    value: str
    type: str
    kind: ValueKind


@dataclass(frozen=True, eq=False)
class NestLoop:
    """One loop of a nest.

    Attributes:
        trip: iterations if no early exit is taken; `why` says why there is no trip count, or that it may be left early.
        reach: path condition under which it is entered.
        counter_data: where its induction variable is used as data.
        exit: the exit edge (block inside, block outside) of the trip count.
        early: the other exits of its own body, and the condition of each; all exits, where there is no trip count.
        through: inner loops that it may be left through, by early exits of theirs.
        left: the lines behind `why`: where it is left, but for its trip count.
        parts: of a loop unrolled by hand, whose iterations do the same for several records that follow each other:
            access → which of them it is for, from 0 on. Of all accesses that change with its counter.
    """

    id: int
    parent: int | None
    header: str
    depth: int
    place: Place
    trip: Expr | None
    why: str
    reach: Condition
    obstacles: tuple[Obstacle, ...]
    carried: tuple[Carried, ...]
    results: tuple[Result, ...]
    instructions: int
    counter_data: tuple[Place, ...] = ()
    exit: Edge = ("", "")
    early: tuple[tuple[Edge, Condition], ...] = ()
    through: tuple[int, ...] = ()
    left: tuple[Place, ...] = ()
    parts: Mapping[str, int] = field(default_factory=dict)

    @property
    def unrolled(self) -> int:
        """How many records an iteration does the same for."""
        return 1 + max(self.parts.values(), default=0)

    @property
    def evidence(self) -> tuple[Place, ...]:
        """The lines that show why it has no trip count, or may be left early; its own where there are none."""
        return self.left or (self.place,)

    @property
    def told(self) -> str:
        """The loop, why it has no trip count or may be left early, and where that stands."""
        lines = dict.fromkeys(place.told for place in self.left if str(place) != str(self.place))
        where = " and ".join([*lines][:2])
        return f"the loop at {self.place} {self.why}" + (f" ({where})" if where else "")

    @property
    def ends_early(self) -> bool:
        """Whether anything else than its trip count may end it."""
        return bool(self.early or self.through)


@dataclass(frozen=True)
class Exit:
    """A part of a scope in front of which its layout is undone: what `block` dominates.

    `final`: the layout is not brought into force again before the scope is entered anew.
    """

    block: str
    final: bool


@dataclass(frozen=True, eq=False)
class Nest:
    """A root loop with everything inside of it.

    Attributes:
        index_data: index load → places where the loaded value is also used as data.
        stack: live value → bytes, for stack arrays of a known size, and for variables that a caller may have there.
        lent: the same of pointers that are loaded from one place: (pointer, bytes), each behind those that lead there.
        values: what goes into the inner loops that may be rescheduled: name → expression.
        made: live value → where it comes from, `f.c:12` or `parameter 2 of f`, empty where that is not known.
        exits: parts of the root that are left out.
        signed: index loads of which is asked whether they are negative, which is no use as data.
        lengths: neighbours, (start, end), that are subtracted or compared, which is no use as data of bounds of rows.
        loose: live pointers that arithmetic of the compiler may have put outside of the object that they belong to.
    """

    function: str
    root: int
    loops: Mapping[int, NestLoop]
    sites: tuple[Site, ...]
    index_data: Mapping[str, tuple[Place, ...]]
    stack: Mapping[str, int]
    values: Mapping[str, Expr]
    pool: Pool
    made: Mapping[str, str] = field(default_factory=dict)
    loose: frozenset[str] = frozenset()
    exits: tuple[Exit, ...] = ()
    signed: frozenset[str] = frozenset()
    lengths: tuple[tuple[str, str], ...] = ()
    lent: tuple[tuple[Expr, int], ...] = ()

    def is_bound(self, load: str) -> bool:
        """Whether some use of a load is none as data only if what it loads are bounds of rows."""
        return load in self.signed or any(load in pair for pair in self.lengths)

    def lives(self) -> dict[str, str]:
        """Values from outside that any expression mentions: name → type, in order of appearance."""
        return _lives([*self.expressions(), *self.values.values()])

    def deciding(self) -> dict[str, str]:
        """Those of them that an address, a trip count or a branch mentions."""
        return _lives(self.expressions())

    def expressions(self) -> list[Expr]:
        found: list[Expr] = []
        for loop in self.loops.values():
            found += [loop.trip] if loop.trip is not None else []
            for condition in (loop.reach, *(taken for _, taken in loop.early)):
                found.extend(expr for term in literals(condition) for expr, _ in term)
        for site in self.sites:
            found.append(site.address)
            if site.length is not None:
                found.append(site.length)
            found.extend(expr for term in literals(site.reach) for expr, _ in term)
        return found

    @cached_property
    def pointers(self) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
        """Live pointers that its expressions mention, by name, and pointers that they load from one place each time."""
        lives: dict[str, None] = {}
        loads: dict[Expr, None] = {}
        for node in walk_all(self.expressions()):
            if node.kind == "live" and node.data[1] == "ptr":
                lives[str(node.data[0])] = None
            elif node.kind == "load" and node.data[1] == "ptr" and not node.has("counter"):
                loads[node] = None
        return tuple(lives), tuple(loads)

    @cached_property
    def mere_steps(self) -> frozenset[int]:
        """Ids of the expressions that are no more than a step on the way to one value: nothing else is made of them, no
        load has them as address, and no site, condition or trip count is one. O(expressions)."""
        roots = self.expressions()
        shared, seen = {id(root) for root in roots}, dict[int, bool]()
        for node in walk_all(roots):
            for argument in node.args:
                shared |= {id(argument)} if id(argument) in seen or node.kind == "load" else set()
                seen[id(argument)] = argument.kind in STEPS
        return frozenset(number for number, step in seen.items() if step and number not in shared)

    def inside(self, loop: int) -> set[int]:
        """Ids of `loop` and of every loop in it. O(loops in it)."""
        return {loop, *self._within.get(loop, ())}

    @cached_property
    def _within(self) -> dict[int, list[int]]:
        """Loop → every loop in it. O(loops · depth)."""
        found: dict[int, list[int]] = {}
        for number, info in self.loops.items():
            above = info.parent
            while above is not None:
                found.setdefault(above, []).append(number)
                above = self.loops[above].parent if above in self.loops else None
        return found

    def sites_in(self, loop: int) -> list[Site]:
        """Accesses in `loop`, inner loops included."""
        inside = self.inside(loop)
        return [site for site in self.sites if site.loop in inside]


def _lives(expressions: list[Expr]) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in walk_all(expressions):
        if node.kind == "live":
            found.setdefault(node.data[0], node.data[1])
    return found
