"""The schedule of a layout scope: job orders, data orders, copies, what is guarded, and why.

A schedule is concrete: it names objects, byte offsets and permutations, so that applying it needs no analysis. It
holds for the numbers it was made on, and carries what has to be true for it to be used again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False  # as in `typing`: a program that uses its schedule starts without it, and without NumPy
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt
    from tracecut.support.arrays import Ints

Starts = tuple[int, int, int, int, int]
ANY_SIZE = 0  # no object has no bytes


@dataclass(frozen=True)
class ObjectRef:
    """One object: its bytes (or `ANY_SIZE`), and the pointers of the scope in it as (pointer number, offset).

    `numbers`: it is the copy of that object with numbers in the places of row pointers.
    """

    size: int
    pointers: tuple[tuple[int, int], ...]
    numbers: bool = False


@dataclass(frozen=True)
class LoadGuard:
    """Bytes that the schedule relies on: `count` fields of `width` bytes, `stride` apart, and their fingerprint."""

    object: int
    offset: int
    stride: int
    width: int
    count: int
    fingerprint: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Guard:
    """What has to be true on entering the scope.

    Attributes:
        numbers: live value → number (integers; floating-point values only where a branch was decided by them).
        objects: every object that a pointer of the scope lies in; pointers in none are listed in `unplaced`,
            and those of them that are null in `nulls`: a branch may ask for that.
        loads: memory that addresses, trip counts and branches were computed from.
    """

    numbers: dict[str, int | float]
    objects: tuple[ObjectRef, ...]
    unplaced: tuple[int, ...]
    nulls: tuple[int, ...]
    loads: tuple[LoadGuard, ...]


@dataclass(frozen=True)
class Renumbering:
    """Index fields inside of records: values v = datum + shift become new datum + shift."""

    offsets: tuple[int, ...]
    width: int
    space: int
    shift: int


@dataclass(frozen=True)
class Move:
    """An array that is permuted in place: records [first, first + count) of an object, in a space's order.

    `renumber`: index fields in these records, which get new values where they lie.
    """

    object: int
    origin: int
    stride: int
    first: int
    count: int
    space: int
    shift: int
    renumber: tuple[Renumbering, ...] = ()


@dataclass(frozen=True)
class PieceField:
    """A field of a record that holds the start of a piece, or its end: `width` bytes at `offset`."""

    offset: int
    width: int
    ends: bool


@dataclass(frozen=True)
class Copy:
    """A copy of an array in the new layout, for one region.

    Attributes:
        mode: `direct` (records in job order), `offsets` (starts of the permuted pieces), `segment` (pieces in job
            order), `spaced` (records in a space's order), `bounds` (in a space's order, where each row of another one
            starts, and where the last ends), `plain` (records where they were).
        object, origin, stride: the source. `first`, `count`: its records.
        reverse: of a direct copy, whether the loop walks down.
        space, shift: of a spaced copy, or of the rows of a copy of bounds.
        ends: of an offsets copy, whether it holds ends (else starts); with one array for both, starts.
        renumber: index fields in it that get new values; of bounds, in the order of what they cut.
        pieces: of an offsets copy of records in job order, the fields that hold starts and ends.
        starts: of a segment or offsets copy, where the program holds the old starts of its pieces.
        cut: which of the region's lengths these pieces have.
    """

    mode: str
    object: int
    origin: int
    stride: int
    first: int
    count: int
    reverse: bool = False
    space: int = -1
    shift: int = 0
    ends: bool = False
    renumber: tuple[Renumbering, ...] = ()
    pieces: tuple[PieceField, ...] = ()
    starts: Starts | None = None
    cut: int = 0


@dataclass(frozen=True, eq=False)
class SpaceOrder:
    """Order of the data [low, high) of one space: `order[new] = old`, both counted from low."""

    low: int
    high: int
    cuts: tuple[int, ...]
    order: Ints


@dataclass(frozen=True, eq=False)
class Blocks:
    """How the jobs of a region are shared out: blocks of consecutive jobs, and which of them may run at the same time.

    It holds for any number of threads, and so do the results: partial results are put together block by block.

    Attributes:
        bounds: int64 (blocks + 1), ascending; block b runs jobs [bounds[b], bounds[b + 1]) of the job order.
        waves: int32 (blocks); the wavefront of each block, from 0 on without gaps. A block depends on all blocks of
            the wavefronts before its own; within one nothing that a block writes is touched by another.
    """

    bounds: npt.NDArray[np.int64]
    waves: Ints

    @property
    def count(self) -> int:
        return len(self.waves)

    def widest(self) -> int:
        """Blocks of the largest wavefront: no more threads find work at a time. O(blocks)."""
        sizes: dict[int, int] = {}
        for wave in self.waves:
            sizes[int(wave)] = sizes.get(int(wave), 0) + 1
        return max(sizes.values(), default=1)


@dataclass(frozen=True, eq=False)
class RegionSchedule:
    """How one region runs.

    Attributes:
        region: loop id. `jobs`: `jobs[new] = old` iteration.
        blocks: how the jobs are shared out.
        copies: copies it reads. `bases`: group → copy, for groups whose base pointer is replaced.
        lengths: int32; records of the piece of each (old) job, empty without pieces. Of several arrays whose starts
            cut them into pieces of unlike lengths, one after the other (`Copy.cut`).
        privates: arrays that blocks 1 … accumulate into private slots; all blocks are of one wavefront then.
    """

    region: int
    jobs: Ints
    blocks: Blocks
    copies: tuple[Copy, ...]
    bases: dict[int, int]
    lengths: Ints
    privates: tuple[Private, ...] = ()

    def lengths_of(self, copy: Copy) -> Ints:
        """Those of the pieces of one copy, int32 (jobs)."""
        size = self.jobs.size
        return self.lengths[size * copy.cut : size * (copy.cut + 1)]


@dataclass(frozen=True)
class Private:
    """A reduced array with a private slot for each block but the first: bytes [low, high) of the object a block."""

    group: int
    object: int
    type: str
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True)
class Lookup:
    """Accesses beside the regions that look up where the order has put each record of a moved array.

    Attributes:
        sites: their keys. move: the array, −1: none of those that move now.
        stride: bytes of its records. align: what the record's first byte, and their size, are a multiple of.
    """

    sites: tuple[str, ...]
    move: int
    stride: int
    align: int


@dataclass(frozen=True, eq=False)
class Schedule:
    """Everything that one layout scope needs at run time.

    Attributes:
        scope: loop id; the region itself when no larger scope was found.
        method: the order it was made with. `remark`: why it looks as it does.
        lookups: what the code beside the regions looks up, by its places in the table that this code reads.
    """

    scope: int
    spaces: tuple[SpaceOrder, ...]
    moves: tuple[Move, ...]
    regions: tuple[RegionSchedule, ...]
    guard: Guard
    method: str
    remark: str = ""
    lookups: tuple[Lookup, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        jobs = sum(region.jobs.size for region in self.regions)
        data = sum(space.high - space.low for space in self.spaces)
        moved = f"{len(self.moves)} arrays moved"
        return f"<Schedule of loop {self.scope} by {self.method}: {jobs} jobs, {data} data, {moved}>"
