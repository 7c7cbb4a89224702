"""Running a region on a captured memory: the original order as the reference, any schedule beside it.

The capture is loaded into this process once; every run starts from the same bytes. Results are compared exactly,
or norm-wise where a reduction may round differently.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.array_errors import array_error, block_error
from tracecut.codegen.schedule.guards.make_guard import loaded_root
from tracecut.codegen.schedule.plan.range_function import Group, Outlined
from tracecut.codegen.schedule.schedule import Blocks, Guard, RegionSchedule, Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.support.tolerances import SUM
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import DTYPES, STACK, Object
from tracecut.tracer.legality.row_image import RowImage
from tracecut.tracer.loops.row_numbers import is_number
from tracecut.tracer.runtime.binding import Native
from tracecut.tracer.runtime.hook_slots import decode

from .executor import Executor, RegionCode

ORIGINAL = "original"


@dataclass(frozen=True)
class Comparison:
    """Results of a run against the reference.

    `errors`: where they are not equal in every bit, the largest norm-wise error of any array by the type it is written
    as, and of sums by `SUM` and their type; infinite for what may not differ at all. `worst`: where the largest is.
    """

    bit_equal: bool
    errors: Mapping[str, float] = field(default_factory=dict)
    worst: str = ""

    @property
    def max_rel_error(self) -> float:
        """The largest error of any type."""
        return max(self.errors.values(), default=0.0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a region left behind: bytes of each object that it writes, and its reductions."""

    objects: dict[int, npt.NDArray[np.uint8]]
    results: tuple[int, ...]
    types: tuple[str, ...]


