"""Objects of a running or captured program: an address becomes (object, byte offset)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .contents import Contents, LiveBytes, Loaded, Packed, elements_of
from .elements import at_bytes, load_aligned, whole

HEAP, GLOBAL, STACK = 0, 1, 2
DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.int8),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "ptr": np.dtype(np.int64),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}
MANY = 1 << 16  # elements from which on those of one object are read together
SOME = 1 << 8  # elements from which on those of all objects are read together


@dataclass(frozen=True)
class Object:
    """One allocation: first byte, bytes, HEAP, GLOBAL or STACK, and the name of a global."""

    base: int
    size: int
    kind: int
    name: str = ""

    def __contains__(self, address: object) -> bool:
        return isinstance(address, int) and self.base <= address < self.base + self.size

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass(frozen=True, eq=False)
class Table(Sequence[Object]):
    """Objects by rising address, as columns: of a program with many of them only those that are asked for are made.

    Each is made once: two pointers into one allocation find the same `Object`, which is how it is told that they meet.

    Attributes:
        bases, sizes: int64. kinds: uint8. names: base address → name, of those that have one.
        made: place → Object.
    """

    bases: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]
    names: Mapping[int, str] = field(default_factory=dict)
    made: dict[int, Object] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return self.bases.size

    @overload
    def __getitem__(self, place: int) -> Object: ...
    @overload
    def __getitem__(self, place: slice) -> list[Object]: ...
    def __getitem__(self, place: int | slice) -> Object | list[Object]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        found = self.made.get(place)
        if found is None:
            base = int(self.bases[place])
            found = Object(base, int(self.sizes[place]), int(self.kinds[place]), self.names.get(base, ""))
            self.made[place] = found
        return found


@dataclass(frozen=True, eq=False)
class Rows:
    """What stands for rows behind pointers (`row_arenas.py`).

    Attributes:
        arenas: objects that rows were copied to → where each row begins, and the end (int64).
        loads: names of the loads of their numbers.
        tables: object of the program → bytes [low, high) of it, `step` bytes apart, that hold 8-byte pointers to rows.
        numbers: such an object → its copy, with numbers in these places. records: arenas whose rows are records, and
            objects of `own`: they are reached where they are, and may be permuted in place.
        columns: arena → (load of a number, object of the program, offsets of the pointers there) of its table.
        own: arena that no rows were copied to → where it begins in the program's own array, which it stands for.
    """

    arenas: Mapping[Object, npt.NDArray[np.int64]] = field(default_factory=dict)
    loads: frozenset[str] = frozenset()
    tables: Mapping[Object, tuple[tuple[int, int, int], ...]] = field(default_factory=dict)
    numbers: Mapping[Object, Object] = field(default_factory=dict)
    records: frozenset[Object] = frozenset()
    columns: Mapping[str, tuple[tuple[str, Object, npt.NDArray[np.int64]], ...]] = field(default_factory=dict)
    own: Mapping[str, int] = field(default_factory=dict)

    def __contains__(self, item: object) -> bool:
        return item in self.arenas or item in self.numbers.values()


class Memory:
    """Read access to objects.

    Args:
        contents: an object's base address → its bytes; absent: not readable. rows: which of the objects are copies.
    """

    def __init__(
        self, objects: Sequence[Object], contents: Mapping[int, npt.NDArray[np.uint8]], rows: Rows | None = None
    ) -> None:
        self.rows = Rows() if rows is None else rows
        self.contents = contents if isinstance(contents, LiveBytes | Contents | Packed) else dict(contents)
        self.objects: Sequence[Object]
        if isinstance(objects, Table):
            self.objects, self._bases, self._ends = objects, objects.bases, objects.bases + objects.sizes
        else:
            self.objects = sorted(objects, key=lambda item: item.base)
            self._bases = np.array([item.base for item in self.objects], np.int64)
            self._ends = np.array([item.end for item in self.objects], np.int64)

    def columns(self) -> Table:
        """The objects as columns."""
        if isinstance(self.objects, Table):
            return self.objects
        kinds = np.array([item.kind for item in self.objects], np.uint8)
        return Table(
            self._bases,
            self._ends - self._bases,
            kinds,
            {item.base: item.name for item in self.objects if item.name},
        )

    def find(self, address: int) -> Object | None:
        """The object that holds the byte at `address`."""
        place = int(np.searchsorted(self._bases, address, side="right")) - 1
        return self.objects[place] if place >= 0 and address < self._ends[place] else None

    def beside(self, address: int, reach: int) -> tuple[Object | None, Object | None]:
        """The last object that ends at most `reach` bytes before an address, the first one behind it."""
        place = int(np.searchsorted(self._bases, address, side="right"))
        below = place > 0 and address - reach <= self._ends[place - 1] <= address
        above = place < len(self.objects) and self._bases[place] <= address + reach
        return self.objects[place - 1] if below else None, self.objects[place] if above else None

    def named(self, name: str) -> Object | None:
        """The first object of a name; of a `Table` no other is made for it. O(names)."""
        if not isinstance(self.objects, Table):
            return next((item for item in self.objects if item.name == name), None)
        bases = [base for base, known in self.objects.names.items() if known == name]
        return self.find(min(bases)) if bases else None

    def inside(self, addresses: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which addresses lie in any object. O(n log objects)."""
        if not self.objects:
            return np.zeros(addresses.shape, bool)
        places = np.searchsorted(self._bases, addresses, side="right") - 1
        return (places >= 0) & (addresses < self._ends[places])

    def bytes_of(self, item: Object) -> npt.NDArray[np.uint8] | None:
        """All bytes of an object, None when they were not captured."""
        return self.contents.get(item.base)

    def read(self, address: int, nbytes: int) -> bytes | None:
        """Bytes at an address, None when any of them lies outside of a readable object."""
        item = self.find(address)
        data = self.bytes_of(item) if item is not None else None
        if item is None or data is None or address + nbytes > item.end:
            return None
        offset = address - item.base
        return data[offset : offset + nbytes].tobytes()

    def strided(self, address: int, stride: int, count: int, type: str) -> npt.NDArray[Any] | None:
        """View of `count` elements `stride` bytes apart; None unless all lie in one readable object."""
        dtype = DTYPES[type]
        if count == 0:
            return np.zeros(0, dtype)
        item = self.find(address)
        data = self.bytes_of(item) if item is not None else None
        if item is None or data is None:
            return None
        first = address - item.base
        last = first + stride * (count - 1)
        if min(first, last) < 0 or max(first, last) + dtype.itemsize > item.size:
            return None
        return np.ndarray((count,), dtype, data, first, (stride,))

    def gather(self, addresses: npt.NDArray[np.int64], type: str) -> Loaded:
        """Elements at arbitrary addresses: (values, readable); unreadable ones are 0. O(n log objects)."""
        dtype = DTYPES[type]
        first = self.find(int(addresses[0])) if addresses.size >= MANY else None
        data = None if first is None else self.bytes_of(first)
        if first is None or data is None:
            return self._gather(addresses, dtype)
        values, ok = load_aligned(addresses, first.base, whole(data, dtype))
        if not ok.all():
            rest = np.flatnonzero(~ok)
            values[rest], ok[rest] = self._gather(addresses[rest], dtype)
        return values, ok

    def _gather(self, addresses: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Loaded:
        values, ok = np.zeros(addresses.shape, dtype), np.zeros(addresses.shape, bool)
        places = np.searchsorted(self._bases, addresses, side="right") - 1
        inside = (places >= 0) & (addresses <= self._ends[places] - dtype.itemsize) if self._ends.size else ok
        rest = np.flatnonzero(inside)
        if rest.size >= SOME:  # of many objects, most often
            bases = self._bases[places[rest]]
            values[rest], ok[rest] = elements_of(self.contents, bases, addresses[rest] - bases, dtype)
            rest = rest[~ok[rest]]
        order = rest[np.argsort(places[rest], kind="stable")]
        bounds = np.append(np.flatnonzero(np.diff(places[order], prepend=-2)), order.size)
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            mine = order[begin:end]
            item = self.objects[int(places[mine[0]])]
            data = self.bytes_of(item)
            if data is not None:
                values[mine], ok[mine] = at_bytes(data, addresses[mine] - item.base, dtype), True
        return values, ok
