"""Matrices, and a product by hand, for the tests of several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from tracecut.codegen.ranks.communicator import Communicator
from tracecut.codegen.ranks.product import RankProduct
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.ranks.share import Share, collect, share_out, spread
from tracecut.codegen.ranks.split import Entries, Split


def entries(matrix: Any, *, ones: bool = False) -> Entries:
    rows = sp.csr_array(matrix)
    values = np.zeros(0) if ones else rows.data.astype(np.float64)
    return Entries(rows.indptr.astype(np.uint32), rows.indices.astype(np.uint32), values)


def random_matrix(n: int, count: int, seed: int) -> sp.csr_array[Any]:
    """A few long rows and columns, empty ones, entries on the diagonal."""
    draw = np.random.default_rng(seed)
    u, v = (np.minimum((n * draw.random(count) ** 2).astype(np.int64), n - 1) for _ in range(2))
    values = draw.integers(-4, 5, count).astype(np.float64)
    return sp.csr_array((values, (draw.permutation(n)[u], draw.permutation(n)[v])), shape=(n, n))


def shared(comm: Communicator, ranks: Ranks, matrix: Entries) -> Share:
    """A rank's part of a matrix; local numbers rise by some order, or by their own."""
    if comm.rank != 0:
        return share_out(comm, None, None, ranks.exchange)
    order = np.random.default_rng(1).permutation(matrix.size).astype(np.uint32)
    split = ranks.make_split(matrix, comm.size)
    return share_out(comm, matrix, split, ranks.exchange, order if ranks.exchange == "needed" else None)


def multiplied(
    comm: Communicator, share: Share, x: npt.NDArray[np.float64], threads: int = 1
) -> tuple[npt.NDArray[np.float64], list[int], list[int]]:
    """A x on each rank; bytes and messages of vectors that each rank sent for it."""
    columns = [spread(comm, share, column.copy()) for column in x.reshape(len(x), -1).T]
    own = np.ascontiguousarray(np.stack(columns, axis=1)) if x.ndim > 1 else columns[0]
    y = np.full_like(own, np.nan)
    before = comm.sent.vectors, comm.sent.messages
    RankProduct(comm, share, threads).times(own, y)
    counts = comm.rows([comm.sent.vectors - before[0], comm.sent.messages - before[1]]).astype(int)
    return collect(comm, share, y), counts[:, 0].tolist(), counts[:, 1].tolist()


def by_hand(matrix: Entries, split: Split) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Entries of x and sums of y that go from one rank to another: sets of what each rank touches."""
    expand, fold = (np.zeros((split.ranks, split.ranks), np.int64) for _ in range(2))
    for rank in range(split.ranks):
        mine = split.places == rank
        for column in set(matrix.columns[mine].tolist()):
            expand[split.owners[column], rank] += split.owners[column] != rank
        for row in set(matrix.rows()[mine].tolist()):
            fold[rank, split.owners[row]] += split.owners[row] != rank
    return expand, fold
