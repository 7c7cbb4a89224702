"""Ranks as threads of this process: what a split costs can be seen, and tests run, without MPI."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import InternalError, RankError

from .communicator import Array, Communicator, Messages, Sent, filled

T = TypeVar("T")
Boxes = dict[tuple[str, int, int], "SimpleQueue[Any]"]  # kind, sender, receiver


class _Failed:
    """In place of a message: the sender has failed, or has heard of one that has."""

    def __init__(self, rank: int, said: str) -> None:
        self.rank, self.said = rank, said


def run_threads(size: int, work: Callable[[Communicator], T]) -> T:
    """`work` on ranks that are threads; returns what the first rank returned.

    Raises what the first failing rank raised; a rank that waits for one that failed ends with RankError.
    """
    pairs = [(source, target) for source in range(size) for target in range(size)]
    boxes: Boxes = {(kind, *pair): SimpleQueue() for kind in ("array", "row") for pair in pairs}
    results: list[Any] = [None] * size
    errors: list[BaseException | None] = [None] * size

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadCommunicator(rank, size, boxes))
        except BaseException as error:
            errors[rank] = error
            cause = _Failed(error.rank, error.message) if isinstance(error, RankError) else _Failed(rank, str(error))
            for (_, source, target), box in boxes.items():
                if source == rank and target != rank:
                    box.put(cause)

    threads = [Thread(target=run, args=(rank,), name=f"tracecut-rank-{rank}") for rank in range(1, size)]
    for thread in threads:
        thread.start()
    run(0)
    for thread in threads:
        thread.join()
    raised = [error for error in errors if error is not None]
    own = [error for error in raised if not isinstance(error, RankError)]  # the others only heard of it
    for error in own or raised:
        raise error
    return results[0]


class ThreadCommunicator:
    """A rank that is a thread. What is sent is copied at once."""

    def __init__(self, rank: int, size: int, boxes: Boxes) -> None:
        self.rank, self.size, self.beside, self.sent = rank, size, size, Sent()
        self._boxes = boxes

    def exchange(self, outgoing: Messages, incoming: Messages) -> ThreadPending:
        for target, array in filled(outgoing):
            self.sent.vectors += array.nbytes
            self.sent.messages += 1
            self._boxes["array", self.rank, target].put(array.copy())
        return ThreadPending([(array, self._boxes["array", source, self.rank]) for source, array in filled(incoming)])

    def rows(self, row: npt.ArrayLike) -> npt.NDArray[np.float64]:
        own = np.array(row, np.float64)
        for target in range(self.size):
            if target != self.rank:
                self.sent.rows += own.nbytes
                self._boxes["row", self.rank, target].put(own)
        sources = range(self.size)
        return np.stack([
            own if source == self.rank else _taken(self._boxes["row", source, self.rank]) for source in sources
        ])  # fmt: skip


class ThreadPending:
    """Arrays that wait to be filled, each with the box that its content comes from."""

    def __init__(self, awaited: list[tuple[Array, SimpleQueue[Any]]]) -> None:
        self._awaited = awaited

    def poll(self) -> None:
        """Nothing: what was sent has arrived."""

    def wait(self) -> None:
        for array, box in self._awaited:
            content = _taken(box)
            if (content.shape, content.dtype) != (array.shape, array.dtype):
                raise InternalError(f"{content.shape} of {content.dtype} came, {array.shape} of {array.dtype} awaited")
            array[...] = content
        self._awaited = []


def _taken(box: SimpleQueue[Any]) -> Array:
    content = box.get()
    if isinstance(content, _Failed):
        raise RankError(content.rank, content.said)
    return content
