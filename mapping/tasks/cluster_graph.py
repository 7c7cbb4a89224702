"""Clusters and their interactions: the input of placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.support.arrays import Floats, Ints, Longs, check_range, check_weights, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import compiled


@dataclass(frozen=True, eq=False)
class ClusterGraph:
    """Interactions of k clusters.

    Attributes:
        load: float64 (k), cycles of work of each cluster.
        first: int64 (k), when each cluster can begin: the first of its tasks in the order of the program; a cluster
            without tasks has the largest number. Clusters become ready in this order.
        src, dst: int32 (m), pairs of different clusters, each ordered pair at most once, sorted by (src, dst).
        messages: float64 (m), values that src sends to dst: each once, however often dst uses it.
        words: float64 (m), what the seed counts: an edge cut sends a value for every cut edge, a vertex cut for every
            replica.
    """

    load: Floats
    first: Longs
    src: Ints
    dst: Ints
    messages: Floats
    words: Floats

    def __post_init__(self) -> None:
        for name, dtype in (("load", np.float64), ("first", np.int64), ("src", np.int32), ("dst", np.int32)):
            object.__setattr__(self, name, frozen(name, getattr(self, name), dtype))
        for name in ("messages", "words"):
            object.__setattr__(self, name, frozen(name, getattr(self, name), np.float64))
        self.verify()

    @property
    def k(self) -> int:
        """Number of clusters."""
        return self.load.size

    def verify(self) -> None:
        """Raises ArgumentError unless every rule of the class docstring holds. O(k + m)."""
        m = self.src.size
        for name, size in (("first", self.k), ("dst", m), ("messages", m), ("words", m)):
            if getattr(self, name).size != size:
                raise ArgumentError(f"{name} has {getattr(self, name).size} entries, {size} expected")
        for name in ("load", "messages", "words"):
            check_weights(name, getattr(self, name))
        check_range("src", self.src, 0, self.k)
        check_range("dst", self.dst, 0, self.k)
        if np.any(self.src == self.dst) or np.any(np.diff(self.src.astype(np.int64) * self.k + self.dst) <= 0):
            raise ArgumentError("interactions must be between different clusters, sorted, each pair once")

    def both_ways(self) -> tuple[Longs, Ints, Floats]:
        """CSR of the messages in either direction: offsets int64 (k + 1), neighbours int32, messages float64."""
        return _both_ways(self.src, self.dst, self.messages, self.k)


@compiled(cache=True, nogil=True)
def _both_ways(src: Ints, dst: Ints, messages: Floats, k: int) -> tuple[Longs, Ints, Floats]:
    """Each cluster's pairs with it as the source and those with it as the target, both sorted, merged. O(k + m)."""
    m = src.size
    out, into = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    for i in range(m):
        out[src[i] + 1] += 1
        into[dst[i] + 1] += 1
    for cluster in range(k):
        out[cluster + 1] += out[cluster]
        into[cluster + 1] += into[cluster]
    order, place = np.empty(m, np.int64), into[:k].copy()
    for i in range(m):
        order[place[dst[i]]] = i
        place[dst[i]] += 1
    offsets, others, sums = np.zeros(k + 1, np.int64), np.empty(2 * m, np.int32), np.empty(2 * m)
    found = 0
    for cluster in range(k):
        a, b = out[cluster], into[cluster]
        while a < out[cluster + 1] or b < into[cluster + 1]:
            first = dst[a] if a < out[cluster + 1] else k
            second = src[order[b]] if b < into[cluster + 1] else k
            others[found], sums[found] = min(first, second), 0.0
            if first <= second:
                sums[found] += messages[a]
                a += 1
            if second <= first:
                sums[found] += messages[order[b]]
                b += 1
            found += 1
        offsets[cluster + 1] = found
    return offsets, others[:found].copy(), sums[:found].copy()
