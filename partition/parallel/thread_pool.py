"""Threads for kernels that release the GIL, on blocks that do not depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

Result = TypeVar("Result")

LEAST = 1 << 14  # items a block: below that, handing it over costs more than doing it
MOST = 16  # blocks: each has sums of its own, which are added up after every sweep


class ThreadPool:
    """At most `threads` threads, used as a context manager; None: one per usable core.

    Results never depend on the number of threads: callers divide work by `blocks`, which depends only on its size,
    and `each` returns the results in block order, to be summed in that order.
    """

    def __init__(self, threads: int | None, items: int) -> None:
        usable = len(os.sched_getaffinity(0)) if threads is None else threads
        self.threads = max(1, min(usable, items // LEAST))
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each(self, function: Callable[..., Result], calls: Iterable[Sequence[Any]]) -> list[Result]:
        """`function(*arguments)` for each of `calls`, in any order in time; the results in the order of `calls`.

        The caller's thread begins with the first call. Calls may use this pool themselves: threads that have no more to
        do here help them. (`ordered_pieces.side_by_side` may not be among them: it needs all threads at once.)
        """
        given = list(calls)
        if self._pool is None or len(given) == 1:
            return [function(*arguments) for arguments in given]
        results: list[Any] = [None] * len(given)
        turn = count(1)

        def work(i: int | None = None) -> None:
            i = next(turn) if i is None else i
            while i < len(given):
                results[i] = function(*given[i])
                i = next(turn)

        # Handing over a task costs as much as a small block: each thread gets one, and this one works as well.
        others = [self._pool.submit(work) for _ in range(min(self.threads, len(given)) - 1)]
        try:
            work(0)
        finally:
            for other in others:
                if not other.cancel():  # one that has not started is not missed
                    other.result()
        return results

    def all(self, *tasks: Callable[[], Any]) -> list[Any]:
        """What the tasks return, each done once, side by side; as `each`."""
        return self.each(_call, [(task,) for task in tasks])

    def workspaces(self, make: Callable[[], tuple[Any, ...]]) -> Workspaces:
        """A workspace for each thread, made by `make`."""
        return Workspaces(self, make)


class Workspaces:
    """Arrays that calls work in and leave as they found them, one set for each thread."""

    def __init__(self, pool: ThreadPool, make: Callable[[], tuple[Any, ...]]) -> None:
        self._pool = pool
        self._free: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        for _ in range(pool.threads):
            self._free.put(make())

    def each(self, function: Callable[..., Result], calls: Iterable[Sequence[Any]]) -> list[Result]:
        """As `ThreadPool.each`, with the arrays of a workspace after the arguments of each call."""

        def enter(*arguments: Any) -> Result:
            arrays = self._free.get()
            try:
                return function(*arguments, *arrays)
            finally:
                self._free.put(arrays)

        return self._pool.each(enter, calls)


def _call(task: Callable[[], Result]) -> Result:
    return task()


def blocks(items: int) -> list[tuple[int, int]]:
    """`[0, items)` in at most 16 contiguous ranges of nearly equal length."""
    pieces = max(1, min(MOST, items // LEAST))
    return [(items * i // pieces, items * (i + 1) // pieces) for i in range(pieces)]
