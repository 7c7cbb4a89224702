"""Memory accesses of a nest on the numbers of a run: which object, which bytes, reached through which index.

`Accesses` resolves every site of a nest (one iteration of a layout scope, or all iterations of a region of its own)
to `Access` records: an object, a linear form over counters and loaded values, and the bytes it can touch. It also
finds out which loaded values may be trusted: those that nothing in the nest overwrites.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, pointer_roots, roams
from tracecut.ir.loops.nest import Nest, Site
from tracecut.tracer.loops.linear_forms import Forms, Linear, linear_form, part_of_records
from tracecut.tracer.loops.pointer_rotation import State, choices, substituted

from .base_objects import is_whole, object_of_base
from .evaluation.condition_values import condition_loads
from .evaluation.evaluate import Evaluation
from .evaluation.iteration_domains import counter_ranges
from .evaluation.masked_arithmetic import Bools, runs_inside
from .evaluation.memory import DTYPES, Memory, Object
from .probe_addresses import bytes_read, ends_inside, sample

NO_RANGE = (0, -1)


@dataclass(frozen=True, eq=False)
class Access:
    """One site, for one choice of its selects and merges.

    Attributes:
        site: where.
        object: the allocation it touches; None when it never runs or is not known.
        form: linear form of the address (absolute), None when it is not linear.
        low, high: bytes [low, high) of the object that it can touch; the whole object when not known better.
        exact: whether [low, high) is what it really covers at the ends (not just a bound).
        chosen: the choice of selects that makes this variant. state: the state of pointers that change places.
        runs: whether it can run at all.
        width: bytes that it touches each time, the same everywhere; 0 when that is not known.
    """

    site: Site
    object: Object | None
    form: Linear | None
    low: int
    high: int
    exact: bool
    chosen: Mapping[Expr, Expr]
    runs: bool = True
    width: int = 0
    state: State = field(default_factory=dict)

    @property
    def atoms(self) -> dict[Expr, int]:
        return dict(self.form.terms) if self.form is not None else {}

    def index(self) -> Expr | None:
        """The one loaded value in the address, None when there is none or more."""
        loads = [atom for atom in self.atoms if atom.kind == "load"]
        return loads[0] if len(loads) == 1 else None

    def overlaps(self, low: int, high: int) -> bool:
        return self.low < high and low < self.high


class Accesses:
    """Resolves the sites of a nest.

    Args:
        nest: the nest. memory: objects and their contents. lives: numbers of live values.
        single, steps, at_step: see `Evaluation`.
        use_data: evaluate branch conditions on floating-point data too (they then have to be guarded).
        limit: bytes that the evaluation may take, see `Evaluation.limit`.
    """

    def __init__(
        self,
        nest: Nest,
        memory: Memory,
        lives: Mapping[str, int | float],
        *,
        single: bool,
        use_data: bool = False,
        limit: int | None = None,
        steps: frozenset[int] = frozenset(),
        at_step: int | None = None,
    ) -> None:
        self.nest = nest
        self.memory = memory
        self.lives = lives
        self.single = single
        self.steps = steps | {nest.root} if single else steps
        self._forms = {masks: Forms(lives, masks=masks) for masks in (True, False)}
        data_loads = frozenset() if use_data else condition_loads(nest)
        self.distrusted: dict[str, str] = dict.fromkeys(data_loads, "is data, not an index")
        while True:
            self.evaluation = Evaluation(
                nest, memory, lives, single, frozenset(self.distrusted), limit=limit, steps=steps, at_step=at_step
            )
            for loop in nest.loops:  # before anybody asks what changes the loads of its exits; from outside to inside
                self.evaluation.stands_for_all(loop)
            self._masks: dict[int, Bools | np.bool_] = {}
            self.by_site = {site.key: list(self._resolve(site)) for site in nest.sites}
            writes = [access for access in self.all() if access.site.writes and access.runs]
            self._writes: dict[Object | None, list[Access]] = {None: writes}
            found = self._overwritten()
            if not found:
                break
            self.distrusted |= found
        self.steps |= self.evaluation.untold
        self.evaluation.doubts = self._doubts  # loads that were not looked at until now

    def all(self) -> Iterator[Access]:
        for accesses in self.by_site.values():
            yield from accesses

    def inside(self, loop: int) -> Iterator[Access]:
        """Accesses in a loop and the loops in it."""
        numbers = self.nest.inside(loop)
        for access in self.all():
            if access.site.loop in numbers:
                yield access

    def size(self, loop: int) -> int | None:
        """Iterations of a loop in all, None when not known."""
        domain = self.evaluation.domain(loop)
        return None if domain is None else domain.size

    def around(self, loop: int) -> int | None:
        """The loop around an inner one, apart from those of which one iteration stands for all."""
        parent = self.nest.loops[loop].parent
        while parent is not None and parent in self.evaluation.untold:
            parent = self.nest.loops[parent].parent
        return parent

    def mask(self, site: Site) -> Bools | np.bool_:
        """Iterations of the site's loop in which it may run."""
        key = id(site)
        if key not in self._masks:
            self._masks[key] = self.evaluation.truth(site.reach, site.loop)
        return self._masks[key]

    def values(self, atom: Expr, site: Site) -> tuple[npt.NDArray[Any], Bools]:
        """(values, valid) of an atom for each iteration of the site's loop in which the site may run."""
        found = self.evaluation.at(atom, site.loop)
        domain = self.evaluation.domain(site.loop)
        size = 0 if domain is None else domain.size
        data = np.broadcast_to(found.data, size)
        return data, np.broadcast_to(found.known & self.mask(site), size)

    def address(self, access: Access) -> Expr:
        """The address of an access, with the values that were chosen for it."""
        return substituted(access.site.address, access.chosen, self.nest.pool)

    def addresses(self, access: Access) -> tuple[npt.NDArray[np.int64], Bools] | None:
        """(addresses, runs) for each iteration of the access's loop, exact; None when some are not known.

        An address outside of the object is left out: reaching it would be undefined behaviour.
        """
        domain = self.evaluation.domain(access.site.loop)
        if domain is None or access.object is None or not access.width:
            return None
        found = self.evaluation.at(self.address(access), access.site.loop)
        mask = np.broadcast_to(self.mask(access.site) & self._picked(access.site, access.chosen), domain.size)
        known = np.broadcast_to(found.known, domain.size)
        data = np.broadcast_to(found.data, domain.size)
        runs, item = np.empty(domain.size, np.bool_), access.object
        told = runs_inside(data, known, mask, item.base, item.end - access.width, runs)
        return (data, runs) if told or np.all(known | ~mask | self._unreadable(access)) else None

    def _unreadable(self, access: Access) -> Bools:
        """Iterations in which an index of the address could not be loaded: they cannot run either."""
        domain = self.evaluation.domain(access.site.loop)
        size = 0 if domain is None else domain.size
        found = np.zeros(size, bool)
        for node in access.site.address.walk():
            if node.kind != "load" or node.data[0] in self.distrusted:
                continue
            address = self.evaluation.at(node.args[0], access.site.loop)
            value = self.evaluation.at(node, access.site.loop)
            found = found | np.broadcast_to(address.known & ~value.known, size)
        return found

    def _resolve(self, site: Site) -> Iterator[Access]:
        domain = self.evaluation.domain(site.loop)
        if site.apart or (domain is not None and (domain.size == 0 or not np.any(self.mask(site)))):
            yield Access(site, None, None, 0, 0, False, {}, runs=False)
            return
        for chosen, state in choices(site.address):
            picked = self._picked(site, chosen)  # reads what decides, so that `_overwritten` sees it
            null = chosen and all(
                root.is_null for root in pointer_roots(substituted(site.address, chosen, self.nest.pool))
            )
            if null or (domain is not None and not np.any(self.mask(site) & picked)):
                yield Access(site, None, None, 0, 0, False, chosen, runs=False, state=state)
                continue
            yield replace(self._one(site, chosen), width=self._length(site) or 0, state=state)

    def _one(self, site: Site, chosen: dict[Expr, Expr]) -> Access:
        self.evaluation.rely_on(site.address)
        unknown = Access(site, None, None, 0, 0, False, chosen)
        for masks in (True, False):  # where one takes bits away the form gives other addresses than the machine
            whole = linear_form(site.address, self.lives, chosen, masks=masks) if chosen else None
            form = self._with_bases(whole or self._forms[masks].of(site.address))
            found = {atom: self.range_of(atom, site) for atom in form.atoms()}
            if NO_RANGE in found.values():
                return replace(unknown, runs=False)
            ranges = {atom: span for atom, span in found.items() if span is not None}
            linear = len(ranges) == len(found) and form.holds(ranges)
            if linear:
                break
        start = sample(self.evaluation, site, form, self.mask(site) & self._picked(site, chosen))
        if start is None:
            item = object_of_base(self.evaluation, substituted(site.address, chosen, self.nest.pool))
            return unknown if item is None else Access(site, item, None, 0, item.size, False, chosen)
        item = self.memory.find(start)
        if item is None:
            return unknown
        length = self._length(site)
        if linear and length is not None:
            first, last = form.range(ranges)
            low, high = first - item.base, last - item.base + length
            exact = low >= 0 and high <= item.size
            if exact or self._stays(site, chosen, item, form):
                return Access(site, item, form, max(0, low), min(item.size, high), exact, chosen)
        elif self._stays(site, chosen, item):
            return Access(site, item, None, 0, item.size, False, chosen)
        return unknown

    def _with_bases(self, form: Linear) -> Linear:
        """The form with pointers that are loaded from one place (members of a structure) as the numbers they are.

        So is what a walk starts from, if it is loaded from one place: the first of all rows.
        """
        const, terms = form.const, dict(form.terms)
        walks = any(atom.kind == "counter" for atom in terms)
        for atom, factor in form.terms.items():
            if atom.kind == "load" and (walks or atom.data[1] == "ptr"):
                found = self.evaluation.alone(atom)
                if found is not None:
                    const += factor * found
                    del terms[atom]
        return replace(form, const=const, terms=terms)

    def _length(self, site: Site) -> int | None:
        """Bytes of one access, None when not known or not always the same."""
        if site.length is None:
            return site.size
        found = self.evaluation.at(site.length, site.loop)
        length = int(found.data) if found.data.ndim == 0 and found.all_known else -1
        return length if length >= 0 else None

    def _stays(self, site: Site, chosen: Mapping[Expr, Expr], item: Object, form: Linear | None = None) -> bool:
        """Whether no address of a site lies in another object than `item`.

        An address outside of all objects is computed but not accessed: a branch that is not understood prevents the
        access. Where pointers come from memory there is no such excuse. `form`: of the address, if it is linear.
        """
        address = substituted(site.address, chosen, self.nest.pool)
        domain = self.evaluation.domain(site.loop)
        if not is_whole(self.nest, address, item):
            return False
        if domain is None:
            return not address.has("any", "state", "choice")
        if form is not None and ends_inside(self.evaluation, site.loop, form, item):
            return True
        found = self.evaluation.at(address, site.loop)
        runs = np.broadcast_to(self.mask(site) & self._picked(site, chosen), domain.size)
        data, known = np.broadcast_to(found.data, domain.size), np.broadcast_to(found.known, domain.size)
        outside = runs & known & ((data < item.base) | (data >= item.end))
        if roams(address):
            return bool(np.all(known | ~runs)) and not outside.any()
        return not self.memory.inside(data[outside]).any()

    def _picked(self, site: Site, chosen: Mapping[Expr, Expr]) -> Bools | np.bool_:
        """Iterations in which the conditions may choose as `chosen` does."""
        may: Bools | np.bool_ = np.bool_(True)
        for node, arm in chosen.items():
            if node.kind == "choice" and node.args[1] is not node.args[2]:
                condition = self.evaluation.at(node.args[0], site.loop)
                may = may & (~condition.known | ((condition.data != 0) == (arm is node.args[1])))
        return may

    def range_of(self, atom: Expr, site: Site) -> tuple[int, int] | None:
        """Smallest and largest value of an atom where the site may run; NO_RANGE when it never does."""
        if np.ndim(self.mask(site)) == 0 and bool(self.mask(site)):
            simple = self.evaluation.extremes(atom, site.loop)
            if simple is not None:
                return simple
        found = self.evaluation.at(atom, site.loop)
        if atom.kind == "counter" and found.data.ndim and found.all_known:
            domain = self.evaluation.domain(atom.data[0])
            assert domain is not None
            return domain.numbers if domain.size else NO_RANGE
        if found.data.dtype.kind not in "iu":
            return None
        domain = self.evaluation.domain(site.loop)
        if domain is None:
            return None
        known = np.broadcast_to(found.known, domain.size)
        mask = np.broadcast_to(self.mask(site), domain.size)
        if not known.any():
            return None
        useful = known & mask
        if not useful.any():
            return NO_RANGE
        if atom.kind != "load" and not np.all(known | ~mask):
            return None
        data = np.broadcast_to(found.data, domain.size)
        if useful.all():
            return int(data.min()), int(data.max())
        return int(data[useful].min()), int(data[useful].max())

    def _overwritten(self) -> dict[str, str]:
        """Loads whose memory some site of the nest may write, of those that evaluation made use of."""
        found = dict.fromkeys(self.evaluation.hidden, "is loaded from memory that is not known")
        for name, node in self.evaluation.read.items():
            if np.any(self.evaluation.evaluated(node)[1].known):
                found[name] = found.get(name) or self._doubts(name, node)
        return {name: why for name, why in found.items() if why}

    def _doubts(self, name: str, node: Expr) -> str:
        """Why the values of a load cannot be trusted; empty when nothing in the nest may write there."""
        touched = self.touched(node)
        if touched is None or name in self.evaluation.hidden:
            return "is loaded from memory that is not known"
        item, low, high, step, width = touched
        for access in self._writes_to(item):
            if access.object is None:
                return f"may be overwritten at {access.site.place.told}, whose target is not known"
            if not access.overlaps(low, high):
                continue
            if not self.stays_beside(access, low, step, width) and not self._own_later(name, access):
                return f"is overwritten at {access.site.place.told}"
        return ""

    def _writes_to(self, item: Object) -> list[Access]:
        """Writes that run and may reach an object, in their order."""
        if item not in self._writes:
            self._writes[item] = [access for access in self._writes[None] if access.object in (None, item)]
        return self._writes[item]

    def _own_later(self, name: str, write: Access) -> bool:
        """Whether a load is over when a write gets to what it reads: each iteration writes its own element alone.

        Sites of one loop stand in an order in which an iteration cannot go back: what comes first runs first.
        """
        site, loads = write.site, [access for access in self.by_site.get(name, ()) if access.runs]
        if self.single or len(loads) != 1 or loads[0].site.loop != self.nest.root or site.loop != self.nest.root:
            return False
        read, form = loads[0], write.form
        if form is None or read.form is None or site.length is not None or site.size != read.site.size:
            return False
        own = self.nest.pool.counter(self.nest.root)
        if (form.const, form.terms) != (read.form.const, read.form.terms) or form.terms.keys() != {own}:
            return False
        return abs(form.terms[own]) >= site.size and self.nest.sites.index(read.site) < self.nest.sites.index(site)

    def touched(self, node: Expr) -> tuple[Object, int, int, int, int] | None:
        """(object, low, high, step, width) of the bytes that a load reads over the whole nest."""
        width = DTYPES[str(node.data[1])].itemsize
        form = self._forms[True].of(node.args[0])
        varying = ("counter", "opaque", "any", "state")  # all else is one number, like a pointer to the array
        terms = {atom: factor for atom, factor in form.terms.items() if atom.has(*varying)}
        span, step = self.evaluation.spans.get(str(node.data[0])), math.gcd(*terms.values())
        if span is not None:
            item, step = self.memory.find(span[0]), span[2]
            found = None if item is None or span[1] > item.end else (item, span[0] - item.base, span[1] - item.base)
        else:
            found = bytes_read(self.evaluation, node, width)
        if found is None:
            return None
        item, low, high = found
        read = low, high, step, width
        if step == width and terms == form.terms:
            ranges = counter_ranges(self.evaluation, terms)
            read = part_of_records(terms, ranges, form.const - item.base, read, item.size)
        return item, *read

    def stays_beside(self, access: Access, low: int, step: int, width: int) -> bool:
        """Whether an access stays in other fields of the records than a load `step` bytes apart."""
        if access.form is None or access.object is None or not access.width:
            return False
        shared = step
        for factor in access.form.terms.values():
            shared = int(np.gcd(shared, factor))
        if shared == 0:
            return False
        gap = (access.form.const - access.object.base - low) % shared
        return gap >= width and gap + access.width <= shared
