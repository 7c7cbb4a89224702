"""Both products of HITS in one sweep over the links: A x, and the product of Aᵀ with it.

The links of a node are added up for A x, and what comes out goes at once to the same nodes for Aᵀ, which are in the
nearest cache by then. So the links need not be turned, they are read once for two products, and each node that is in no
near cache is missed once. Several threads cannot add to one node: each piece of the links has sums of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.native_code import addresses, native
from tracecut.codegen.sparse.row_threads import Cuts, row_blocks, run_blocks
from tracecut.support.arrays import Floats

from .in_links import Gathered, by_degree, cut, unsigned
from .links import Links

AHEAD = 128  # as PAIRS_AHEAD
MOST = 8  # pieces
SHARE = 4  # links of a piece for each node: its sums then take a small part of the time
_U32 = np.dtype(np.uint32)


@dataclass(frozen=True, eq=False)
class BothProducts:
    """The links as they are, nodes renumbered where they are pointed to; with room for both products.

    Attributes:
        graph: the links; behind the sources, the new numbers of what is pointed to, stand AHEAD zeros.
        pieces: where pieces of rows begin, and where the last one ends; they depend on the links alone.
        pairs: float64 (pieces, n, 2), for each new number the element of x, and the sum for Aᵀ of each piece.
        rank: uint32 (n), the new number of each node.
    """

    graph: Gathered
    pieces: Cuts
    pairs: Floats
    rank: npt.NDArray[np.uint32]

    def begin(self, y: Floats, threads: int) -> None:
        """Add Aᵀ y to the sums. y: (n), old numbers."""
        call = native("pairs_begin", "nnppppp", None, self.graph.offsets.dtype)
        self._each_piece(call, y, None, threads)

    def join(self, factor: float, threads: int) -> float:
        """x = factor times the sums, which begin again at 0; returns the sum of x. O(pieces · n)."""
        call, pieces, size = native("pairs_join", "nnnnpp", None, _U32), self.pairs.shape[0], self.pairs.shape[1]
        numbers = np.full((self.graph.cuts.size - 1, 2), factor)
        (pairs,) = addresses(self.pairs)

        def work(first: int, last: int) -> None:
            for block in range(first, last):
                own = numbers[block]
                call(*map(int, self.graph.cuts[block : block + 2]), pieces, size, pairs, *addresses(own))

        run_blocks(work, self.graph.for_threads(threads))
        return float(numbers[:, 1].sum())

    def sweep(self, factor: float, y: Floats, threads: int) -> float:
        """y = factor · A x, and Aᵀ y to the sums; returns the sum of y. y: (n), old numbers. O(links)."""
        call = native("pairs_sweep", "nnpppppp", None, self.graph.offsets.dtype)
        numbers = np.full((len(self.pieces) - 1, 2), factor)
        self._each_piece(call, y, numbers, threads)
        return float(numbers[:, 1].sum())

    def x(self) -> Floats:
        """x by the old numbers. New array, (n)."""
        return np.ascontiguousarray(self.pairs[0, :, 0][self.rank])

    def _each_piece(self, call: Any, y: Floats, numbers: Floats | None, threads: int) -> None:
        weights = self.graph.weights if self.graph.weights.size else None
        known, (out,) = addresses(self.graph.offsets, self.graph.sources, weights), addresses(y)

        def work(first: int, last: int) -> None:
            for piece in range(first, last):
                more = () if numbers is None else (numbers[piece],)
                call(*self.pieces[piece : piece + 2], *known, *addresses(self.pairs[piece]), out, *addresses(*more))

        count = len(self.pieces) - 1
        threads = min(threads, count)
        run_blocks(work, tuple(count * i // threads for i in range(threads + 1)))


def piece_count(links: Links) -> int:
    """How many pieces have enough links for each node; below 2, a gathered product for each direction pays more."""
    return min(MOST, links.targets.size // (SHARE * max(1, links.size)))


def both_products(links: Links, pieces: int) -> BothProducts:
    """The links ready for sweeps, nodes numbered by falling number of links to them. O(links)."""
    offsets, targets, size = unsigned(links.offsets), unsigned(links.targets), links.size
    counts = np.zeros(size, np.uint32)
    index = targets.dtype
    native("column_counts", "npp", None, index)(targets.size, *addresses(targets, counts))
    _, rank = by_degree(counts.astype(np.int64))
    renamed = np.empty(targets.size + AHEAD, np.uint32)
    native("pairs_targets", "nppp", None, index)(targets.size, *addresses(targets, rank, renamed))
    cuts = row_blocks(links.offsets, pieces)
    graph = cut(offsets, renamed, links.weights)
    return BothProducts(graph, cuts, np.zeros((len(cuts) - 1, size, 2)), rank)
