"""What may be moved in a layout scope, before any order is chosen: the records that the static rule fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tracecut.tracer.legality.access_patterns import DIRECT, LOOKUP, Array, Pattern
from tracecut.tracer.legality.accesses import Accesses

from .order_free_loops import Companion


@dataclass(frozen=True, eq=False)
class Field:
    """Loaded indices inside of the records of an array: `width` bytes at each of `offsets` of the record."""

    array: int
    offsets: tuple[int, ...]
    width: int


@dataclass(frozen=True, eq=False)
class Pieces:
    """Data that a loaded start picks piece by piece, where starts are renumbered like indices: no piece may be torn.

    Attributes:
        region: the loop whose iterations have one piece each; the pieces follow its job order.
        starts: int64, the first datum of each iteration's piece. `lengths`: int64, 0 where it has none.
    """

    region: int
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bounds:
    """An array of bounds: row v is the data from the v-th bound to the next one. Its regions read new ones of a copy.

    Attributes:
        array, field: the array, and the index field that all of its numbers are.
        first: the record with the bound at which the first row begins.
        values: int64 (rows + 1), ascending, the numbers as the program has them.
        ends: loads that are asked for nothing but where a row ends.
        skipped: loop over a row → how many data it leaves out before it begins.
    """

    array: int
    field: Field
    first: int
    values: npt.NDArray[np.int64]
    ends: frozenset[str]
    skipped: Mapping[int, int]

    @property
    def records(self) -> tuple[int, int]:
        """Records [low, high) of the bounds at which rows begin: one for each row."""
        return self.first, self.first + self.values.size - 1


@dataclass(frozen=True, eq=False)
class Space:
    """Data that are renumbered together: datum numbers [low, high).

    Attributes:
        arrays: array → shift; record = datum + shift. These are permuted in place.
        fields: index field → shift; loaded value = datum + shift.
        copies: arrays of which regions use copies with records in this space's order → shift.
        jobs: region → shift; iteration = datum + shift: its job order is this space's order.
        cuts: datum numbers between which the order may not move anything, ascending, low and high included.
        pieces: what has to stay together, if iterations run over pieces of it: its order follows from theirs.
        bounds: what cuts it into rows, if they are those of another space's data: they follow the order of that one.
    """

    low: int
    high: int
    arrays: Mapping[int, int]
    fields: Mapping[Field, int]
    copies: Mapping[int, int]
    jobs: Mapping[int, int]
    cuts: tuple[int, ...]
    name: str
    pieces: Pieces | None = None
    bounds: Bounds | None = None

    @property
    def follows(self) -> bool:
        """Whether its order is that of other things, and never a partitioner's."""
        return self.pieces is not None or self.bounds is not None


@dataclass(frozen=True, eq=False)
class Segments:
    """Inner loops over a piece of an array that a loaded start (and end) picks: CSR rows.

    Attributes:
        loops: each runs over the piece, one after the other.
        lengths: records of the piece of each iteration of the region.
        start, start_record: the field of the start, and the record that holds it for iteration 0.
        end, end_record: the same of the end; none where the loop is told how long the piece is, or finds out.
            `end_record` − `start_record` is 1 for the usual one-array offsets.
    """

    loops: frozenset[int]
    lengths: npt.NDArray[np.int64]
    start: Field
    start_record: int
    end: Field | None = None
    end_record: int = 0


@dataclass(frozen=True, eq=False)
class RegionUse:
    """How a region reaches one array: `mode` is moved, direct, offsets, segment, spaced, bounds, plain or old."""

    array: int
    mode: str
    patterns: tuple[Pattern, ...]
    segments: Segments | None = None


@dataclass(frozen=True, eq=False)
class ScopePlan:
    """What may be moved in a scope, before any order is chosen.

    Attributes:
        arrays: all arrays of the scope. `spaces`: what is renumbered together.
        uses: region → how it reaches each array that it touches.
        movable: regions whose iterations may be reordered.
        kept: array → why it stays in place.
        companions: loops that run unchanged on the new layout.
        blocking: loops that cannot, and keep arrays where they are.
    """

    accesses: Accesses
    arrays: list[Array]
    spaces: list[Space]
    uses: Mapping[int, list[RegionUse]]
    movable: frozenset[int]
    kept: Mapping[int, str]
    companions: tuple[Companion, ...]
    blocking: tuple[int, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)

    @property
    def lookups(self) -> dict[int, list[Pattern]]:
        """Moved array → accesses beside the regions that look its records up (`lookups.py`)."""
        moved = [place for space in self.spaces for place in space.arrays]
        found = {place: [p for p in self.arrays[place].patterns if p.kind == LOOKUP] for place in moved}
        return {place: patterns for place, patterns in found.items() if patterns}

    def told(self) -> list[str]:
        """For the user: why arrays stay, and why loops beside the regions look up where records are."""
        found = [(place, why) for place, why in sorted(self.kept.items())]
        looks = {pattern.why: place for place, patterns in self.lookups.items() for pattern in patterns}
        found += [(place, f"{why}: each record that it takes is looked up there") for why, place in looks.items()]
        return [f"{self.arrays[place].object.name or 'an array'}: {why}" for place, why in found]

    @property
    def rounds(self) -> list[int]:
        """Loops beside the regions that add up floating-point numbers in the order of the new layout."""
        moved = {place for space in self.spaces for place in space.arrays}
        walked = {
            int(pattern.major.data[0])
            for place in moved
            for pattern in self.arrays[place].patterns
            if pattern.kind == DIRECT and pattern.major is not None
        }
        return sorted({item.loop for item in self.companions if item.rounds and item.loop in walked})
