"""Objects of a running or captured program: an address becomes (object, byte offset)."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import compiled

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
MANY = 1 << 16  # elements from which on a compiled loop reads them
Loaded = tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]


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


class LiveBytes(Mapping[int, npt.NDArray[np.uint8]]):
    """The bytes of objects of this very process, by base address. The caller vouches for the objects being alive.

    `library`: the run-time support, or a program that is linked with it.
    """

    def __init__(self, table: Table, library: ctypes.CDLL) -> None:
        self._table, self._library = table, library

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        place = int(np.searchsorted(self._table.bases, base))
        if place == len(self._table) or self._table.bases[place] != base:
            raise KeyError(base)
        raw: Any = (ctypes.c_uint8 * int(self._table.sizes[place])).from_address(base)
        return np.frombuffer(raw, np.uint8)

    def __iter__(self) -> Iterator[int]:
        return iter(self._table.bases.tolist())

    def __len__(self) -> int:
        return len(self._table)

    def packed(self, places: npt.NDArray[np.int64]) -> Packed:
        """A copy of the bytes of some objects, by their places in the table, ascending."""
        bases, sizes = self._table.bases[places], self._table.sizes[places]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        data = np.empty(int(starts[-1]), np.uint8)
        columns = [ctypes.c_void_p(int(part.ctypes.data)) for part in (data, bases, sizes, starts)]
        self._library.tc_gather(None, *columns, ctypes.c_int64(bases.size), ctypes.c_int32(1))
        return Packed(bases, starts, data)


class Packed(Mapping[int, npt.NDArray[np.uint8]]):
    """The bytes of many objects in one piece.

    Attributes:
        bases: int64, ascending. starts: int64 (bases + 1); where the bytes of each object lie in `data`.
    """

    def __init__(
        self, bases: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]
    ) -> None:
        self.bases, self.starts, self.data = bases, starts, data
        self._places: dict[int, int] | None = None

    @classmethod
    def of(cls, contents: Mapping[int, npt.NDArray[np.uint8]]) -> Packed:
        """The same bytes in one piece. O(objects log objects + bytes)."""
        if isinstance(contents, Packed):
            return contents
        if isinstance(contents, Contents) and isinstance(contents.rest, Packed) and contents.rest.whole:
            return contents.rest.replaced(contents.own, contents.hidden)
        bases = np.array(sorted(contents), np.int64)
        parts = [contents[base] for base in bases.tolist()]
        starts = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)]).astype(np.int64)
        return cls(bases, starts, np.concatenate(parts) if parts else np.zeros(0, np.uint8))

    @property
    def whole(self) -> bool:
        """Whether all of the bytes are those of its objects."""
        return self.starts.size == self.bases.size + 1

    def nbytes(self, hidden: Collection[int] = ()) -> int:
        """Bytes of its objects but those that are `hidden`. O(objects)."""
        count = self.bases.size
        places = np.arange(count) if self.whole else np.fromiter((self._places or {}).values(), np.int64, count)
        sizes = self.starts[places + 1] - self.starts[places]
        return int(sizes.sum()) - int(sizes[self._held(hidden)].sum())

    def _held(self, bases: Collection[int]) -> npt.NDArray[np.int64]:
        """Places of those of some objects that it has, ascending."""
        asked = np.array(sorted(bases), np.int64)
        places = np.searchsorted(self.bases, asked)
        inside = places < self.bases.size
        return places[inside][self.bases[places[inside]] == asked[inside]]

    def replaced(self, own: Mapping[int, npt.NDArray[np.uint8]], hidden: Collection[int]) -> Packed:
        """A copy without some objects, and with others in place of its own or beside them. It must be `whole`.

        O(objects + bytes), a slice for each object that goes or comes.
        """
        gone = self._held({*hidden, *own})
        if not gone.size and not own:
            return self
        kept = np.ones(self.bases.size, np.bool_)
        kept[gone] = False
        come = np.array(sorted(own), np.int64)
        bases = np.concatenate([self.bases[kept], come])
        sizes = np.concatenate([np.diff(self.starts)[kept], np.array([own[base].size for base in come.tolist()], int)])
        order = np.argsort(bases, kind="stable")
        # (place, whether an object goes there, base of one that comes there)
        cuts = [(int(place), True, 0) for place in gone]
        cuts += [(int(to), False, int(base)) for to, base in zip(np.searchsorted(self.bases, come), come, strict=True)]
        parts, last = [], 0
        for place, goes, base in sorted(cuts):
            parts.append(self.data[self.starts[last] : self.starts[place]])
            last = place + goes
            if not goes:
                parts.append(own[base])
        parts.append(self.data[self.starts[last] : self.starts[-1]])
        starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
        return Packed(bases[order], starts, np.concatenate(parts))

    def without(self, bases: npt.NDArray[np.int64]) -> Packed:
        """All but some of its objects. The bytes are shared. O(objects log objects)."""
        kept = np.ones(self.bases.size, np.bool_)
        kept[np.searchsorted(self.bases, bases)] = False
        made = Packed(self.bases[kept], self.starts, self.data)
        made._places = dict(zip(made.bases.tolist(), np.flatnonzero(kept).tolist(), strict=True))
        return made

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        if self._places is None:
            self._places = {found: place for place, found in enumerate(self.bases.tolist())}
        place = self._places[base]
        return self.data[self.starts[place] : self.starts[place + 1]]

    def __iter__(self) -> Iterator[int]:
        return iter(self.bases.tolist())

    def __len__(self) -> int:
        return self.bases.size


class Contents(Mapping[int, npt.NDArray[np.uint8]]):
    """The bytes of objects, some of them in place of what others say. `hidden`: bases that the others do not have."""

    def __init__(
        self,
        own: Mapping[int, npt.NDArray[np.uint8]],
        rest: Mapping[int, npt.NDArray[np.uint8]],
        hidden: Collection[int] = (),
    ) -> None:
        self.own, self.rest, self.hidden = dict(own), rest, frozenset(hidden)

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        found = self.own.get(base)
        if found is None and base in self.hidden:
            raise KeyError(base)
        return self.rest[base] if found is None else found

    def __iter__(self) -> Iterator[int]:
        return iter(self.own.keys() | (self.rest.keys() - self.hidden))

    def __len__(self) -> int:
        return len(self.own.keys() | (self.rest.keys() - self.hidden))


def bytes_kept(contents: Mapping[int, npt.NDArray[np.uint8]]) -> int:
    """Bytes of all objects."""
    if isinstance(contents, Packed):
        return contents.nbytes()
    if isinstance(contents, Contents) and isinstance(contents.rest, Packed):
        mine = sum(data.size for data in contents.own.values())
        return mine + contents.rest.nbytes({*contents.own, *contents.hidden})
    return sum(data.size for data in contents.values())


@dataclass(frozen=True, eq=False)
class Rows:
    """What stands for rows behind pointers (`row_arenas.py`).

    Attributes:
        arenas: objects that rows were copied to → where each row begins, and the end (int64).
        loads: names of the loads of their numbers.
        tables: object of the program → bytes [low, high) of it, `step` bytes apart, that hold 8-byte pointers to rows.
        numbers: such an object → its copy, with numbers in these places. records: arenas whose rows are records: they
            are reached where they are, and may be permuted in place.
        columns: arena → (load of a number, object of the program, offsets of the pointers there) of its table.
    """

    arenas: Mapping[Object, npt.NDArray[np.int64]] = field(default_factory=dict)
    loads: frozenset[str] = frozenset()
    tables: Mapping[Object, tuple[tuple[int, int, int], ...]] = field(default_factory=dict)
    numbers: Mapping[Object, Object] = field(default_factory=dict)
    records: frozenset[Object] = frozenset()
    columns: Mapping[str, tuple[tuple[str, Object, npt.NDArray[np.int64]], ...]] = field(default_factory=dict)

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
        values, ok = np.zeros(addresses.shape, dtype), np.zeros(addresses.shape, bool)
        if _load_aligned(addresses, first.base, _whole(data, dtype), values, ok) < addresses.size:
            rest = np.flatnonzero(~ok)
            values[rest], ok[rest] = self._gather(addresses[rest], dtype)
        return values, ok

    def _gather(self, addresses: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Loaded:
        values, ok = np.zeros(addresses.shape, dtype), np.zeros(addresses.shape, bool)
        places = np.searchsorted(self._bases, addresses, side="right") - 1
        order = np.argsort(places, kind="stable")
        bounds = np.append(np.flatnonzero(np.diff(places[order], prepend=-2)), places.size)
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            mine = order[begin:end]
            item = self.objects[place] if (place := int(places[mine[0]])) >= 0 else None
            data = self.bytes_of(item) if item is not None else None
            if item is None or data is None:
                continue
            offsets = addresses[mine] - item.base
            inside = (offsets >= 0) & (offsets <= item.size - dtype.itemsize)
            chosen = offsets[inside]
            found = np.zeros(offsets.shape, dtype)
            if chosen.size and not (chosen % dtype.itemsize).any():
                found[inside] = _whole(data, dtype)[chosen // dtype.itemsize]
            else:
                parts = np.stack([data[chosen + byte] for byte in range(dtype.itemsize)], axis=-1)
                found[inside] = np.ascontiguousarray(parts).view(dtype).reshape(-1)
            values[mine], ok[mine] = found, inside
        return values, ok


def _whole(data: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)


@compiled(cache=True, nogil=True)
def _load_aligned(addresses: Any, base: int, elements: Any, values: Any, ok: Any) -> int:
    """Whole elements of one object; how many addresses lead to one. The others are left as they are."""
    width, found = elements.itemsize, 0
    for i in range(addresses.size):
        offset = addresses[i] - base
        if 0 <= offset < elements.size * width and offset % width == 0:
            values[i], ok[i] = elements[offset // width], True
            found += 1
    return found
