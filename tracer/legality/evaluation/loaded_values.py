"""What loads give: the bytes of the run's memory at the addresses of all iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, roams
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.loops.linear_forms import linear_form

from .iteration_domains import Domain, Levels, begins_of_pieces, is_even
from .masked_arithmetic import UNKNOWN, Bools, Values, widened
from .memory import DTYPES, Memory


class Loading(Protocol):
    """What knows the addresses of loads (`evaluate.Evaluation`)."""

    nest: Nest
    memory: Memory
    lives: Mapping[str, int | float]
    hidden: set[str]
    spans: dict[str, tuple[int, int, int]]
    levels: Levels

    def domain(self, loop: int) -> Domain | None: ...
    def evaluated(self, expr: Expr) -> tuple[int | None, Values]: ...
    def counted(self, loop: int) -> Values: ...
    def walk(self, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None: ...
    def may_load(self, name: str, level: int | None) -> Bools | np.bool_: ...


def loaded(asked: Loading, expr: Expr, level: int | None) -> Values:
    """Values of a load in all iterations of loop `level`; what lies in memory that cannot be read is `hidden`."""
    name, type = expr.data
    straight = asked.walk(name, expr.args[0], level, type)
    if straight is not None:
        return Values(widened(np.ascontiguousarray(straight), type), np.bool_(True))
    _, address = asked.evaluated(expr.args[0])
    if not np.any(address.known):
        return UNKNOWN
    addresses = np.atleast_1d(address.data)
    step = int(addresses[1]) - int(addresses[0]) if addresses.size > 1 else 0
    view = None
    if address.all_known and addresses.size and is_even(addresses, step):
        view = asked.memory.strided(int(addresses[0]), step, addresses.size, type)
    if view is not None:
        values, ok = np.ascontiguousarray(view), np.ones(addresses.shape, bool)
    else:
        values, ok = asked.memory.gather(addresses, type)
        missing = addresses[np.broadcast_to(address.known, addresses.shape) & ~ok & asked.may_load(name, level)]
        if missing.size and (roams(expr.args[0]) or asked.memory.inside(missing).any()):
            asked.hidden.add(name)
    data = widened(values, type)
    known = ok & address.known
    if address.data.ndim == 0:
        return Values(data[0], np.bool_(np.ravel(known)[0]))
    return Values(data, known)


def walked(asked: Loading, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None:
    """Loaded values where the address advances by a constant step over a whole domain, without its vector."""
    if level is None:
        return None
    form = linear_form(address, asked.lives)
    domain = asked.domain(level)
    counter = next((atom for atom in form.terms if atom.kind == "counter" and atom.data[0] == level), None)
    if counter is None or domain is None or domain.size == 0 or asked.counted(level) is UNKNOWN:
        return None
    if domain.counter[0]:  # a part of a loop's iterations, which does not begin with the first
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
        begins = _piece_starts(asked, rest[0], domain) if len(rest) == 1 and form.terms[rest[0]] == step else None
        if begins is None:
            return None
        ranges[rest[0]] = (int(begins.min()), int(begins.max()))
        start += step * int(begins[0])
    if not form.atoms() <= ranges.keys() or not form.holds(ranges):
        return None
    last = start + step * (domain.size - 1)
    asked.spans[name] = (min(start, last), max(start, last) + DTYPES[type].itemsize, abs(step))
    return asked.memory.strided(start, step, domain.size, type)


def _piece_starts(asked: Loading, atom: Expr, domain: Domain) -> npt.NDArray[np.int64] | None:
    """Values of a loaded start for every iteration that has a piece, when the pieces follow each other."""
    above = asked.nest.loops[domain.loop].parent
    if above is None or atom.kind != "load" or asked.levels.of(atom) != above or domain.parent is None:
        return None
    _, starts = asked.evaluated(atom)
    outer = asked.domain(above)
    assert outer is not None
    return begins_of_pieces(domain, starts, outer.size)
