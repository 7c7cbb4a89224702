"""Where the bytes of objects are: captured ones in one piece, those of this process, some in place of others."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .elements import at_bytes

Loaded = tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]


class LiveBytes(Mapping[int, npt.NDArray[np.uint8]]):
    """The bytes of objects of this very process, by base address. The caller vouches for the objects being alive.

    `bases` ascend. `library`: the run-time support, or a program that is linked with it.
    """

    def __init__(self, bases: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], library: ctypes.CDLL) -> None:
        self.bases, self.sizes, self._library = bases, sizes, library

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        place = int(np.searchsorted(self.bases, base))
        if place == self.bases.size or self.bases[place] != base:
            raise KeyError(base)
        raw: Any = (ctypes.c_uint8 * int(self.sizes[place])).from_address(base)
        return np.frombuffer(raw, np.uint8)

    def __iter__(self) -> Iterator[int]:
        return iter(self.bases.tolist())

    def __len__(self) -> int:
        return self.bases.size

    def only(self, places: npt.NDArray[np.int64]) -> LiveBytes:
        """Some of the objects, by their places in the table, ascending."""
        return LiveBytes(self.bases[places], self.sizes[places], self._library)

    def elements(self, bases: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Loaded:
        """See `Packed.elements`."""
        ranks = np.searchsorted(self.bases, bases)
        found = ranks < self.bases.size
        found[found] = self.bases[ranks[found]] == bases[found]
        values, places = np.zeros(bases.shape, dtype), (bases + offsets)[found]
        made, sizes = np.empty(places.size, dtype), np.full(places.size, dtype.itemsize, np.int64)
        starts = np.arange(places.size + 1, dtype=np.int64) * dtype.itemsize
        columns = [ctypes.c_void_p(int(part.ctypes.data)) for part in (made, places, sizes, starts)]
        self._library.tc_gather(None, *columns, ctypes.c_int64(places.size), ctypes.c_int32(1))
        values[found] = made
        return values, found


class Packed(Mapping[int, npt.NDArray[np.uint8]]):
    """The bytes of many objects in one piece, which may hold others too.

    Attributes:
        bases: int64, ascending. starts, sizes: int64 (bases); where the bytes of each object lie in `data`.
    """

    def __init__(
        self,
        bases: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        data: npt.NDArray[np.uint8],
    ) -> None:
        self.bases, self.starts, self.sizes, self.data = bases, starts, sizes, data
        self._places: dict[int, int] | None = None

    @classmethod
    def of(cls, contents: Mapping[int, npt.NDArray[np.uint8]]) -> Packed:
        """The same bytes in one piece. O(objects log objects + bytes)."""
        if isinstance(contents, Packed):
            return contents
        if isinstance(contents, Contents) and isinstance(contents.rest, Packed):
            return contents.rest.replaced(contents.own, contents.hidden)
        bases = np.array(sorted(contents), np.int64)
        parts = [contents[base] for base in bases.tolist()]
        sizes = np.array([part.size for part in parts], np.int64)
        return cls(bases, np.cumsum(sizes) - sizes, sizes, np.concatenate(parts) if parts else np.zeros(0, np.uint8))

    def nbytes(self, hidden: Collection[int] = ()) -> int:
        """Bytes of its objects but those that are `hidden`. O(objects)."""
        return int(self.sizes.sum()) - int(self.sizes[self._held(hidden)].sum())

    def addresses(self) -> npt.NDArray[np.int64]:
        """Where the bytes of each object lie."""
        return self.starts + self.data.ctypes.data

    def _held(self, bases: Collection[int]) -> npt.NDArray[np.int64]:
        """Places of those of some objects that it has, ascending."""
        asked = np.array(sorted(bases), np.int64)
        places = np.searchsorted(self.bases, asked)
        inside = places < self.bases.size
        return places[inside][self.bases[places[inside]] == asked[inside]]

    def replaced(self, own: Mapping[int, npt.NDArray[np.uint8]], hidden: Collection[int]) -> Packed:
        """A copy without some objects, and with others in place of its own or beside them.

        O(objects log objects + bytes), a slice for each stretch of objects that lie behind each other.
        """
        gone = self._held({*hidden, *own})
        if not gone.size and not own:
            return self
        kept = np.ones(self.bases.size, np.bool_)
        kept[gone] = False
        come = np.array(sorted(own), np.int64)
        starts, sizes = self.starts[kept], self.sizes[kept]
        ends = starts + sizes
        cut = starts[1:] != ends[:-1]
        lows, highs = starts[np.append(True, cut)[: starts.size]], ends[np.append(cut, True)[: starts.size]]
        parts = [self.data[low:high] for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
        parts += [own[base] for base in come.tolist()]
        bases = np.concatenate([self.bases[kept], come])
        sizes = np.concatenate([sizes, np.array([own[base].size for base in come.tolist()], np.int64)])
        order = np.argsort(bases, kind="stable")
        data = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
        return Packed(bases[order], (np.cumsum(sizes) - sizes)[order], sizes[order], data)

    def without(self, bases: npt.NDArray[np.int64]) -> Packed:
        """All but some of its objects. The bytes are shared. O(objects log objects)."""
        kept = np.ones(self.bases.size, np.bool_)
        kept[np.searchsorted(self.bases, bases)] = False
        return Packed(self.bases[kept], self.starts[kept], self.sizes[kept], self.data)

    def elements(self, bases: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Loaded:
        """Elements at byte offsets in objects: (values, which of the objects it has). O(n log objects)."""
        values, ranks = np.zeros(bases.shape, dtype), np.searchsorted(self.bases, bases)
        found = ranks < self.bases.size
        found[found] = self.bases[ranks[found]] == bases[found]
        values[found] = at_bytes(self.data, self.starts[ranks[found]] + offsets[found], dtype)
        return values, found

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        if self._places is None:
            self._places = dict(zip(self.bases.tolist(), range(self.bases.size), strict=True))
        place = self._places[base]
        return self.data[self.starts[place] : self.starts[place] + self.sizes[place]]

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


def elements_of(
    contents: Mapping[int, npt.NDArray[np.uint8]],
    bases: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    dtype: np.dtype[Any],
) -> Loaded:
    """Elements of objects, as far as they are kept in one piece: (values, which are)."""
    if isinstance(contents, Packed | LiveBytes):
        return contents.elements(bases, offsets, dtype)
    if not isinstance(contents, Contents) or not isinstance(contents.rest, Packed | LiveBytes):
        return np.zeros(bases.shape, dtype), np.zeros(bases.shape, bool)
    values, found = contents.rest.elements(bases, offsets, dtype)
    found &= ~np.isin(bases, np.array([*contents.own, *contents.hidden], np.int64))
    return np.where(found, values, dtype.type(0)), found


def addresses_of(contents: Mapping[int, npt.NDArray[np.uint8]]) -> tuple[npt.NDArray[np.int64], ...]:
    """(bases, ascending; bytes; where these lie in this process) of objects. O(objects log objects)."""
    if isinstance(contents, Packed):
        return contents.bases, contents.sizes, contents.addresses()
    if isinstance(contents, LiveBytes):
        return contents.bases, contents.sizes, contents.bases
    bases = sorted(contents)
    parts = [contents[base] for base in bases]
    columns = bases, [part.size for part in parts], [part.ctypes.data for part in parts]
    return tuple(np.array(column, np.int64) for column in columns)


def let_go(contents: Mapping[int, npt.NDArray[np.uint8]]) -> None:
    """Have the system take bytes that lie in a file out of this process; they are there again when they are read."""
    source: Any = contents.rest if isinstance(contents, Contents) else contents
    source = source.data if isinstance(source, Packed) else None
    while isinstance(source, np.ndarray):
        source = source.base
    if isinstance(source, mmap.mmap):  # `Capture.load` opens it for reading alone
        source.madvise(mmap.MADV_DONTNEED)


def bytes_kept(contents: Mapping[int, npt.NDArray[np.uint8]]) -> int:
    """Bytes of all objects."""
    if isinstance(contents, Packed):
        return contents.nbytes()
    if isinstance(contents, Contents) and isinstance(contents.rest, Packed):
        mine = sum(data.size for data in contents.own.values())
        return mine + contents.rest.nbytes({*contents.own, *contents.hidden})
    return sum(data.size for data in contents.values())
