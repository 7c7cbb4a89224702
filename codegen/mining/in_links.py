"""The links by the node that they go to, for products that gather: each node's score is a sum over what points to it.

Nodes are renumbered by falling number of outgoing links. The scores that are gathered most then lie side by side, and
stay in the cache: on a power-law graph beyond it, a product takes half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.row_threads import Cuts, row_blocks
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .links import Links

BLOCKS = 64  # pieces whose sums are added up in order, so that results do not depend on the number of threads


@dataclass(frozen=True, eq=False)
class Gathered:
    """The links of each node by what is gathered for it.

    Attributes:
        offsets: uint32 or uint64 (n + 1). sources: uint32 or uint64 (links), new numbers. weights: float64 (links), or
        none where all are 1. cuts: where blocks of rows begin, and where the last one ends.
    """

    offsets: npt.NDArray[Any]
    sources: npt.NDArray[Any]
    weights: Floats
    cuts: npt.NDArray[np.int64]

    @property
    def parts(self) -> tuple[Any, ...]:
        """As the kernels of `steps` take it."""
        return self.offsets, self.sources, self.weights if self.weights.size else None

    def for_threads(self, threads: int) -> Cuts:
        """Ranges of blocks, one a thread: blocks have nearly equal work."""
        blocks = self.cuts.size - 1
        threads = max(1, min(threads, blocks))
        return tuple(blocks * i // threads for i in range(threads + 1))


def by_degree(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Nodes by falling number of links, equal ones in their order; and the place of each node. O(n + largest)."""
    order, rank = np.empty(counts.size, np.uint32), np.empty(counts.size, np.uint32)
    _by_degree(counts, order, rank)
    return order, rank


def gathered(links: Links, order: npt.NDArray[np.uint32]) -> Gathered:
    """For each node, in the new order, what links to it, with rising new numbers. O(links).

    order: the nodes in their new order.
    """
    return turned(unsigned(links.offsets), unsigned(links.targets), links.weights, order)


def turned(
    starts: npt.NDArray[Any], targets: npt.NDArray[Any], values: Floats, order: npt.NDArray[np.uint32]
) -> Gathered:
    """As `gathered`, for links as unsigned arrays."""
    index = np.uint32 if targets.size < 2**32 else np.uint64
    offsets, free = np.zeros(order.size + 1, index), np.zeros(order.size, index)
    sources, weights = np.empty(targets.size, np.uint32), np.empty_like(values)
    _turn(starts, targets, values, order, free, offsets, sources, weights)
    return cut(offsets, sources, weights)


def renumbered(links: Links, order: npt.NDArray[np.uint32], rank: npt.NDArray[np.uint32]) -> Gathered:
    """For each node, in the new order, what it links to. O(links)."""
    index = np.uint32 if links.targets.size < 2**32 else np.uint64
    offsets = np.zeros(links.size + 1, index)
    sources, weights = np.empty(links.targets.size, np.uint32), np.empty_like(links.weights)
    starts, targets = unsigned(links.offsets), unsigned(links.targets)
    _renumber(starts, targets, links.weights, order, rank, offsets, sources, weights)
    return cut(offsets, sources, weights)


def cut(offsets: npt.NDArray[Any], sources: npt.NDArray[Any], weights: Floats) -> Gathered:
    """With the row blocks, which depend on the links alone."""
    cuts = row_blocks(offsets.view(np.int32 if offsets.itemsize == 4 else np.int64), BLOCKS)
    return Gathered(offsets, sources, weights, np.array(cuts, np.int64))


def blocks_alone(cuts: npt.NDArray[np.int64]) -> Gathered:
    """Blocks of rows for steps whose products are made elsewhere."""
    return Gathered(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0), cuts)


def out_weights(links: Links) -> Floats:
    """The sum of the weights of each node's links. O(links).

    Raises ArgumentError where a float64 cannot hold one.
    """
    return row_sums(unsigned(links.offsets), links.weights)


def row_sums(offsets: npt.NDArray[Any], weights: Floats) -> Floats:
    """As `out_weights`, for links as arrays of a `Gathered`."""
    sums = np.empty(offsets.size - 1)
    _row_sums(offsets, weights, sums)
    if sums.max(initial=0.0) == np.inf:
        raise ArgumentError(
            f"the weights of a node's links sum to more than {np.finfo(np.float64).max:.3g}",
            hint="Only proportions count: divide all weights by their maximum.",
        )
    return sums


def unsigned(indices: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Indices as the kernels take them: uint32 or uint64."""
    whole = np.ascontiguousarray(indices, np.int32 if indices.itemsize == 4 else np.int64)
    return whole.view(np.uint32 if indices.itemsize == 4 else np.uint64)


@kept
def _by_degree(counts: Any, order: Any, rank: Any) -> None:
    most = np.int64(0)
    for count in counts:
        most = max(most, count)
    free = np.zeros(most + 2, np.int64)
    for count in counts:
        free[most - count + 1] += 1
    for degree in range(most + 1):
        free[degree + 1] += free[degree]
    for u in range(counts.size):
        at = free[most - counts[u]]
        free[most - counts[u]] = at + 1
        order[at] = u
        rank[u] = at


@kept
def _turn(
    starts: Any, targets: Any, values: Any, order: Any, free: Any, offsets: Any, sources: Any, weights: Any
) -> None:
    """`free` holds zeros by the old numbers, `offsets` zeros, and where the links of each node begin afterwards."""
    one = offsets.dtype.type(1)
    for target in targets:
        free[target] += one
    at = offsets.dtype.type(0)
    for t in range(order.size):
        target = order[t]
        count = free[target]
        free[target] = at
        at += count
        offsets[t + 1] = at
    valued = weights.size > 0
    for r in range(order.size):
        u = np.uint64(order[r])
        for k in range(np.uint64(starts[u]), np.uint64(starts[u + np.uint64(1)])):
            target = targets[k]
            at = free[target]
            free[target] = at + one
            sources[at] = r
            if valued:
                weights[at] = values[k]


@kept
def _renumber(
    starts: Any, targets: Any, values: Any, order: Any, rank: Any, offsets: Any, sources: Any, weights: Any
) -> None:
    valued, at = weights.size > 0, np.uint64(0)
    for r in range(order.size):
        u = np.uint64(order[r])
        for k in range(np.uint64(starts[u]), np.uint64(starts[u + np.uint64(1)])):
            sources[at] = rank[targets[k]]
            if valued:
                weights[at] = values[k]
            at += np.uint64(1)
        offsets[r + 1] = at


@kept
def _row_sums(offsets: Any, weights: Any, sums: Any) -> None:
    for u in range(sums.size):
        low, high = np.uint64(offsets[u]), np.uint64(offsets[u + 1])
        if weights.size:
            total = 0.0
            for k in range(low, high):
                total += weights[k]
            sums[u] = total
        else:
            sums[u] = high - low
