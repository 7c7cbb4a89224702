"""What ranks need of each other: messages of arrays, and a row of numbers of each. MPI and threads provide it.

Every rank makes the same calls in the same order. Arrays are sent as they lie in memory, and nothing else is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import RankError, TracecutError

Array = npt.NDArray[Any]
Messages = Sequence[tuple[int, Array]]  # rank, contiguous array
T = TypeVar("T")
LONGEST = 2000  # bytes of what a rank says of its failure


@dataclass
class Sent:
    """What a rank has handed over so far: bytes of vectors and how many messages they were, bytes of rows."""

    vectors: int = 0
    messages: int = 0
    rows: int = 0


class Pending(Protocol):
    """Messages under way; their arrays must not change before `wait` returns."""

    def poll(self) -> None:
        """Let them move on: most MPI libraries do so only while they are called."""

    def wait(self) -> None:
        """Until all have left, and all have come."""


class Communicator(Protocol):
    """One rank's side of a group of ranks.

    Attributes:
        rank, size: its number, and how many there are. beside: how many of them share this machine.
        sent: counts what this rank sends.
    """

    rank: int
    size: int
    beside: int
    sent: Sent

    def exchange(self, outgoing: Messages, incoming: Messages) -> Pending:
        """Start to send arrays to ranks, and to receive into others, whose sizes and types are those that were sent.

        Empty ones are left out on both sides.
        """

    def rows(self, row: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """A row of numbers of each rank, in their order: float64 (size, any). The same bits on all ranks."""


def filled(messages: Messages) -> Messages:
    """Those that are not empty."""
    return [(rank, array) for rank, array in messages if array.size]


def hand_out(
    comm: Communicator, arrays: Callable[[int], Sequence[Array]], types: Sequence[npt.DTypeLike], root: int = 0
) -> list[Array]:
    """To each rank the arrays that `arrays(rank)` makes at `root`, one rank after the other; returns one's own.

    types: of the arrays, one dimension each, known to all.
    """
    if comm.rank != root:
        sizes = np.empty(len(types), np.int64)
        comm.exchange([], [(root, sizes)]).wait()
        found = [np.empty(size, dtype) for size, dtype in zip(sizes, types, strict=True)]
        comm.exchange([], [(root, array) for array in found]).wait()
        return found
    for rank in range(comm.size):
        if rank != root:
            given = [np.ascontiguousarray(each, dtype) for each, dtype in zip(arrays(rank), types, strict=True)]
            comm.exchange([(rank, np.array([each.size for each in given], np.int64))], []).wait()
            comm.exchange([(rank, each) for each in given], []).wait()
    return [np.ascontiguousarray(each, dtype) for each, dtype in zip(arrays(root), types, strict=True)]


def agree(comm: Communicator, work: Callable[[], T]) -> T:
    """What `work` returns, if it succeeds on every rank.

    Otherwise the first rank on which it fails raises its exception, and all others raise RankError, which names it.
    """
    result: Any = None
    error: Exception | None = None
    try:
        result = work()
    except Exception as caught:
        error = caught
    failed = np.flatnonzero(comm.rows([error is not None])[:, 0])
    if not failed.size:
        return result
    first = int(failed[0])
    text = b"" if error is None else _said(error).encode()[:LONGEST]
    (said,) = hand_out(comm, lambda _: [np.frombuffer(text, np.uint8)], [np.uint8], first)
    if error is not None and comm.rank == first:
        raise error
    raise RankError(first, said.tobytes().decode(errors="replace"))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, TracecutError) else f"{type(error).__name__}: {error}"
