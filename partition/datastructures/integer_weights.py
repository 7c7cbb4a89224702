"""Integer weights for objectives: the cost of cutting a job, and of copying a datum.

`LocalityGraph` has weights of jobs and of data. A partition of jobs balances the former and pays the latter for each
copy; a partition of data balances the latter and pays the former for each cut job. If all weights are equal, methods
get an empty array.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .typed_views import Words, floats, longs, words

MOST = 1 << 30  # what all costs may sum up to: kernels add up the costs of one vertex in 32 bits


def uneven(weights: Floats) -> Floats:
    """The weights, or an empty array if all are equal."""
    return weights[:0] if weights.size == 0 or weights.min() == weights.max() else weights


def whole(weights: Floats, mean: int = 1000) -> Longs:
    """Integers proportional to `weights`: exactly where these are small integers, else `mean` on average.

    Only 0 becomes 0.
    """
    if weights.size == 0:
        return np.zeros(0, np.int64)
    if (weights == np.rint(weights)).all() and weights.max() <= 1 << 20:
        return weights.astype(np.int64)
    return np.where(weights > 0, np.maximum(1, np.rint(weights * (mean / weights.mean()))), 0).astype(np.int64)


def whole_costs(weights: Floats, most: int = MOST) -> Longs:
    """Integers proportional to `weights` that sum up to `most` at most, or hardly more; none where all are the same.

    Integers with such a sum stay as they are; multiples of the least become integers, so that the unit of weights does
    not matter. Only 0 becomes 0.
    """
    weights = uneven(weights)
    if weights.size == 0:
        return np.zeros(0, np.int64)
    total = float(weights.sum())
    if total <= most and (weights == np.rint(weights)).all():
        return weights.astype(np.int64)
    with np.errstate(over="ignore"):  # then they are no small ones
        multiples = weights / weights[weights > 0].min()
        small = multiples.sum() <= most
    if small and np.isclose(multiples, np.rint(multiples), rtol=1e-12, atol=0.0).all():
        return np.rint(multiples).astype(np.int64)
    scaled = np.rint(weights / weights.max() * (most / (total / weights.max())))
    return np.where(weights > 0, np.maximum(1, scaled), 0).astype(np.int64)


def cut_costs(graph: LocalityGraph) -> Longs:
    """The cost of cutting each job, int64 (jobs); empty if all are equal."""
    return whole_costs(graph.job_weights)


def copy_costs(graph: LocalityGraph) -> Longs:
    """The cost of a copy of each datum, int64 (data); empty if all are equal."""
    return whole_costs(graph.data_weights)


def charging_copies(graph: LocalityGraph) -> LocalityGraph:
    """The graph for partitioning data if jobs are to follow their data.

    Cutting a job then does not cost its load, but copies of its data: at worst of all but the most expensive. So its
    cost is their average weight; of two data, the smaller weight. O(pins).
    """
    weights = uneven(graph.data_weights)
    if weights.size == 0 and graph.job_weights.size == 0:
        return graph
    rows = (longs(graph.offsets), words(graph.data))
    charged = replace(graph, job_weights=_spread(*rows, floats(weights)) if weights.size else weights)
    if "transpose" in vars(graph):
        vars(charged)["transpose"] = graph.transpose
    return charged


@kept
def _spread(offsets: Longs, data: Words, weights: Floats) -> Floats:
    """The mean weight of the data of each job but one with the largest, 0 for a job of less than two."""
    found = np.zeros(offsets.size - 1)
    for job in range(found.size):
        total, most = 0.0, 0.0
        for pin in range(offsets[job], offsets[job + 1]):
            total += weights[data[pin]]
            most = max(most, weights[data[pin]])
        if offsets[job + 1] - offsets[job] > 1:
            found[job] = (total - most) / (offsets[job + 1] - offsets[job] - 1)
    return found
