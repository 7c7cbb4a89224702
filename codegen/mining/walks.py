"""Random walks side by side: as many as a cache line holds the scores of, and a new one where one has converged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.native_code import address, addresses, aligned, native
from tracecut.codegen.sparse.row_threads import Cuts, run_blocks
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

from .in_links import Gathered, blocks_alone
from .iterations import Bounds, run_step
from .on_disk.gathered_file import GatheredFile

WIDTHS = (1, 4, 8)  # walks of one sweep
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Walks:
    """What all walks share.

    Attributes:
        graph: the links both ways, in memory or on disk. degrees: float64 (n), the weights of the links of each node.
        order: uint32 (n), the nodes by their new numbers, which `graph` and `degrees` have.
        c: the share that follows links.
    """

    graph: Gathered | GatheredFile
    degrees: Floats
    order: npt.NDArray[np.uint32]
    c: float
    bounds: Bounds

    @property
    def blocks(self) -> Gathered:
        """The blocks of rows."""
        return self.graph if isinstance(self.graph, Gathered) else blocks_alone(self.graph.blocks)


@dataclass(eq=False)
class _Seats:
    """Walks under way, one a seat: `width` of them.

    Attributes:
        shares, fresh: float64 (n, width), scores divided by degrees, and room for the new ones.
        queries: int64 (width), the number of each walk, -1 where a seat is free. starts: where it begins, -1 as well.
        ages: int64 (width), steps that it made.
    """

    shares: Floats
    fresh: Floats
    queries: Places
    starts: Places
    ages: Places

    @classmethod
    def of(cls, size: int, width: int) -> _Seats:
        shares, fresh = (aligned(size * width, np.dtype(np.float64)).reshape(size, width) for _ in range(2))
        shares[...] = 0.0
        free = np.full(width, -1, np.int64)
        return cls(shares, fresh, free, free.copy(), np.zeros(width, np.int64))

    def fill(self, waiting: Iterator[tuple[int, int]], degrees: Floats) -> None:
        """Begin walks in the free seats."""
        for seat in np.flatnonzero(self.queries < 0):
            self.queries[seat], self.starts[seat] = next(waiting, (-1, -1))
            self.ages[seat] = 0
            if self.starts[seat] >= 0:
                self.shares[self.starts[seat], seat] = 1.0 / degrees[self.starts[seat]]

    def fitted(self) -> _Seats:
        """With as few seats as the walks under way need, of those that there are kernels for."""
        used = np.flatnonzero(self.queries >= 0)
        width = _width(used.size)
        if width == self.queries.size:
            return self
        found = _Seats.of(self.shares.shape[0], width)
        for name in ("queries", "starts", "ages"):
            getattr(found, name)[: used.size] = getattr(self, name)[used]
        found.shares[:, : used.size] = self.shares[:, used]
        return found


def run_walks(walks: Walks, starts: Places) -> tuple[Floats, int, float]:
    """A walk from each start: scores by the old numbers, (walks, n); the most steps; the largest residual.

    starts: new numbers. The bits of a walk do not depend on the others. O(links · steps).
    """
    size, bounds = walks.degrees.size, walks.bounds
    values, most, worst = np.empty((starts.size, size)), 0, 0.0
    alone = walks.degrees[starts] == 0.0  # at a node without links a walk stays
    values[alone] = 0.0
    values[alone, walks.order[starts[alone]]] = 1.0
    moving = np.flatnonzero(~alone)
    waiting = iter(list(zip(moving.tolist(), starts[moving].tolist(), strict=True)))
    seats = _Seats.of(size, _width(moving.size))
    seats.fill(waiting, walks.degrees)
    while (seats.queries >= 0).any():
        residuals = _step(walks, seats)
        ended = (seats.queries >= 0) & ((residuals < bounds.tol) | (seats.ages == bounds.max_iter))
        if not ended.any():
            continue
        done = np.flatnonzero(ended)
        most, worst = max(most, int(seats.ages[done].max())), max(worst, float(residuals[done].max()))
        into = seats.queries[done]
        run_step(_leave, walks.blocks, bounds.threads, seats.shares, done, walks.degrees, walks.order, into, values)
        seats.queries[done] = seats.starts[done] = -1
        seats.fill(waiting, walks.degrees)
        seats = seats.fitted()
    return values, most, worst


def _step(walks: Walks, seats: _Seats) -> Floats:
    """One step of each walk; returns the norms of the changes."""
    blocks, width = walks.blocks, seats.queries.size
    sums = np.empty((blocks.cuts.size - 1, width))
    if isinstance(walks.graph, Gathered):
        weights = blocks.weights if blocks.weights.size else None
        links = (blocks.offsets, blocks.sources, weights)
        _step_rows(walks, seats, sums, links, 0, blocks.for_threads(walks.bounds.threads))
    else:
        for piece in walks.graph.pieces():
            first, last = np.searchsorted(blocks.cuts, (piece.low, piece.high)).tolist()
            many = max(1, min(walks.bounds.threads, last - first))
            shares = tuple(first + (last - first) * i // many for i in range(many + 1))
            _step_rows(walks, seats, sums, (piece.offsets, piece.columns, piece.values), piece.low, shares)
    seats.shares, seats.fresh = seats.fresh, seats.shares
    seats.ages += 1
    return walks.bounds.length(sums)


def _step_rows(walks: Walks, seats: _Seats, sums: Floats, links: tuple[Any, ...], low: int, shares: Cuts) -> None:
    """A step for some blocks of rows. links: offsets, sources and weights of rows from `low` on. shares: of threads."""
    offsets, sources, weights = links
    call = native(f"walk_step_{seats.queries.size}", "nnnnpppppppppp", None, offsets.dtype)
    cuts, numbers = walks.blocks.cuts, np.array([walks.c, 1.0 - walks.c])
    start = address(offsets) - offsets.itemsize * low  # the kernel counts rows from the first of all
    links_at = addresses(sources, weights)
    vectors = addresses(seats.shares, seats.fresh, walks.degrees, seats.starts, numbers, sums)
    known, entries, norm = (*addresses(cuts), start, *links_at, *vectors), sources.size, walks.bounds.norm
    run_blocks(lambda first, last: call(first, last, entries, norm, *known), shares)


def _width(count: int) -> int:
    """Seats for so many walks."""
    return next((width for width in WIDTHS if width >= count), WIDTHS[-1])


@kept
def _leave(
    first: int, last: int, cuts: Any, shares: Any, seats: Any, degrees: Any, order: Any, into: Any, values: Any
) -> None:
    """The scores of some seats to rows of `values`; the seats are empty then."""
    for v in range(cuts[first], cuts[last]):
        for i in range(seats.size):
            values[into[i], order[v]] = shares[v, seats[i]] * degrees[v]
            shares[v, seats[i]] = 0.0
