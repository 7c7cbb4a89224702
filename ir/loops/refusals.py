"""What keeps the iterations of a loop in their order, as far as its description says: the one reading of its records.

Legality on a run's addresses, layout scopes, order-free loops and GPU kernels all ask here. A rule is a function that
is listed in `RULES`; its words stand behind "the loop".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracecut.ir.llvm.debug_info import Place

from .expressions import Expr
from .nest import Nest, ObstacleKind, Read, Site, ValueKind, Write
from .path_conditions import NEVER, literals


@dataclass(frozen=True)
class Refusal:
    """Why the iterations of a loop cannot run in another order.

    Attributes:
        says: what the loop does, to stand behind "the loop".
        places: the source lines behind it.
        ordered: the order of the iterations decides the result; else it is not known whether it does.
    """

    says: str
    places: tuple[Place, ...]
    ordered: bool = False


Rule = Callable[[Nest, int], Iterator[Refusal]]


def carried_values(nest: Nest, loop: int) -> Iterator[Refusal]:
    """Values that an iteration takes over from the one before, reductions left out."""
    info = nest.loops[loop]
    for carried in info.carried:
        if carried.kind is ValueKind.DELAYED:
            yield Refusal("carries a loaded value to its next iteration", (info.place, carried.place))
        elif carried.kind is ValueKind.OTHER:
            yield Refusal("carries a value across iterations", (info.place, carried.place), ordered=True)


def _last_values(nest: Nest, loop: int) -> Iterator[Refusal]:
    info = nest.loops[loop]
    if any(result.kind in (ValueKind.DELAYED, ValueKind.OTHER) for result in info.results):
        yield Refusal("leaves a value of its last iteration to later code", (info.place,), ordered=True)


def obstacles(nest: Nest, loop: int) -> Iterator[Refusal]:
    """Calls, atomic operations and the like in a loop, inner loops left out."""
    for obstacle in nest.loops[loop].obstacles:
        yield Refusal(f"contains {obstacle.reason}", (obstacle.place,))


def _inner_obstacles(nest: Nest, loop: int) -> Iterator[Refusal]:
    for number in sorted(nest.inside(loop) - {loop}):
        yield from obstacles(nest, number)


def carried_in_memory(nest: Nest, loop: int) -> Iterator[Refusal]:
    """Fixed places that each iteration reads and then writes, reductions left out: the state of a random generator.

    It is so in every iteration, whatever the numbers of a run are.
    """
    within = nest.inside(loop)
    read: set[tuple[int, Expr, str]] = set()
    written: set[tuple[int, Expr]] = set()
    for site in nest.sites_in(loop):
        place = site.loop, site.address
        if site.apart or site.private in within or not _is_fixed(site.address, within):
            continue
        if isinstance(site.effect, Read) and site.length is None and place not in written:
            read |= {(*place, site.type)} if _is_certain(nest, site, loop) else set()
        elif site.writes:
            written.add(place)
            if type(site.effect) is Write and (*place, site.type) in read and _is_certain(nest, site, loop):
                says = "takes over from its last iteration what that left in memory"
                yield Refusal(says, (nest.loops[loop].place, site.place), ordered=True)
                return


def _is_fixed(expr: Expr, within: set[int], *kinds: str) -> bool:
    """Whether a value is the same in all iterations of some loops, as far as its text says."""
    if expr.has("opaque", "any", "state", "choice", *kinds):
        return False
    return not any(node.kind == "counter" and node.data[0] in within for node in expr.walk())


def _is_certain(nest: Nest, site: Site, loop: int) -> bool:
    """Whether an access runs in every iteration of a loop, if in any."""
    within, conditions, current = nest.inside(loop), [site.reach], site.loop
    while current != loop:
        conditions.append(nest.loops[current].reach)
        current = nest.loops[current].parent or loop
    asked = [expr for condition in conditions for term in literals(condition) for expr, _ in term]
    return NEVER not in conditions and None not in conditions and all(_is_fixed(x, within, "load") for x in asked)


RULES: list[Rule] = [obstacles, carried_values, _last_values, carried_in_memory, _inner_obstacles]


def refusals(nest: Nest, loop: int) -> Iterator[Refusal]:
    """Everything that keeps the iterations of `loop` in their order, by rule."""
    for rule in RULES:
        yield from rule(nest, loop)


def refusal(nest: Nest, loop: int) -> Refusal | None:
    """The first of them, None when there is none."""
    return next(refusals(nest, loop), None)


def scope_refusal(nest: Nest) -> Refusal | None:
    """Why data cannot be moved while the root of a nest runs: something in it may touch any memory."""
    for info in nest.loops.values():
        for obstacle in info.obstacles:
            if obstacle.kind in (ObstacleKind.UNKNOWN, ObstacleKind.MEMORY):
                return Refusal(f"contains {obstacle.reason}", (obstacle.place,))
    return None
