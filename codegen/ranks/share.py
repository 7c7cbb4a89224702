"""What a rank holds: its entries of the matrix in local numbers, and lists of what it exchanges, made once.

Local columns are the entries of x that the rank owns, and behind them those that it receives; local rows the sums that
it owns, and behind them those that it makes for others. Both follow the owners, and their local numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats

from .communicator import Communicator, agree, hand_out
from .local_matrix import LocalMatrix, extract, localized
from .split import Entries, Ranks, Split
from .traffic import Traffic, traffic_of

Ids = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Owned:
    """Who owns the entries of the vectors.

    Attributes:
        owners: uint16 (n). order: int64 (n), entries by owner. places: int64 (n), the place of each entry in it. cuts:
        int64 (ranks + 1), where those of each rank begin in it.
    """

    owners: Ranks
    order: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    cuts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, owners: Ranks, ranks: int, priority: npt.NDArray[Any]) -> Owned:
        """priority: (n), entries of one owner rise by it; none where they rise by their numbers."""
        cuts, places = np.zeros(ranks + 1, np.int64), np.empty(owners.size, np.int64)
        np.cumsum(np.bincount(owners, minlength=ranks), out=cuts[1:])
        order = np.lexsort((priority, owners)) if priority.size else np.argsort(owners, kind="stable")
        places[order] = np.arange(owners.size)
        return cls(owners, order, places, cuts)

    def by(self, rank: int) -> npt.NDArray[np.int64]:
        """What a rank owns, by its local numbers."""
        return self.order[self.cuts[rank] : self.cuts[rank + 1]]

    def local(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The local numbers of entries, each on the rank that owns it."""
        return np.asarray(self.places[ids] - self.cuts[self.owners[ids]])


@dataclass(frozen=True, eq=False)
class Border:
    """Entries beyond a rank's own ones, and its own ones that lie beyond those of others.

    Attributes:
        ids: uint32 (any), what other ranks own of what this one uses, by owner.
        cuts: int64 (ranks + 1), where those of each owner begin.
        shown: for each rank, the local numbers of what this one owns and that one uses, uint32.
    """

    ids: Ids
    cuts: npt.NDArray[np.int64]
    shown: tuple[Ids, ...]


@dataclass(frozen=True, eq=False)
class Share:
    """A rank's part.

    Attributes:
        owned: who owns what. rank: whose part it is.
        matrix: its entries in local numbers.
        columns, rows: the borders of x and of y.
        traffic: what the model counts for the whole of the ranks.
    """

    owned: Owned
    rank: int
    matrix: LocalMatrix
    columns: Border
    rows: Border
    traffic: Traffic

    @property
    def own(self) -> int:
        """Entries of the vectors that the rank owns."""
        return int(self.owned.cuts[self.rank + 1] - self.owned.cuts[self.rank])

    @cached_property
    def turned(self) -> Share:
        """The part of the transposed matrix, with the same owners. O(its entries)."""
        return Share(self.owned, self.rank, self.matrix.turned(), self.rows, self.columns, self.traffic.turned())


