"""Where the bytes of objects are: captured ones in one piece, those of this process, some in place of others."""

from __future__ import annotations

import ctypes
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
        self._bases, self._sizes, self._library = bases, sizes, library

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        place = int(np.searchsorted(self._bases, base))
        if place == self._bases.size or self._bases[place] != base:
            raise KeyError(base)
        raw: Any = (ctypes.c_uint8 * int(self._sizes[place])).from_address(base)
        return np.frombuffer(raw, np.uint8)

    def __iter__(self) -> Iterator[int]:
        return iter(self._bases.tolist())

    def __len__(self) -> int:
        return self._bases.size

    def packed(self, places: npt.NDArray[np.int64]) -> Packed:
        """A copy of the bytes of some objects, by their places in the table, ascending."""
        bases, sizes = self._bases[places], self._sizes[places]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        data = np.empty(int(starts[-1]), np.uint8)
        columns = [ctypes.c_void_p(int(part.ctypes.data)) for part in (data, bases, sizes, starts)]
        self._library.tc_gather(None, *columns, ctypes.c_int64(bases.size), ctypes.c_int32(1))
        return Packed(bases, starts, data)

    def elements(self, bases: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Loaded:
        """See `Packed.elements`."""
        ranks = np.searchsorted(self._bases, bases)
        found = ranks < self._bases.size
        found[found] = self._bases[ranks[found]] == bases[found]
        values, places = np.zeros(bases.shape, dtype), (bases + offsets)[found]
        made, sizes = np.empty(places.size, dtype), np.full(places.size, dtype.itemsize, np.int64)
        starts = np.arange(places.size + 1, dtype=np.int64) * dtype.itemsize
        columns = [ctypes.c_void_p(int(part.ctypes.data)) for part in (made, places, sizes, starts)]
        self._library.tc_gather(None, *columns, ctypes.c_int64(places.size), ctypes.c_int32(1))
        values[found] = made
        return values, found


class Packed(Mapping[int, npt.NDArray[np.uint8]]):
    """The bytes of many objects in one piece.

    Attributes:
        bases: int64, ascending. starts: int64 (bases + 1); where the bytes of each object lie in `data`.
    """

    def __init__(
        self, bases: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]
    ) -> None:
        self.bases, self.starts, self.data = bases, starts, data
        self._ranks: npt.NDArray[np.int64] | None = None  # of its objects among the starts, where some are left out
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
        places = np.arange(count) if self._ranks is None else self._ranks
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
        made._ranks = np.flatnonzero(kept) if self._ranks is None else self._ranks[kept]
        return made

    def elements(self, bases: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Loaded:
        """Elements at byte offsets in objects: (values, which of the objects it has). O(n log objects)."""
        values, ranks = np.zeros(bases.shape, dtype), np.searchsorted(self.bases, bases)
        found = ranks < self.bases.size
        found[found] = self.bases[ranks[found]] == bases[found]
        ranks = ranks[found] if self._ranks is None else self._ranks[ranks[found]]
        values[found] = at_bytes(self.data, self.starts[ranks] + offsets[found], dtype)
        return values, found

    def __getitem__(self, base: int) -> npt.NDArray[np.uint8]:
        if self._places is None:
            ranks = range(self.bases.size) if self._ranks is None else self._ranks.tolist()
            self._places = dict(zip(self.bases.tolist(), ranks, strict=True))
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


def bytes_kept(contents: Mapping[int, npt.NDArray[np.uint8]]) -> int:
    """Bytes of all objects."""
    if isinstance(contents, Packed):
        return contents.nbytes()
    if isinstance(contents, Contents) and isinstance(contents.rest, Packed):
        mine = sum(data.size for data in contents.own.values())
        return mine + contents.rest.nbytes({*contents.own, *contents.hidden})
    return sum(data.size for data in contents.values())
