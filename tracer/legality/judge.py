"""May the iterations of a region run in another order?

The verdict holds for the numbers it was made on. What it relied on (loads, live values) is what a schedule has to
guard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from tracecut.ir.llvm.debug_info import Place
from tracecut.ir.loops.nest import AccessKind, Put, Reduce, Repeat, Site
from tracecut.ir.loops.refusals import refusal
from tracecut.support import memory_amounts
from tracecut.tracer.loops.pointer_rotation import agree, split
from tracecut.tracer.loops.updates.reductions import FLOAT_OPERATORS

from .accesses import Access, Accesses
from .conflicts import READ, REDUCE, WRITE, Events, find_conflict
from .evaluation.memory import STACK, Object
from .lattices import lattice_of, meets

VERBS = {AccessKind.READ: "read", AccessKind.WRITE: "written", AccessKind.REDUCE: "updated"}
REPEATED = "the same update"  # among operators: of a place by several iterations, by which it does not matter
MAX_UPDATES = 6  # ways to update one array that are told apart
EVENT_BYTES = 8 * 3  # of one access in one iteration, while conflicts are counted: job, place, address


@dataclass(frozen=True)
class Verdict:
    """Class of a region and the evidence.

    Attributes:
        kind: `parallel`, `reduction`, `ordered` or `rejected`.
        reason: one sentence; for ordered and rejected, what prevents reordering.
        places: the source lines behind the reason (two for a dependence).
        rounding: whether another order may change results by rounding.
        operators: operators of the reductions.
    """

    kind: str
    reason: str
    places: tuple[Place, ...] = ()
    rounding: bool = False
    operators: tuple[str, ...] = ()

    @property
    def movable(self) -> bool:
        return self.kind in ("parallel", "reduction")


def judge(accesses: Accesses, region: int) -> Verdict:
    """Verdict for the iterations of loop `region`. O(accesses of the region to objects that it writes)."""
    nest = accesses.nest
    info = nest.loops[region]
    found = refusal(nest, region)
    if found is not None:
        return Verdict("ordered" if found.ordered else "rejected", f"the loop {found.says}", found.places)
    made_anew = [site.place for site in nest.sites_in(region) if site.apart]
    if made_anew:
        return Verdict("rejected", "it uses an array that is made anew around it, or in it", (made_anew[0],))
    if accesses.evaluation.whole(region) is None:
        return Verdict("rejected", f"the loop {info.why or 'has a trip count that is not known'}", info.evidence)
    operators = {carried.operator for carried in info.carried if carried.operator}
    inside = nest.inside(region)  # private to an iteration
    touched = [access for access in accesses.inside(region) if access.runs and access.site.private not in inside]
    written = [access for access in touched if access.site.writes]
    for access in written:
        if access.object is None:
            return Verdict("rejected", "it is not known which memory is written", (access.site.place,))
    objects = list(dict.fromkeys(access.object for access in written if access.object is not None))
    for access in touched:
        if access.object is None and objects:
            return Verdict(
                "rejected",
                "it is not known which memory is read, and another iteration may write it",
                (access.site.place, written[0].site.place),
            )
    for together in split(touched):
        for item in objects:
            mine = [access for access in together if access.object is item]
            if not any(access.site.writes for access in mine):
                continue
            verdict = _judge_object(accesses, region, item, mine)
            if not verdict.movable:
                return verdict
            operators |= set(verdict.operators)
    rounding = bool(operators & FLOAT_OPERATORS)
    if operators:
        return Verdict("reduction", _describe(operators), (info.place,), rounding, tuple(sorted(operators)))
    return Verdict("parallel", "no iteration writes what another one touches", (info.place,))


def _judge_object(accesses: Accesses, region: int, item: Object, touched: list[Access]) -> Verdict:
    if _own_records(touched, region):
        return Verdict("parallel", "")
    sites = {access.site.key: access.site for access in touched}.values()
    effects = [site.effect for site in sites]
    reductions = [effect for effect in effects if isinstance(effect, Reduce)]
    operators = {effect.operator for effect in reductions}
    if len(operators) == 1 and len(reductions) == len(effects):
        same = len({(site.type, site.size) for site in sites}) == 1
        if same and _aligned(accesses, touched) and not any(effect.between for effect in reductions):
            return Verdict("reduction", "", operators=tuple(operators))
    return _count_conflicts(accesses, region, item, touched)


def _own_records(touched: list[Access], region: int) -> bool:
    """Whether each iteration accesses a record of its own: one stride, no overlap."""
    stride: int | None = None
    lows, highs = [], []
    for access in touched:
        if access.form is None or not access.width:
            return False
        own = [
            (atom, factor)
            for atom, factor in access.form.terms.items()
            if atom.kind == "counter" and atom.data[0] == region
        ]
        if len(own) != 1:
            return False
        rest = {atom: factor for atom, factor in access.form.terms.items() if atom is not own[0][0]}
        if rest:  # inner counters would need their ranges here; the count below handles them
            return False
        if stride not in (None, own[0][1]):
            return False
        stride = own[0][1]
        lows.append(access.form.const)
        highs.append(access.form.const + access.width)
    return stride is not None and max(highs) - min(lows) <= abs(stride)


def _aligned(accesses: Accesses, touched: list[Access]) -> bool:
    """Whether all accesses lie on one lattice of whole elements, so that they cannot overlap in part.

    Which element it is need not be known, nor be the same the next time.
    """
    size = max(1, touched[0].site.size)
    starts = set()
    for access in touched:
        if access.form is not None:
            start, steps = access.form.const, set(access.form.terms.values())
        else:
            lattice = lattice_of(accesses.evaluation, accesses.address(access))
            start, steps = lattice.start, {lattice.step}
        if any(step % size for step in steps):
            return False
        starts.add(start % size)
    return len(starts) == 1


def _fit(accesses: Accesses, touched: list[Access]) -> bool:
    """Whether job and place of each access to one object, and what they are made of, fit in memory at a time."""
    needed = 0
    for access in touched:
        domain = accesses.evaluation.domain(access.site.loop)
        needed += 0 if domain is None else EVENT_BYTES * domain.size
        if domain is not None and not accesses.evaluation.room.fits(domain.loop, domain.size, needed):
            return False
    return True


def _count_conflicts(accesses: Accesses, region: int, item: Object, touched: list[Access]) -> Verdict:
    reducing = [access.site for access in touched if access.site.operator]
    operators = sorted({site.operator for site in reducing})
    updates = sorted({site.update for site in reducing})
    if len(updates) > MAX_UPDATES:
        return Verdict("rejected", "one array is reduced in many ways", (touched[0].site.place,))
    constants = sorted({access.site.update for access in touched if _puts(accesses, region, access)})
    updates += constants[: MAX_UPDATES - len(updates)]  # a store of a constant may come twice, in any order
    broken = _broken_reductions(accesses, touched)
    repeated = _repeated(accesses, region, touched, broken)
    updates += sorted(set(repeated.values()))[: MAX_UPDATES - len(updates)]
    bits = {update: REDUCE << place for place, update in enumerate(updates)}
    whole: dict[tuple[str, str], set[int]] = {}  # offsets modulo the size of an element
    if not _fit(accesses, touched):
        return Verdict("rejected", "its accesses need more memory than is allowed", (touched[0].site.place,))
    events: list[Events] = []
    sites: list[Site] = []  # of the events
    unknown: list[Access] = []
    for access in touched:
        site = access.site
        update = repeated.get(site.key, site.update)
        kind = bits.get(update, WRITE) if site.writes else bits.get(update, READ)
        if site.key in broken:
            kind = READ | WRITE
        found = accesses.addresses(access)
        if found is None and kind == READ and access.width:
            unknown.append(access)
            continue
        if found is None:
            what = "it is not known which element is " + ("written" if site.writes else "read")
            return Verdict("rejected", what + _because(accesses, access), _with_writes(site, touched))
        addresses, runs = found
        jobs = accesses.evaluation.jobs(site.loop, region)
        if not runs.all():
            addresses, jobs = addresses[runs], jobs[runs]
        offsets = np.ascontiguousarray(addresses - item.base)
        if site.writes:
            found_at = np.bincount(offsets % access.width, minlength=1)
            whole.setdefault(update, set()).update(np.flatnonzero(found_at).tolist())
        events.append(Events(jobs, offsets, access.width, kind))
        sites.append(site)
    for access in unknown:
        lattice = lattice_of(accesses.evaluation, accesses.address(access))
        if any(
            meets(lattice, access.width, item.base + event.offsets, event.width)
            for event in events
            if event.kind != READ
        ):
            places = _with_writes(access.site, touched)
            what = "it is not known which element is read" + _because(accesses, access)
            return Verdict("rejected", what, places)
    torn = {bits[update] for update, found in whole.items() if len(found) > 1 and update in bits}
    events = [
        replace(event, kind=READ | WRITE if site.writes else READ) if event.kind in torn else event
        for event, site in zip(events, sites, strict=True)
    ]
    conflict = find_conflict(events, item.size)
    if repeated:  # what each of them is by itself
        often = {bits[update] for update in repeated.values() if update in bits}
        plain = [
            replace(event, kind=WRITE if site.writes else READ) if event.kind in often else event
            for event, site in zip(events, sites, strict=True)
        ]
        met = find_conflict(plain, item.size)
        operators += [REPEATED] if met is not None else []
        conflict = None if conflict is None else met
    if conflict is not None:
        first, second = (sites[place] for place in conflict.events)
        what = f"iterations {conflict.jobs[0]} and {conflict.jobs[1]} both touch {_name(item)}, byte {conflict.offset}"
        verbs = " and ".join(VERBS[site.kind] for site in (first, second))
        return Verdict("ordered", f"{what}: {verbs}", (first.place, second.place))
    return Verdict("reduction" if operators else "parallel", "", operators=tuple(operators))


def _repeated(accesses: Accesses, region: int, touched: list[Access], broken: set[str]) -> dict[str, tuple[str, str]]:
    """Load and store of each update that does the same in all iterations of a region → which update it is."""
    found: dict[str, tuple[str, str]] = {}
    for access in touched:
        effect = access.site.effect
        if not isinstance(effect, Repeat) or access.site.key in broken or effect.loop not in accesses.nest.loops:
            continue
        if region in accesses.nest.inside(effect.loop):
            found[access.site.key] = found[effect.load] = access.site.update
    return found


def _because(accesses: Accesses, access: Access) -> str:
    """What of an address is not known, in words that follow the statement; empty where it is the loop's own doing."""
    places = {site.key: site.place.told for site in accesses.nest.sites}
    for node in access.site.address.walk():
        name = str(node.data[0]) if node.data else ""
        if node.kind == "load" and name in accesses.distrusted and name in places:
            return f": its index, read at {places[name]}, {accesses.distrusted[name]}"
        if node.kind == "opaque":
            return f": its index is {name}" if name.startswith(("a value", "carried")) else ""
    return ""


