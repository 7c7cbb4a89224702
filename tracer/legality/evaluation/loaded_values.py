"""What loads give: the bytes of the run's memory at the addresses of all iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, roams, wrapped
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.path_conditions import Condition
from tracecut.tracer.loops.linear_forms import Linear, linear_form

from .elements import load_pieces, whole
from .iteration_domains import Domain, Levels, is_even
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
    def uncounted(self, loop: int) -> bool: ...
    def spread(self, values: Values, level: int | None, loop: int) -> Values: ...
    def walk(self, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None: ...
    def truth(self, condition: Condition, loop: int) -> Bools | np.bool_: ...


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
        missing = addresses[np.broadcast_to(address.known, addresses.shape) & ~ok & may_load(asked, name, level)]
        if missing.size and (roams(expr.args[0]) or asked.memory.inside(missing).any()):
            asked.hidden.add(name)
    data = widened(values, type)
    known = ok & address.known
    if address.data.ndim == 0:
        return Values(data[0], np.bool_(np.ravel(known)[0]))
    return Values(data, known)


def may_load(asked: Loading, name: str, level: int | None) -> Bools | np.bool_:
    """Iterations of loop `level` in which a load may run, as far as that is known."""
    site = next((site for site in asked.nest.sites if site.key == name), None)
    if site is None or level is None or site.loop != level:
        return np.bool_(True)
    return asked.truth(site.reach, level)


def walked(asked: Loading, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None:
    """Loaded values where the address advances by a constant step in a loop, without a vector of addresses: over a
    whole domain, or in each entry of an inner loop from a start of its own."""
    if level is None:
        return None
    form = linear_form(address, asked.lives)
    domain = asked.domain(level)
    counter = next((atom for atom in form.terms if atom.kind == "counter" and atom.data[0] == level), None)
    if counter is None or domain is None or domain.size == 0 or asked.uncounted(level):
        return None
    low, longest = domain.numbers
    if low:  # a part of a loop's iterations, which does not begin with the first
        return None
    if form.atoms() != {counter}:
        return _in_pieces(asked, name, form, counter, domain, type)
    if longest + 1 != domain.size or not form.holds({counter: (0, longest)}):
        return None
    return _strided(asked, name, form.const, form.terms[counter], domain.size, type)


def _strided(asked: Loading, name: str, start: int, step: int, count: int, type: str) -> npt.NDArray[Any] | None:
    last = start + step * (count - 1)
    asked.spans[name] = (min(start, last), max(start, last) + DTYPES[type].itemsize, abs(step))
    return asked.memory.strided(start, step, count, type)


def _in_pieces(
    asked: Loading, name: str, form: Linear, counter: Expr, domain: Domain, type: str
) -> npt.NDArray[Any] | None:
    """The same where each entry of an inner loop walks from a start of its own, all in one object."""
    above = asked.nest.loops[domain.loop].parent
    outer = None if above is None else asked.domain(above)
    if above is None or outer is None or domain.counts is None:
        return None
    ranges, busy = {counter: domain.numbers}, domain.counts > 0
    starts = np.full(outer.size, wrapped(form.const), np.int64)
    for atom in form.atoms() - {counter}:
        level, found = asked.evaluated(atom)
        if level is not None and level not in asked.levels.above(above):
            return None
        values = asked.spread(found, level, above)
        if not np.all(values.known | ~busy) or values.data.dtype.kind not in "iu":
            return None
        numbers = np.broadcast_to(values.data, outer.size)[busy]
        ranges[atom] = int(numbers.min()), int(numbers.max())
        starts += wrapped(form.terms.get(atom, 0)) * np.asarray(values.data, np.int64)
    if not form.holds(ranges):
        return None
    step, width = form.terms[counter], DTYPES[type].itemsize
    first, counts = starts[busy], domain.counts[busy]
    if np.array_equal(first[1:], first[:-1] + step * counts[:-1]):  # one piece behind the other
        return _strided(asked, name, int(first[0]), step, domain.size, type)
    last = first + step * (counts - 1)
    low, high = min(int(first.min()), int(last.min())), max(int(first.max()), int(last.max())) + width
    item = asked.memory.find(low)
    data = None if item is None else asked.memory.bytes_of(item)
    if item is None or data is None or high > item.end or step % width or np.any((first - item.base) % width):
        return None
    asked.spans[name] = low, high, math.gcd(*form.terms.values())
    elements = whole(data, DTYPES[type])
    return load_pieces(elements, (first - item.base) // width, counts, step // width)
