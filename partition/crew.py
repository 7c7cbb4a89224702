"""Threads for kernels that release the lock, on blocks that the number of threads does not change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

Result = TypeVar("Result")

LEAST = 1 << 14  # items a block: below that, handing it over costs more than doing it
MOST = 16  # blocks: each has sums of its own, which are added up after every sweep


class Crew:
    """At most `threads` threads, used as a context manager; None takes one a usable core.

    Results never depend on the number of threads: callers cut their work by `blocks`, which looks at its size alone,
    and `each` returns what the blocks gave in block order, to be added up in that order.
    """

    def __init__(self, threads: int | None, items: int) -> None:
        usable = len(os.sched_getaffinity(0)) if threads is None else threads
        self.threads = max(1, min(usable, items // LEAST))
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each(self, function: Callable[..., Result], calls: Iterable[Sequence[Any]]) -> list[Result]:
        """`function(*arguments)` for each of `calls`, in any order in time; the results in the order of `calls`."""
        if self._pool is None:
            return [function(*arguments) for arguments in calls]
        return list(self._pool.map(lambda arguments: function(*arguments), calls))


def blocks(items: int) -> list[tuple[int, int]]:
    """`[0, items)` in at most 16 contiguous ranges of nearly equal length."""
    count = max(1, min(MOST, items // LEAST))
    return [(items * i // count, items * (i + 1) // count) for i in range(count)]
