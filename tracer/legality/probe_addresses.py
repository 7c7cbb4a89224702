"""A few addresses of a site: enough to tell which object it lies in, since no access leaves its object; or the ends of
all walks, where the iterations of a loop walk through memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, rewritten, wrapped
from tracecut.ir.loops.nest import Nest, Site
from tracecut.tracer.loops.linear_forms import Linear

from .evaluation.evaluate import Evaluation
from .evaluation.few_iterations import few_values
from .evaluation.loaded_values import may_load
from .evaluation.masked_arithmetic import Bools
from .evaluation.memory import Object

Addresses = npt.NDArray[np.int64]
MOST = 1 << 62  # bytes of a walk, below which nothing wraps


def sample(evaluation: Evaluation, site: Site, form: Linear, mask: Bools | np.bool_) -> int | None:
    """An address that a site may touch in an iteration of those that `mask` picks, None when none is known."""
    domain = evaluation.domain(site.loop)
    if domain is None:
        return _first_sample(evaluation, site, form)
    mask = np.broadcast_to(mask, domain.size)
    few = np.arange(0, domain.size, max(1, domain.size // 64))
    found = _sample_at(evaluation, site, form, few, mask[few])
    if found is None or evaluation.memory.find(found) is None:
        usable = mask.copy()
        for atom in form.terms:
            usable &= np.broadcast_to(evaluation.at(atom, site.loop).known, domain.size) | (atom.kind == "counter")
        places = np.flatnonzero(usable)
        better = _sample_at(evaluation, site, form, places[:: max(1, places.size // 64)], np.bool_(True))
        found = better if better is not None else found
    return found


def ends_inside(evaluation: Evaluation, loop: int, form: Linear, item: Object) -> bool:
    """Whether an address lies in an object at both ends of every walk of an inner loop, and so all the way.

    `form`: of the address. False also where that does not follow from the numbers of the loop around it alone.
    O(entries of the loop).
    """
    ends = ends_of_walks(evaluation, loop, form)
    return ends is not None and all(item.base <= int(end.min()) and int(end.max()) < item.end for end in ends)


def ends_of_walks(evaluation: Evaluation, loop: int, form: Linear) -> tuple[Addresses, Addresses] | None:
    """An address in the first and in the last iteration of each entry of an inner loop that has one.

    None where that does not follow from the numbers of the loop around it alone. O(entries of the loop).
    """
    domain, parent = evaluation.domain(loop), evaluation.nest.loops[loop].parent
    outer = None if parent is None else evaluation.domain(parent)
    if domain is None or domain.counts is None or parent is None or outer is None or not domain.size:
        return None
    step, counts = 0, domain.in_each(outer.size)
    first = np.full(outer.size, wrapped(form.const), np.int64)
    for atom, factor in form.terms.items():
        if atom.kind == "counter" and atom.data[0] == loop:
            step = factor
            continue
        level, values = evaluation.evaluated(atom)
        above = level is None or level in evaluation.levels.above(parent)
        if not above or not values.all_known or values.data.dtype.kind not in "iu":
            return None
        first = first + wrapped(factor) * np.asarray(evaluation.at(atom, parent).data, np.int64)
    if abs(step) * int(counts.max()) >= MOST:
        return None
    busy = counts > 0
    return first[busy], (first + step * (counts - 1))[busy]


def bytes_read(evaluation: Evaluation, load: Expr, width: int) -> tuple[Object, int, int] | None:
    """(object, first byte, behind the last) of what a load may read, by all its addresses; None where not known."""
    memory, (level, values) = evaluation.memory, evaluation.evaluated(load.args[0])
    data = np.ravel(values.data)
    valid = values.known & may_load(evaluation, str(load.data[0]), level)
    if data.size > 1 and not np.all(valid):
        data = data[np.broadcast_to(valid, data.shape)]
    elif not np.any(valid):
        data = data[:0]
    item = memory.find(int(data[0])) if data.size else None
    if item is None:
        return None
    first, last = int(data.min()), int(data.max())
    if first < item.base or last + width > item.end:
        outside = (data < item.base) | (data + width > item.end)
        if outside.all() or memory.inside(data[outside]).any():
            return None
        data = data[~outside]
        first, last = int(data.min()), int(data.max())
    return item, first - item.base, last - item.base + width


def _first_sample(evaluation: Evaluation, site: Site, form: Linear) -> int | None:
    """The same where it is not known how often the site runs.

    The first iterations of the inner loops stand for all, since an access stays inside of its object.
    """
    loop, conditions = site.loop, [site.reach]
    while evaluation.domain(loop) is None:
        parent = evaluation.nest.loops[loop].parent
        if parent is None:
            return None
        conditions.append(evaluation.nest.loops[loop].reach)
        loop = parent
    domain = evaluation.domain(loop)
    assert domain is not None
    unknown = {number for number in evaluation.nest.loops if evaluation.domain(number) is None}
    form = _renamed(form, {atom: _at_start(atom, unknown, evaluation.nest) for atom in form.atoms()})
    total = np.full(domain.size, wrapped(form.const), np.int64)
    usable = np.ones(domain.size, bool)
    for condition in conditions:
        terms = (
            None
            if condition is None
            else [[(_at_start(e, unknown, evaluation.nest), w) for e, w in t] for t in condition]
        )
        usable &= evaluation.truth(None if terms is None else frozenset(map(frozenset, terms)), loop)
    numbers = {}
    for atom in form.atoms():
        found = evaluation.at(atom, loop)
        if atom.kind == "counter" and not found.all_known:
            continue
        if found.data.dtype.kind not in "iu":
            return None
        usable &= found.known
        numbers[atom] = np.broadcast_to(np.asarray(found.data, np.int64), domain.size)
        total = total + wrapped(form.terms.get(atom, 0)) * numbers[atom]
    if not usable.any():
        return None
    ranges = dict.fromkeys(form.atoms(), (0, 0))
    ranges |= {atom: (int(data[usable].min()), int(data[usable].max())) for atom, data in numbers.items()}
    if not form.holds(ranges):
        return None
    inside = total[usable & evaluation.memory.inside(total)]
    items = {evaluation.memory.find(int(address)) for address in (inside.min(), inside.max())} if inside.size else set()
    return int(inside[0]) if len(items) == 1 else None


def _sample_at(
    evaluation: Evaluation, site: Site, form: Linear, places: npt.NDArray[np.int64], mask: Bools | np.bool_
) -> int | None:
    """The address at one of some iterations, one that lies in an object if there is one."""
    usable = np.broadcast_to(mask, places.size).copy()
    total = np.full(places.size, wrapped(form.const), np.int64)
    for atom, factor in form.terms.items():
        found = few_values(evaluation, atom, site.loop, places)
        if atom.kind == "counter" and not found.all_known:
            continue
        if found.data.dtype.kind not in "iu":
            return None
        usable &= np.broadcast_to(found.known, places.size)
        total = total + wrapped(factor) * np.asarray(found.data, np.int64)
    addresses = [int(address) for address in total[usable]]
    inside = next((address for address in addresses if evaluation.memory.find(address) is not None), None)
    return inside if inside is not None else (addresses[0] if addresses else None)


def _at_start(expr: Expr, loops: set[int], nest: Nest) -> Expr:
    """What a value is in the first iteration of some loops. Their counters themselves stay."""
    zero = nest.pool.const(0)
    inner = lambda node: node.kind == "counter" and node.data[0] in loops and node is not expr  # noqa: E731
    return rewritten(expr, nest.pool, lambda node, made: zero if inner(node) else None)


def _renamed(form: Linear, names: Mapping[Expr, Expr]) -> Linear:
    """The form with other atoms in the places of its own."""
    terms: dict[Expr, int] = {}
    for atom, factor in form.terms.items():
        terms[names[atom]] = terms.get(names[atom], 0) + factor
    return Linear(form.const, terms, tuple((_renamed(inner, names), low, high) for inner, low, high in form.fits))
