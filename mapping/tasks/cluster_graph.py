"""Clusters and their interactions: the input of placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.support.arrays import Floats, Ints, Longs, check_range, check_weights, frozen
from tracecut.support.errors import ArgumentError


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
        import scipy.sparse as sp

        sent = sp.csr_array((self.messages, (self.src, self.dst)), shape=(self.k, self.k))
        both = (sent + sent.T).tocsr()
        both.sort_indices()
        return both.indptr.astype(np.int64), both.indices.astype(np.int32), both.data.astype(np.float64)
