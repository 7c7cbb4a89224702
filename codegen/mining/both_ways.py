"""Directed links as undirected ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import kept

from .in_links import Gathered, by_degree, cut, gathered, turned
from .links import Links


def both_ways(links: Links) -> tuple[Gathered, npt.NDArray[np.uint32]]:
    """The neighbours of each node, nodes being renumbered by falling number of links; and the new number of each.

    Between two nodes there is one link, with the larger of the weights of both directions; parallel links in one
    direction add up. O(links).
    """
    order, rank = by_degree(links.degrees() + np.bincount(links.targets, minlength=links.size))
    into = gathered(links, order)  # sources rise: turned once more, so do the targets
    out = turned(into.offsets, into.sources, into.weights, np.arange(order.size, dtype=np.uint32))
    valued = links.weights.size > 0 or _holds_parallel(into.offsets, into.sources)
    most = 2 * links.targets.size
    offsets = np.zeros(order.size + 1, np.uint32 if most < 2**32 else np.uint64)
    near, weights = np.empty(most, np.uint32), np.empty(most if valued else 0)
    one, other = ((each.offsets, each.sources, each.weights) for each in (into, out))
    count = int(_merge(one, other, offsets, near, weights))
    return cut(offsets, near[:count].copy(), weights[:count].copy()), rank


@kept
def _holds_parallel(offsets: Any, near: Any) -> bool:
    for row in range(offsets.size - 1):
        for k in range(offsets[row] + 1, offsets[row + 1]):
            if near[k] == near[k - 1]:
                return True
    return False


@kept
def _taken(near: Any, weights: Any, at: Any, end: Any) -> tuple[Any, float]:
    """The sum of the weights of the entries at `at` that are equal, and the place behind them."""
    node, total = near[at], 0.0
    while at < end and near[at] == node:
        total += weights[at] if weights.size else 1.0
        at += np.uint64(1)
    return at, total


@kept
def _merge(one: Any, other: Any, offsets: Any, near: Any, weights: Any) -> Any:
    """Merges rows with rising entries; `weights` is filled if it has room. Returns the number of entries."""
    count = np.uint64(0)
    for row in range(offsets.size - 1):
        i, i_end = np.uint64(one[0][row]), np.uint64(one[0][row + 1])
        j, j_end = np.uint64(other[0][row]), np.uint64(other[0][row + 1])
        while i < i_end or j < j_end:
            first = j >= j_end or (i < i_end and one[1][i] <= other[1][j])
            second = i >= i_end or (j < j_end and other[1][j] <= one[1][i])
            near[count] = one[1][i] if first else other[1][j]
            weight = 0.0
            if first:
                i, weight = _taken(one[1], one[2], i, i_end)
            if second:
                j, more = _taken(other[1], other[2], j, j_end)
                weight = max(weight, more)
            if weights.size:
                weights[count] = weight
            count += np.uint64(1)
        offsets[row + 1] = count
    return count