class CapturedRegion:
    """A captured region in this process: its memory, and what its code is given.

    Args:
        capture: the memory. accesses: of the scope, on that memory. region: loop id.
        outlined: its range function.
        values: (name, type) of what the region's hook reported. inits: start values of its reductions by phi.
        addresses: whole numbers that are addresses, name → the pointer that each is made of.
        moved: objects that schedules permute in place; None: any may be. What is neither permuted nor written is read
            where the capture has it, all else in a copy.
    """

    def __init__(
        self,
        capture: Capture,
        accesses: Accesses,
        region: int,
        outlined: Outlined,
        values: Sequence[tuple[str, str]],
        inits: Mapping[str, str],
        addresses: Mapping[str, str],
        moved: Collection[Object] | None = None,
    ) -> None:
        self.accesses = accesses
        self.region = region
        self.outlined = outlined
        self.pristine = capture.memory
        fixed = self._fixed(moved)
        contents = capture.memory.contents.items()
        self.buffers = {base: data if base in fixed else data.copy() for base, data in contents}
        self.raw = dict(zip([name for name, _ in values], capture.values[region], strict=True))
        self.types = dict(values)
        self.inits = dict(inits)
        self.addresses = dict(addresses)
        self.written = list(
            dict.fromkeys(
                access.object
                for access in accesses.inside(region)
                if access.runs and access.site.writes and access.object is not None and self._is_shared(access)
            )
        )
        self._check_captured()
        self.numbered = {group.id for group in outlined.groups if is_number(group.sites[0])}  # of row pointers
        self.tables = {copy: table for table, copy in accesses.memory.rows.numbers.items()}
        self.homes = self._homes()
        self.given = self._slots()

    def _fixed(self, moved: Collection[Object] | None) -> set[int]:
        """Bases of the objects that nothing writes here."""
        mine = list(self.accesses.inside(self.region))
        written = {access.object for access in mine if access.site.writes}
        if moved is None or None in written:
            return set()
        read, rows = {access.object for access in mine} - written - set(moved), self.accesses.memory.rows
        return {item.base for item in read if item is not None and item not in rows}

    def restore(self) -> None:
        """Put the captured bytes back."""
        for item in self.written:
            data = self.pristine.bytes_of(item)
            if data is not None:
                self.buffers[item.base][:] = data

    def roots(self) -> dict[int, int]:
        """Group → where its root pointer leads in this process."""
        roots: dict[int, int] = {}
        names = {slot.name: place for place, slot in enumerate(self.outlined.slots) if slot.kind == "live"}
        for group in self.outlined.groups:
            if group.root in names:
                roots[group.id] = int(self.given[names[group.root]])
            elif self._is_loaded(group):
                found = loaded_root(self.accesses.evaluation, group.root)
                roots[group.id] = self.translate(found, self._home(group.root, found))
        for place, slot in enumerate(self.outlined.slots):
            if slot.kind == "base" and slot.group not in roots:
                roots[slot.group] = int(self.given[place])
        for group in self.outlined.groups:
            for copy in self._reached(group) if group.id in self.numbered else ():
                assert copy is not None
                if copy not in self.tables:
                    continue  # it stands in a row
                behind = int(self.buffers[copy.base].ctypes.data) - int(
                    self.buffers[self.tables[copy].base].ctypes.data
                )
                roots[group.id] = roots.get(group.id, 0) + behind
        return roots

    def _reached(self, group: Group) -> set[Object | None]:
        return {access.object for key in group.sites for access in self.accesses.by_site.get(key, ()) if access.runs}

    def _is_loaded(self, group: Group) -> bool:
        """Whether the root of a group is loaded inside of the region."""
        names = {slot.name for slot in self.outlined.slots if slot.kind == "live"}
        return group.root not in names and group.root.startswith("%") and group.root not in self.outlined.locals

    def bases(self, objects: Sequence[Object]) -> list[int]:
        """Addresses of objects in this process (0 for one that was not captured)."""
        return [int(self.buffers[item.base].ctypes.data) if item.base in self.buffers else 0 for item in objects]

    def translate(self, address: int, home: Object | None = None) -> int:
        """Where a captured address lies in this process; as it is when it lies in no captured object.

        `home`: the object that is reached from it, for a pointer that may lie outside, behind the last element say.
        """
        item = self.pristine.find(address) if home is None else home
        if item is None or item.base not in self.buffers:
            return address
        return int(self.buffers[item.base].ctypes.data) + address - item.base

    def _is_shared(self, access: Access) -> bool:
        """Whether an access is to something that outlives an iteration."""
        return access.site.private not in self.accesses.nest.inside(self.region)

    def _check_captured(self) -> None:
        """Raises UnsupportedError when the region reaches memory that is not here."""
        for access in self.accesses.inside(self.region):
            item = access.object if access.runs and self._is_shared(access) else None
            if item is not None and item.base not in self.buffers and not self._is_own_stack(item):
                raise UnsupportedError(f"the memory that is reached at {access.site.place} was not captured")

    def _is_own_stack(self, item: Object) -> bool:
        """Whether the range function makes an array for itself."""
        return item.kind == STACK and any(self.raw.get(name) == item.base for name in self.outlined.locals)

    def _homes(self) -> dict[str, Object]:
        """Pointer → the object that all accesses from it lie in, where there is one."""
        reached: dict[str, set[Object | None]] = {}
        for group in self.outlined.groups:
            for item in self._reached(group):
                reached.setdefault(group.root, set()).add(self.tables.get(item, item) if item else None)
        alone = {root: found.pop() for root, found in reached.items() if len(found) == 1}
        return {root: item for root, item in alone.items() if item is not None and item.base in self.buffers}

    def _home(self, pointer: str, address: int) -> Object | None:
        """The object that a pointer leads to, which may change places with others: it is told by where it leads then.

        None where that is not known. Raises UnsupportedError for an address at the end of one object, or in front of
        one, that lies in another: nothing says which of them is meant.
        """
        if pointer in self.homes:
            return self.homes[pointer]
        sites = [key for group in self.outlined.groups if group.root == pointer for key in group.sites]
        variants = [a for key in sites for a in self.accesses.by_site.get(key, ()) if a.runs and a.object is not None]
        variants = [a for a in variants if a.object not in self.tables]  # it leads to the table
        named = [
            access.object
            for access in variants
            if any(
                expr.kind == "live" and _same_address(self.accesses.lives.get(expr.data[0]), address)
                for expr in access.chosen.values()
            )
        ]
        if len(set(named)) == 1:
            return named[0]
        reached = {access.object for access in variants if access.object is not None}
        beside = [item for item in reached if item.base <= address <= item.end]
        if len(reached) > 1 and len(beside) != 1:
            raise UnsupportedError("a pointer leads to one of several arrays, and it is not known to which")
        return beside[0] if beside else None

    def _slots(self) -> npt.NDArray[np.uint64]:
        given = np.zeros(len(self.outlined.slots), np.uint64)
        for place, slot in enumerate(self.outlined.slots):
            name = self.inits.get(slot.name, "") if slot.kind == "start" else slot.name
            if slot.kind == "order":
                continue
            if slot.kind == "start" and not name.startswith("%"):
                given[place] = _literal(name, slot.type)
                continue
            raw = self.raw.get(name)
            if raw is None:
                continue
            pointer = name if self.types[name] == "ptr" else self.addresses.get(name)
            given[place] = raw if pointer is None else self.translate(raw, self._home(pointer, raw))
        return given


