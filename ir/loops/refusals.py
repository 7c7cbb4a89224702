"""What keeps the iterations of a loop in their order, as far as its description says: the one reading of its records.

Legality on a run's addresses, layout scopes, order-free loops and GPU kernels all ask here. A rule is a function that
is listed in `RULES`; its words stand behind "the loop".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracecut.ir.llvm.debug_info import Place

from .nest import Nest, ObstacleKind, ValueKind


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


RULES: list[Rule] = [obstacles, carried_values, _last_values, _inner_obstacles]


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