def share_out(
    comm: Communicator, matrix: Entries | None, split: Split | None, exchange: str, priority: Ids | None = None
) -> Share:
    """Each rank's part of a matrix that the first one has; the others give None. A call of all ranks.

    exchange: "needed": each rank receives the entries of x that it multiplies with. "allgather": every entry that any
    matrix with this split could need (TileSpMV §3.2).

    priority: uint32 (n), by which the local numbers of what a rank owns rise: entries of x that are used most are found
    in the cache if they lie side by side. None: by their own numbers.

    O(entries · ranks + n log n) on the first rank, O(its entries + n log n) on the others.
    """

    def known(_: int) -> list[Any]:
        if matrix is None or split is None:
            return []
        traffic = traffic_of(matrix, split, exchange)
        reach = [part.ravel() for part in (split.expands, split.folds)]
        first = np.zeros(0, np.uint32) if priority is None else priority
        return [split.owners, first, *reach, traffic.expand.ravel(), traffic.fold.ravel()]

    made = agree(comm, lambda: known(0))
    kinds = [np.uint16, np.uint32, np.bool_, np.bool_, np.int64, np.int64]
    owners, first, *reach, expand, fold = hand_out(comm, lambda _: made, kinds)
    square = (comm.size, comm.size)
    owned, traffic = Owned.of(owners, comm.size, first), Traffic(expand.reshape(square), fold.reshape(square))

    def part(rank: int) -> list[Any]:
        if matrix is None or split is None:
            return []
        return list(extract(matrix, split.places, rank))

    types = [np.uint32, np.uint64, np.uint32, np.float64]
    rows, offsets, columns, values = hand_out(comm, part, types)
    expands, folds = (each.reshape(square) for each in reach)
    seen, numbers = np.zeros(owners.size, np.bool_), np.empty(owners.size, np.uint32)
    wanted = expands[:, comm.rank] if exchange == "allgather" else None
    x_side = _border(comm, owned, _beyond(columns, owned, comm.rank, seen, wanted))
    given = folds[comm.rank] if exchange == "allgather" else None
    y_side = _border(comm, owned, _beyond(rows, owned, comm.rank, seen, given))
    own = owned.by(comm.rank)
    _number(numbers, own, x_side.ids)
    local_columns = numbers[columns]
    _number(numbers, own, y_side.ids)
    shape = (own.size + y_side.ids.size, own.size + x_side.ids.size)
    local = localized(numbers[rows], offsets, local_columns, values, shape, own.size)
    return Share(owned, comm.rank, local, x_side, y_side, traffic)


def _beyond(used: Ids, owned: Owned, rank: int, seen: npt.NDArray[np.bool_], reach: Any) -> npt.NDArray[np.int64]:
    """What others own of what is used (of all that they own, where a reach is given), rising.

    seen: room, False before and afterwards. reach: bool (ranks).
    """
    if reach is not None:
        return np.flatnonzero(reach[owned.owners])
    seen[used] = True
    seen[owned.by(rank)] = False
    found = np.flatnonzero(seen)
    seen[found] = False
    return found


def _border(comm: Communicator, owned: Owned, ids: npt.NDArray[np.int64]) -> Border:
    """Tells each owner which of its entries are used here, and hears which of this rank's are used there."""
    beyond = owned.order[np.sort(owned.places[ids])].astype(np.uint32)  # as their owners have them
    counts = np.bincount(owned.owners[ids], minlength=comm.size)
    cuts = np.zeros(comm.size + 1, np.int64)
    np.cumsum(counts, out=cuts[1:])
    asked = comm.rows(counts)[:, comm.rank].astype(np.int64)
    shown = [np.empty(count, np.uint32) for count in asked]
    comm.exchange([(r, beyond[cuts[r] : cuts[r + 1]]) for r in range(comm.size)], list(enumerate(shown))).wait()
    return Border(beyond, cuts, tuple(owned.local(array).astype(np.uint32) for array in shown))


def _number(numbers: Ids, own: npt.NDArray[np.int64], beyond: Ids) -> None:
    numbers[own] = np.arange(own.size, dtype=np.uint32)
    numbers[beyond] = np.arange(own.size, own.size + beyond.size, dtype=np.uint32)


def spread(comm: Communicator, share: Share, vector: Floats | None) -> Floats:
    """What this rank owns of a vector that the first rank has: float64 (own). A call of all ranks."""
    given = np.zeros(0) if vector is None else vector
    (found,) = hand_out(comm, lambda rank: [given[share.owned.by(rank)]], [np.float64])
    return found


def collect(comm: Communicator, share: Share, own: Floats) -> Floats:
    """The whole vector, or several side by side, on every rank. A call of all ranks. O(n) on each."""
    cuts = share.owned.cuts
    whole = np.empty((share.owned.owners.size, *own.shape[1:]))
    whole[cuts[comm.rank] : cuts[comm.rank + 1]] = own
    own = np.ascontiguousarray(own)
    peers = [rank for rank in range(comm.size) if rank != comm.rank]
    incoming = [(rank, whole[cuts[rank] : cuts[rank + 1]]) for rank in peers]
    comm.exchange([(rank, own) for rank in peers], incoming).wait()
    found = np.empty_like(whole)
    found[share.owned.order] = whole
    return found
