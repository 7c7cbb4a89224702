"""Iterations on several ranks: what the first one has is handed out, what all found is put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.ranks.communicator import Communicator, agree, hand_out
from tracecut.codegen.ranks.product import RankProduct
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.ranks.share import Share, collect, share_out, spread
from tracecut.codegen.ranks.split import Entries
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError

from .in_links import Gathered, cut, gathered
from .iterations import NORMS, Bounds
from .links import Links
from .records import Communication


@dataclass(frozen=True, eq=False)
class Problem:
    """What the first rank hands out.

    Attributes:
        numbers: options, which other ranks may not have been given.
        priority: as of `share_out`. nodes: their names.
    """

    matrix: Entries
    vectors: Sequence[Floats]
    numbers: Sequence[float]
    priority: npt.NDArray[np.uint32] | None
    nodes: Sequence[Any] | None


@dataclass(frozen=True, eq=False)
class Held:
    """What an iteration works with on each rank.

    Attributes:
        vectors: this rank's entries of those of the problem. numbers: as in the problem. nodes: on the first
        rank alone.
        blocks: the rank's entries without links, for the kernels of `steps`.
        began, split: seconds, when the call began, and how long it took to hand out.
    """

    ranks: Ranks
    comm: Communicator
    share: Share
    vectors: list[Floats]
    numbers: list[float]
    nodes: Sequence[Any] | None
    threads: int
    blocks: Gathered
    began: float
    split: float

    def product(self, *, turned: bool = False) -> RankProduct:
        """With the matrix, or the transposed one."""
        return RankProduct(self.comm, self.share.turned if turned else self.share, self.threads)

    def sum(self, value: float) -> float:
        """Of a number of each rank, added in their order."""
        return float(self.comm.rows([value])[:, 0].sum())

    @property
    def size(self) -> int:
        """Nodes of all ranks."""
        return self.share.owned.owners.size

    def whole(self, own: Floats) -> Floats:
        """A vector, or several side by side, of all nodes, on every rank."""
        return collect(self.comm, self.share, own)

    def communication(self, products: Sequence[RankProduct], sent_before: int) -> Communication:
        """What was sent for the products, and what the model says of it. A call of all ranks.

        sent_before: bytes of vectors that this rank had sent before the iteration.
        """
        spent = perf_counter() - self.began - self.split
        sent = self.comm.rows([self.comm.sent.vectors - sent_before])[:, 0]
        predicted = sum(each.share.traffic.bytes(each.vectors) for each in products)
        seconds = self.comm.rows([self.split, spent]).max(axis=0)
        return Communication(
            self.comm.size, self.ranks.split, self.ranks.exchange, sum(each.vectors for each in products),
            tuple(sent.astype(int).tolist()), tuple(np.asarray(predicted).tolist()), *map(float, seconds),
        )  # fmt: skip


def hold(comm: Communicator, ranks: Ranks, prepare: Callable[[], Problem], threads: int | None, vectors: int) -> Held:
    """Hands out what `prepare` makes on the first rank. A call of all ranks.

    vectors: how many there are. Raises on every rank what is raised on one (`communicator.agree`).
    """
    began = perf_counter()
    problem = agree(comm, lambda: prepare() if comm.rank == 0 else None)
    split = agree(comm, lambda: None if problem is None else ranks.make_split(problem.matrix, comm.size))
    given = [] if problem is None else [np.array(problem.numbers)]
    (numbers,) = hand_out(comm, lambda _: given, [np.float64])
    matrix, priority = (None, None) if problem is None else (problem.matrix, problem.priority)
    share = share_out(comm, matrix, split, ranks.exchange, priority)
    own = [spread(comm, share, None if problem is None else problem.vectors[i]) for i in range(vectors)]
    rows = np.arange(share.own + 1, dtype=np.uint32)
    blocks = cut(rows, rows[:-1], np.zeros(0))
    comm.rows([0.0])  # so that the seconds of the slowest rank are those of all
    count = ranks.threads(comm, threads)
    spent = perf_counter() - began
    nodes = None if problem is None else problem.nodes
    return Held(ranks, comm, share, own, numbers.tolist(), nodes, count, blocks, began, spent)


def refuse_operator(operator: Any) -> None:
    """Raises ArgumentError: a LinearOperator has no entries to share out."""
    if operator is not None:
        raise ArgumentError("operator is given, whose entries are not known", hint='device="cpu" takes it.')


def incoming(links: Links) -> Entries:
    """The matrix whose row v holds the links into node v, by the nodes' own numbers: splits cut these."""
    return entries_of(gathered(links, np.arange(links.size, dtype=np.uint32)))


def entries_of(graph: Gathered) -> Entries:
    """Links by what is gathered, as a matrix."""
    return Entries(graph.offsets, graph.sources.astype(np.uint32, copy=False), graph.weights)


def bounds_of(numbers: Sequence[float], threads: int) -> Bounds:
    """Bounds that were handed out as three numbers."""
    tol, norm, most = numbers
    return Bounds(tol, int(norm), int(most), threads)


def joined(held: Held, bounds: Bounds) -> Callable[[Floats], Floats]:
    """Sums of blocks, the first column being norms, put together: a row of each rank."""

    def join(sums: Floats) -> Floats:
        first = sums[:, 0]
        norm = first.max(initial=0.0) if bounds.norm == NORMS["max"] else first.sum()
        return held.comm.rows([norm, *sums[:, 1:].sum(axis=0)])

    return join
