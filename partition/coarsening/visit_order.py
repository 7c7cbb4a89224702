"""In which order the nodes of a level are visited when they are grouped, and how that is shared out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.parallel.thread_pool import MOST
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

LITTLE = 4096  # nodes, of fewer one thread visits all


@dataclass(frozen=True, eq=False)
class Visits:
    """Every node once.

    Attributes:
        order: uint32 (nodes).
        lots: parts of it, each with all nodes of some labels in the same order; empty where one thread visits all.
    """

    order: Words
    lots: tuple[Words, ...]


def shuffled_visits(nodes: int, labels: Words | None, seed: int) -> Visits:
    """The nodes shuffled by the seed, dealt by `labels`, uint32 (nodes), where there are any. O(nodes)."""
    order = np.arange(nodes, dtype=np.uint32)
    shuffle(order, seed)
    if labels is None or nodes < LITTLE:
        return Visits(words(order), ())
    dealt, starts = _dealt(order, words(labels), int(labels.max()) + 1)
    return Visits(words(order), tuple(words(lot) for lot in np.split(dealt, starts)))


@kept
def _dealt(order: Words, labels: Words, k: int) -> tuple[Words, Longs]:
    """The nodes in `MOST` lots of whole labels, each lot in the order that was; where each lot but the first begins."""
    starts = np.zeros(MOST + 1, np.int64)
    for u in order:
        starts[np.int64(labels[u]) * MOST // k + 1] += 1
    starts = np.cumsum(starts)
    dealt, place = np.empty(order.size, np.uint32), starts.copy()
    for u in order:
        lot = np.int64(labels[u]) * MOST // k
        dealt[place[lot]] = u
        place[lot] += 1
    return dealt, starts[1:MOST].copy()