class Replay(CapturedRegion):
    """A captured region that can be run: its range function is loaded in the library behind `native`."""

    def __init__(
        self,
        capture: Capture,
        accesses: Accesses,
        region: int,
        outlined: Outlined,
        native: Native,
        values: Sequence[tuple[str, str]],
        inits: Mapping[str, str],
        addresses: Mapping[str, str],
        image: RowImage | None = None,
        moved: Collection[Object] | None = None,
    ) -> None:
        super().__init__(capture, accesses, region, outlined, values, inits, addresses, moved)
        self.native = native
        self._moved = {} if image is None else self._to_image(image)
        self._in_image = self.given.copy()
        for place, slot in enumerate(outlined.slots):
            if slot.kind in ("base", "data-base"):
                self._in_image[place] = (int(self.given[place]) + self._moved.get(slot.group, 0)) % (1 << 64)

    def _to_image(self, image: RowImage) -> dict[int, int]:
        """Group → how far its copy of rows, or of a table of them, lies before the image of it.

        None at all where a group may lead to several objects: then the original order runs on copies of the rows.
        """
        self._image = image  # kept alive
        rows = self.accesses.memory.rows
        found = {}
        for group in self.outlined.groups:
            reached = self._reached(group)
            if not any(item in rows for item in reached):
                continue
            item = reached.pop()
            if reached or item is None:
                return {}
            data = image.tables[self.tables[item]] if item in self.tables else image.data
            found[group.id] = int(data.ctypes.data) - int(self.buffers[item.base].ctypes.data)
        return found

    def code(self, variant: str = "", *, original: bool = False) -> RegionCode:
        """The region's code on the captured memory.

        Args:
            variant: name of another range function for it. original: for the program's own order.
        """
        roots = self.roots()
        if original:
            for group in self.outlined.groups:
                roots[group.id] = roots.get(group.id, 0) + self._moved.get(group.id, 0)
        fixed = {g.id: roots[g.id] for g in self.outlined.groups if g.id in self.numbered or self._is_loaded(g)}
        address = ctypes.cast(getattr(self.native.library, variant or self.outlined.name), ctypes.c_void_p).value
        assert address is not None
        return RegionCode(address, self.outlined, fixed, {}, roots)

    def identity(self) -> Schedule:
        """The original order as a schedule."""
        size = self.accesses.size(self.region) or 0
        region = RegionSchedule(
            self.region,
            np.arange(size, dtype=np.int32),
            Blocks(np.array([0, size], np.int64), np.zeros(1, np.int32)),
            (),
            {},
            np.zeros(0, np.int32),
        )
        return Schedule(self.accesses.nest.root, (), (), (region,), Guard({}, (), (), (), ()), ORIGINAL)

    def run(self, executor: Executor) -> int:
        """One invocation in the executor's layout; nanoseconds."""
        taken = np.zeros(len(self.outlined.reductions) + 1, np.uint64)
        given = self._in_image if executor.schedule.method == ORIGINAL else self.given
        elapsed = self.native.execute(executor.plans[self.region], given, taken)
        self.taken = taken
        return elapsed

    def outcome(self, *, kept: bool = True) -> Outcome:
        """What the last run left behind, the data being in the program's order. Not `kept`: until the next run."""
        found = {item.base: self.buffers[item.base] for item in self.written}
        objects = {base: data.copy() for base, data in found.items()} if kept else found
        reductions = self.outlined.reductions
        results = tuple(int(self.taken[place]) for place in range(len(reductions)))
        return Outcome(objects, results, tuple(item.type for item in reductions))

    def compare(self, reference: Outcome, found: Outcome) -> Comparison:
        """Compare two outcomes, array by array in the types that the region writes them with."""
        errors: dict[str, float] = {}
        place, home = "", str(self.accesses.nest.loops[self.region].place)
        equal = all(np.array_equal(reference.objects[base], found.objects[base]) for base in reference.objects)
        equal &= all(
            _low(a, type) == _low(b, type)
            for a, b, type in zip(reference.results, found.results, reference.types, strict=True)
        )
        if equal:
            return Comparison(True)
        written = [
            access
            for access in self.accesses.inside(self.region)
            if access.site.writes and access.object is not None and self._is_shared(access)
        ]
        for access in written:
            assert access.object is not None
            base = access.object.base
            if access.site.type in DTYPES:
                error = array_error(reference.objects[base], found.objects[base], access)
            else:
                error = block_error(reference.objects[base], found.objects[base], access, written)
            place = str(access.site.place) if error > max(errors.values(), default=0.0) else place
            errors[access.site.type] = max(error, errors.get(access.site.type, 0.0))
        for a, b, type in zip(reference.results, found.results, reference.types, strict=True):
            x, y = (decode([value], [type])[0] for value in (a, b))
            if x is None or y is None or (isinstance(x, int) and x != y):
                error = float("inf") if x != y else 0.0
            else:
                error = abs(x - y) / max(abs(x), 1e-300)
            place = home if error > max(errors.values(), default=0.0) else place
            errors[SUM + type] = max(error, errors.get(SUM + type, 0.0))
        return Comparison(False, errors, place)


def _same_address(number: int | float | None, address: int) -> bool:
    return isinstance(number, int) and (number - address) % (1 << 64) == 0


def _low(value: int, type: str) -> int:
    bits = {"float": 32, "double": 64, "ptr": 64}.get(type) or int(type[1:])
    return value & ((1 << bits) - 1)


def _literal(text: str, type: str) -> int:
    """Raw bits of a constant start value."""
    if type in ("double", "float"):
        if text.startswith("0x"):
            number = struct.unpack(">d", bytes.fromhex(text[2:]))[0]
        else:
            number = float(text)
        data = struct.pack("<d", number) if type == "double" else struct.pack("<f", number)
        return int.from_bytes(data, "little")
    if text in ("true", "false"):
        return int(text == "true")
    return int(text) & (2**64 - 1)
