"""Products of a matrix that is shared out to ranks: what is exchanged travels while other entries are multiplied."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.codegen.sparse.gather import FAST, gather
from tracecut.codegen.sparse.row_threads import row_blocks, run_blocks
from tracecut.support.arrays import Floats

from .communicator import Communicator, Pending
from .local_matrix import Parts
from .share import Border, Share

PIECES = 8  # of a product, between which messages are looked after


class RankProduct:
    """y = A x, each rank having its entries of both. Its calls are calls of all ranks.

    Each rank sends the entries of x that others lack, multiplies with its own meanwhile, then with those that came;
    sums that belong to others travel while it finishes its own ones. Sums of one entry are added in the order of the
    ranks, so that results have the same bits in each run, on any number of threads.
    """

    def __init__(self, comm: Communicator, share: Share, threads: int) -> None:
        self.comm, self.share, self.threads = comm, share, threads
        self.vectors = 0  # multiplied so far
        self._cuts: dict[tuple[int, int, int], list[list[int]]] = {}

    def times(self, x: Floats, y: Floats) -> None:
        """x, y: float64 (own) or (own, width), contiguous; y is overwritten. O(the rank's entries · width)."""
        share, shape = self.share, x.shape[1:]
        near, far, own = share.matrix.near, share.matrix.far, share.own
        more = share.matrix.shape[0] - own
        self.vectors += shape[0] if shape else 1
        tail, partial = np.empty((share.columns.ids.size, *shape)), np.empty((more, *shape))
        late = far[1].size > 0
        expand = self._start(share.columns, x, tail)
        self._rows(near, own, own + more, x, partial, False, expand)
        if late:
            self._rows(near, 0, own, x, y, False, expand)
        expand.wait()
        if late:
            self._rows(far, own, own + more, tail, partial, True, None)
        came = [np.empty((each.size, *shape)) for each in share.rows.shown]
        fold = self._return(share.rows, partial, came)
        self._rows(far if late else near, 0, own, tail if late else x, y, late, fold)
        fold.wait()
        for places, sums in zip(share.rows.shown, came, strict=True):
            if places.size:
                y[places] += sums

    def _start(self, border: Border, x: Floats, tail: Floats) -> Pending:
        """Entries of x to those that use them, and others' into `tail`."""
        cuts = border.cuts
        whole = x.shape[0]  # an owner that shows all it has sends it as it lies
        outgoing = [(r, x if each.size == whole else x[each]) for r, each in enumerate(border.shown)]
        return self.comm.exchange(outgoing, [(r, tail[cuts[r] : cuts[r + 1]]) for r in range(self.comm.size)])

    def _return(self, border: Border, partial: Floats, came: list[Floats]) -> Pending:
        """Sums to their owners, and others' into `came`."""
        cuts = border.cuts
        outgoing = [(r, partial[cuts[r] : cuts[r + 1]]) for r in range(self.comm.size)]
        return self.comm.exchange(outgoing, list(enumerate(came)))

    def _rows(
        self, part: Parts, first: int, last: int, x: Floats, y: Floats, add: bool, pending: Pending | None
    ) -> None:
        """Rows `first` to `last` of a part into y, which begins with the first of them."""
        offsets, columns, values = part
        if first == last:
            return
        kernel = _multiply if x.ndim == 1 else _multiply_side_by_side
        weights = values if values.size else None
        for cuts in self._pieces(offsets, first, last):
            run_blocks(lambda low, high: kernel(low, high, first, offsets, columns, weights, x, y, add), cuts)
            if pending is not None:
                pending.poll()

    def _pieces(self, offsets: npt.NDArray[np.uint64], first: int, last: int) -> list[list[int]]:
        """Row blocks of the threads, in each piece of some rows; made once for each part."""
        key = (id(offsets), first, last)
        if key not in self._cuts:
            starts = offsets.view(np.int64)
            edges = row_blocks(starts[first : last + 1] - starts[first], PIECES)
            found = []
            for low, high in pairwise(edges):
                begin = first + low
                inner = row_blocks(starts[begin : first + high + 1] - starts[begin], self.threads)
                found.append([begin + row for row in inner])
            self._cuts[key] = found
        return self._cuts[key]


@njit(cache=True, nogil=True, fastmath=FAST)
def _multiply(
    low: int, high: int, first: int, offsets: Any, columns: Any, weights: Any, x: Any, y: Any, add: bool
) -> None:
    for row in range(low, high):
        total = gather(offsets, columns, weights, x, row)
        y[row - first] = y[row - first] + total if add else total


@njit(cache=True, nogil=True, fastmath=FAST)
def _multiply_side_by_side(
    low: int, high: int, first: int, offsets: Any, columns: Any, weights: Any, x: Any, y: Any, add: bool
) -> None:
    for row in range(low, high):
        sums = y[row - first]
        if not add:
            sums[:] = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            source = x[columns[k]]
            weight = 1.0 if weights is None else weights[k]
            for i in range(sums.size):
                sums[i] += weight * source[i]