def _with_writes(site: Site, touched: list[Access]) -> tuple[Place, ...]:
    return (site.place, *(other.site.place for other in touched if other.site.writes))


def _puts(accesses: Accesses, region: int, access: Access) -> bool:
    """Whether a store leaves the same value in a place however often it is executed: see `Put`.

    The address has to be an injective function of the index, and nothing may overwrite what the value is loaded from.
    """
    effect = access.site.effect
    if not isinstance(effect, Put):
        return False
    if effect.loads is None:
        return True
    if access.form is None or [atom.kind for atom in access.form.terms] != ["load"]:
        return False
    writes = [other for other in accesses.inside(region) if other.runs and other.site.writes]
    reads = [read for name in effect.loads for read in accesses.by_site.get(name, ()) if read.runs]
    if len({read.site.key for read in reads}) != len(effect.loads) or any(read.object is None for read in reads):
        return False
    return not any(
        other.object is None
        or (
            other.object is read.object
            and other.overlaps(read.low, read.high)
            and not _in_other_fields(accesses, other, read)
        )
        for read in reads
        for other in writes
    )


def _in_other_fields(accesses: Accesses, write: Access, read: Access) -> bool:
    """Whether what is written and what is read are fields of the same records that do not overlap."""
    if read.form is None or read.object is None or not read.width:
        return False
    step = math.gcd(*read.form.terms.values())
    return accesses.stays_beside(write, read.form.const - read.object.base, step, read.width)


def _broken_reductions(accesses: Accesses, touched: list[Access]) -> set[str]:
    """Updates with a store in between that, in some iteration, goes to the very address."""
    broken = set()
    for access in touched:
        for key in access.site.between:
            for other in accesses.by_site.get(key, []):
                if not other.runs or not agree(other.state, access.state):
                    continue
                if other.object is not None and other.object is not access.object:
                    continue
                mine, theirs = accesses.addresses(access), accesses.addresses(other)
                if mine is None or theirs is None or other.site.loop != access.site.loop:
                    broken.add(access.site.key)
                    continue
                gap = theirs[0] - mine[0]
                both = mine[1] & theirs[1]
                if np.any(both & (gap < access.width) & (gap > -other.width)):
                    broken.add(access.site.key)
    return broken


def _describe(operators: set[str]) -> str:
    return f"iterations meet only in reductions ({', '.join(sorted(operators))})"


def _name(item: Object) -> str:
    if item.name and item.kind != STACK:
        return item.name
    # What lies on the stack has only the name that the compiler gave it.
    what = "a local variable" if item.kind == STACK else "the allocation"
    return f"{what} of {memory_amounts.size(item.size)}"
