"""The memory instructions of a kernel: what the model has to know of each to count its accesses.

**From an emulator to the model.** When a warp has ended, whoever ran it calls a function with the C signature

    int32_t consume(void *state, int64_t block, int32_t warp,
                    const int32_t *first, const uint16_t *site, const uint64_t *address)

The accesses of lane l are the events first[l] … first[l + 1] − 1, in the lane's program order; `first` has one entry
more than a warp has lanes. `site` is a row of the table below, `address` the first byte touched: in global memory any
address below 2⁶², in shared memory bytes from the begin of the block's window. `warp` is the warp's number in its
block, `block` the block's number in the grid. The buffers belong to the caller, who may use them anew after the
call. It returns 0; anything else asks the caller to stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from tracecut.support.arrays import Bytes, check_range, frozen
from tracecut.support.errors import ArgumentError

GLOBAL, SHARED = range(2)
LOAD, STORE, ATOMIC = range(3)
NO_HINT, READ_ONLY, EVICT_FIRST, LOOP = range(4)
SPACES = ("global", "shared")
KINDS = ("load", "store", "atomic")
HINTS = ("", "read-only", "evict-first", "compare-and-swap loop")
MOST_SITES = 1 << 16
SIZES = (1, 2, 4, 8, 16)
Row = tuple[str, str, int] | tuple[str, str, int, str] | tuple[str, str, int, str, str]


@dataclass(frozen=True, eq=False)
class Sites:
    """Memory instructions of a kernel, by their number.

    Attributes:
        space: uint8 (sites), GLOBAL or SHARED.
        kind: uint8 (sites), LOAD, STORE or ATOMIC.
        bytes: uint8 (sites), bytes that a lane accesses: 1, 2, 4, 8 or 16.
        hint: uint8 (sites), NO_HINT; READ_ONLY: the read-only path (`ld.global.nc`); EVICT_FIRST: streaming; LOOP: an
            atomic access of shared memory that the hardware has no instruction for, but one to compare and swap.
        where: "file:line" of each site, "" where it is not known.
    """

    space: Bytes
    kind: Bytes
    bytes: Bytes
    hint: Bytes
    where: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("space", "kind", "bytes", "hint"):
            object.__setattr__(self, name, frozen(name, getattr(self, name), np.uint8))
        object.__setattr__(self, "where", tuple(self.where))
        self.verify()

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Sites:
        """A table of rows such as ("global", "load", 4), ("global", "load", 8, "evict-first", "spmv.c:12").

        Raises:
            ArgumentError: a word that is none of SPACES, KINDS and HINTS; what `verify` refuses.
        """
        table = [(*row, *("", "")[len(row) - 3 :]) for row in rows]
        columns: list[list[int]] = [[], [], [], []]
        for place, (space, kind, size, hint, _) in enumerate(table):
            for column, name, word, known in (
                (0, "space", space, SPACES),
                (1, "kind", kind, KINDS),
                (3, "hint", hint, HINTS),
            ):
                if word not in known:
                    raise ArgumentError(f"{name} of site {place} is {word!r}, one of {known} was expected")
                columns[column].append(known.index(word))
            columns[2].append(int(size))
        space_, kind_, bytes_, hint_ = (frozen("column", column, np.int64) for column in columns)
        return cls(space_, kind_, bytes_, hint_, tuple(str(row[4]) for row in table))

    def verify(self) -> None:
        """Raises ArgumentError, which names the column and the site, unless the table holds together. O(sites)."""
        sizes = {name: len(getattr(self, name)) for name in (field.name for field in fields(self))}
        if len(set(sizes.values())) > 1:
            raise ArgumentError(f"the columns of a table of sites have different lengths: {sizes}")
        if len(self) > MOST_SITES:
            raise ArgumentError(f"{len(self)} sites, at most {MOST_SITES} were expected")
        for name, known in (("space", SPACES), ("kind", KINDS), ("hint", HINTS)):
            check_range(name, getattr(self, name), 0, len(known))
        odd = np.flatnonzero(~np.isin(self.bytes, SIZES))
        if odd.size:
            raise ArgumentError(f"bytes[{odd[0]}] = {self.bytes[odd[0]]}, one of {SIZES} was expected")
        wrong = np.flatnonzero(np.isin(self.hint, (READ_ONLY, EVICT_FIRST)) & (self.space == SHARED))
        if wrong.size:
            raise ArgumentError(f"site {wrong[0]} is in shared memory and has a hint, which only global memory knows")
        wrong = np.flatnonzero((self.hint == LOOP) & ((self.space != SHARED) | (self.kind != ATOMIC)))
        if wrong.size:
            raise ArgumentError(f"site {wrong[0]} has a loop, which only atomic accesses of shared memory have")
        wrong = np.flatnonzero((self.hint == READ_ONLY) & (self.kind != LOAD))
        if wrong.size:
            raise ArgumentError(f"site {wrong[0]} is read-only and a {KINDS[self.kind[wrong[0]]]}, not a load")

    def __len__(self) -> int:
        return int(self.space.size)

    def words(self, site: int) -> str:
        """One site in words, such as "load of 4 bytes, global, read-only, at spmv.c:12"."""
        parts = [f"{KINDS[self.kind[site]]} of {self.bytes[site]} bytes", SPACES[self.space[site]]]
        parts += [HINTS[self.hint[site]]] if self.hint[site] else []
        parts += [f"at {self.where[site]}"] if self.where[site] else []
        return ", ".join(parts)

    def __repr__(self) -> str:
        counts = [f"{int((self.space == place).sum())} {name}" for place, name in enumerate(SPACES)]
        return f"<Sites {len(self)}: {', '.join(counts)}>"
