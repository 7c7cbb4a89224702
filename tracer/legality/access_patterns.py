"""Arrays: which bytes of an object are records of one kind, and by what number each access picks its record.

An access is a linear form; its *major* atom picks the record, the other counters move inside of it. Accesses of
one object whose bytes overlap belong to one array; the array's stride is the step of its majors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Site
from tracecut.tracer.loops.pointer_rotation import State

from .accesses import Access, Accesses
from .evaluation.memory import Object

MAX_OFFSETS = 64
ALONE = "it is accessed at fixed places only"
INDIRECT, DIRECT, SEGMENT, SCALAR, RANGE, OTHER = "indirect", "direct", "segment", "scalar", "range", "other"
LOOKUP = "lookup"


@dataclass(frozen=True, eq=False)
class Pattern:
    """How one access picks its record.

    Attributes:
        kind: INDIRECT (by a loaded value), DIRECT (by a counter), SEGMENT (by a loaded start plus the counter of the
            inner loop over it), SCALAR (one fixed place), RANGE (a block of bytes), OTHER, or LOOKUP (by the program's
            own number, however that is made: where the record lies is looked up each time).
        major: the loaded value or the counter. `inner`: the counter of a SEGMENT.
        step: bytes from one number to the next (negative for a counter that runs down). Of a loop that is unrolled by
            hand numbers are those of the loop that it was made from, one for each part of an iteration.
        first: byte offset in the object of record number 0 of the major, least inner position.
        extent: bytes that one record's accesses span.
        offsets: where in the record they lie, relative to `first`; empty when there are too many to list.
        why: of a LOOKUP, what keeps it from being reached by new numbers.
        within: of a part of a RANGE, where in the whole block it begins, in bytes.
    """

    access: Access
    kind: str
    major: Expr | None = None
    inner: Expr | None = None
    step: int = 0
    first: int = 0
    extent: int = 0
    offsets: tuple[int, ...] = ()
    why: str = ""
    within: int = 0

    @property
    def state(self) -> State:
        return self.access.state


@dataclass(eq=False)
class Array:
    """Records of one kind in one object.

    Attributes:
        object: the allocation. `origin`: byte offset of record 0. `stride`: bytes of a record; 0: no record
            structure was found, and `why` says why.
        patterns: every access to its bytes.
        low, high: bytes that are touched.
        numbers: see `record`. fine: loops that walk it in a fraction of a record's step, pattern → (steps a record,
            step that the counter 0 stands for, counted from the origin).
    """

    object: Object
    patterns: list[Pattern]
    low: int
    high: int
    origin: int = 0
    stride: int = 0
    why: str = ""
    numbers: dict[Pattern, int] = field(default_factory=dict)
    fine: dict[Pattern, tuple[int, int]] = field(default_factory=dict)

    def record(self, pattern: Pattern) -> int:
        """Record that the pattern picks when its major is 0; not of fine ones."""
        return self.numbers[pattern]

    def take_records(self, stride: int, origin: int) -> bool:
        """Records of another array, of one that is copied as blocks alone; whether they fit into the object."""
        self.stride, self.origin = stride, origin
        fits = self.capacity[0] <= self.touched[0] and self.touched[1] <= self.capacity[1]
        if fits:
            self.why = ""
        else:
            self.stride = self.origin = 0
        return fits

    @property
    def written(self) -> bool:
        return any(pattern.access.site.writes for pattern in self.patterns)

    @property
    def capacity(self) -> tuple[int, int]:
        """Records [low, high) that lie in the object as a whole."""
        return -(self.origin // self.stride), (self.object.size - self.origin) // self.stride

    @property
    def touched(self) -> tuple[int, int]:
        """Records [low, high) that the touched bytes belong to."""
        return (self.low - self.origin) // self.stride, -((self.origin - self.high) // self.stride)

    @property
    def span(self) -> tuple[int, int]:
        """Bytes [low, high) of those records as a whole."""
        if not self.stride:
            return self.low, self.high
        first, last = self.touched
        return self.origin + self.stride * first, self.origin + self.stride * last


def find_pattern(accesses: Accesses, access: Access, regions: Iterable[int], unrolled: Collection[int] = ()) -> Pattern:
    """Pattern of an access.

    `regions` are the loops that will be rescheduled as a whole, `unrolled` those whose iterations count as their parts.
    """
    form, item, site = access.form, access.object, access.site
    if item is None or form is None:
        return Pattern(access, OTHER)
    if site.length is not None and not form.terms:
        return Pattern(access, RANGE, first=form.const - item.base, extent=access.high - access.low)
    if not access.width:
        return Pattern(access, OTHER)
    nest = accesses.nest
    loads = [atom for atom in form.terms if atom.kind == "load"]
    counters = [atom for atom in form.terms if atom.kind in ("counter", "left")]
    if len(loads) + len(counters) != len(form.terms) or len(loads) > 1:
        return Pattern(access, OTHER)
    if any((atom.args[0] if atom.args else atom).data[0] in accesses.steps for atom in counters):
        return Pattern(access, OTHER)  # the place changes from one iteration of the scope to the next
    if not form.terms:
        return Pattern(access, SCALAR, first=form.const - item.base, extent=access.width)
    region = next((loop for loop in regions if site.loop in nest.inside(loop)), None)
    inner: Expr | None = None
    if loads:
        kind, major = INDIRECT, loads[0]
        same = [atom for atom in counters if form.terms[atom] == form.terms[major]]
        if same:
            kind, inner = SEGMENT, same[0]
            counters.remove(inner)
        if any(atom.data[0] == region for atom in counters):
            return Pattern(access, OTHER)
    else:
        kind = DIRECT
        own = [atom for atom in counters if atom.kind == "counter" and atom.data[0] == region]
        major = own[0] if own else max(counters, key=lambda atom: (abs(form.terms[atom]), -atom.serial))
        if major.kind == "left":
            return Pattern(access, OTHER)
        counters.remove(major)
    offsets = {0}
    low = high = 0
    for atom in counters:
        span = _counter_range(accesses, site, atom)
        if span is None:
            return Pattern(access, OTHER)
        step = form.terms[atom]
        low += min(step * span[0], step * span[1])
        high += max(step * span[0], step * span[1])
        if (span[1] - span[0] + 1) * len(offsets) <= MAX_OFFSETS:
            offsets = {offset + step * number for offset in offsets for number in range(span[0], span[1] + 1)}
        else:
            offsets = set()
    first, step = form.const - item.base + low, form.terms[major]
    inside = tuple(sorted(offset - low for offset in offsets))
    if kind == DIRECT and major.data[0] in unrolled:
        info = nest.loops[major.data[0]]
        step //= info.unrolled
        first -= step * info.parts.get(site.key, 0)
    return Pattern(access, kind, major, inner, step, first, high - low + access.width, inside)


def find_arrays(patterns: Iterable[Pattern], fine: Callable[[Pattern], bool] = lambda pattern: False) -> list[Array]:
    """Group patterns by object and overlapping bytes, and find each group's record structure.

    `fine`: which patterns may walk an array in steps that are a fraction of a record.
    """
    by_object: dict[Object, list[Pattern]] = {}
    lookups: dict[Object, list[Pattern]] = {}
    for pattern in patterns:
        if pattern.access.object is not None and pattern.access.runs:
            of = lookups if pattern.kind == LOOKUP else by_object
            of.setdefault(pattern.access.object, []).append(pattern)
    arrays = []
    for item, members in by_object.items():
        members.sort(key=lambda pattern: (pattern.access.low, pattern.access.high))
        found: list[Array] = []
        for pattern in members:
            found.append(_array(item, [pattern], fine))
            while len(found) > 1 and found[-2].span[1] > found[-1].span[0]:
                last = found.pop()
                found[-1] = _array(item, [*found[-1].patterns, *last.patterns], fine)
        arrays += found + _add_lookups(item, found, lookups.pop(item, ()))
    return arrays + [array for item, members in lookups.items() for array in _add_lookups(item, (), members)]


def _add_lookups(item: Object, arrays: Sequence[Array], lookups: Iterable[Pattern]) -> list[Array]:
    """Give arrays of one object the lookups that may reach them, which say nothing of their records.

    Returns arrays of what nothing else reaches.
    """
    alone = []
    for pattern in lookups:
        reached = [array for array in arrays if pattern.access.overlaps(*array.span)]
        for array in reached:
            array.patterns.append(replace(pattern))
        if not reached:
            alone.append(Array(item, [pattern], pattern.access.low, pattern.access.high, why=ALONE))
    return alone


def _array(item: Object, patterns: list[Pattern], fine: Callable[[Pattern], bool]) -> Array:
    low = min(pattern.access.low for pattern in patterns)
    high = max(pattern.access.high for pattern in patterns)
    array = Array(item, patterns, low, high)
    stepping = [pattern for pattern in patterns if pattern.kind in (INDIRECT, DIRECT, SEGMENT)]
    strides = {abs(pattern.step) for pattern in stepping}
    odd = [pattern for pattern in patterns if pattern.kind == OTHER]
    if odd:
        array.why = f"the access at {odd[0].access.site.place} is not understood"
        return array
    if not strides:
        array.why = ALONE
        return array
    stride = max(strides)
    small = [pattern for pattern in stepping if abs(pattern.step) < stride]
    if any(
        pattern.step <= 0 or stride % pattern.step or pattern.kind != DIRECT or not fine(pattern) for pattern in small
    ):
        array.why = "it is accessed with different strides"
        return array
    stepping = [pattern for pattern in stepping if abs(pattern.step) == stride]
    residues = {pattern.first % stride for pattern in stepping}
    array.why = "its accesses cross the border of a record"
    for origin in sorted({0, *residues}):  # records may begin with fields that nothing touches
        fields = [(pattern.first - origin) % stride + pattern.extent for pattern in stepping]
        fields += [
            stride - pattern.step + (pattern.first - origin) % pattern.step + pattern.extent for pattern in small
        ]
        if max(fields) > stride:
            continue
        array.origin, array.stride = origin, stride
        array.numbers = {pattern: (pattern.first - origin) // stride for pattern in stepping}
        array.fine = {pattern: (stride // pattern.step, (pattern.first - origin) // pattern.step) for pattern in small}
        if array.capacity[0] <= array.touched[0] and array.touched[1] <= array.capacity[1]:
            array.why = ""
            return array
        array.stride, array.why = 0, "its last record exceeds the object"
    return array


def _counter_range(accesses: Accesses, site: Site, atom: Expr) -> tuple[int, int] | None:
    if atom.kind == "left":
        return accesses.range_of(atom, site)
    domain = accesses.evaluation.domain(atom.data[0])
    if domain is None:
        return None
    return domain.numbers
