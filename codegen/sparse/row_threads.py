"""Threads for products: contiguous row blocks of nearly equal work, no row in two of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt
from tracecut.support.argument_checks import whole_number

LEAST = 1 << 16  # nonzeros a thread: below that, waking another one takes as long as they do
MOST = 1024
Cuts = tuple[int, ...]

_LOCK = Lock()
_POOLS: list[ThreadPoolExecutor] = []  # the one that is in use, if any


def usable(threads: int | None) -> int:
    """The most threads of a product; None: one per core that this process may use. Raises ArgumentError."""
    return len(os.sched_getaffinity(0)) if threads is None else whole_number("threads", threads, 1, MOST)


def row_blocks(offsets: npt.NDArray[np.integer], threads: int) -> Cuts:
    """Where the row blocks of `threads` threads begin, and where the last one ends. A row costs as much as an entry.

    Fewer blocks where there is little work; a block is empty where a single row has more than its share.
    O(threads log² rows).
    """
    rows = offsets.size - 1
    if threads == 1:  # a product of a small matrix takes little longer than finding this out
        return 0, rows
    entries = int(offsets[-1])
    blocks = max(1, min(threads, entries // LEAST))
    cuts = [0]
    for block in range(1, blocks):
        goal, low, high = (entries + rows) * block // blocks, cuts[-1], rows
        while low < high:  # the first row whose work before it reaches the goal
            middle = (low + high) // 2
            low, high = (middle + 1, high) if int(offsets[middle]) + middle < goal else (low, middle)
        cuts.append(low)
    return (*cuts, rows)


def run_blocks(call: Callable[[int, int], object], cuts: Sequence[int]) -> None:
    """`call(first, last)` for each row block, side by side; the calling thread takes the last one."""
    if len(cuts) == 2:
        if cuts[0] < cuts[1]:
            call(cuts[0], cuts[1])
        return
    pairs = [(first, last) for first, last in pairwise(cuts) if first < last]
    if not pairs:
        return
    others: list[Future[object]] = []
    if len(pairs) > 1:
        pool = _pool()
        others = [pool.submit(call, *pair) for pair in pairs[:-1]]
    try:
        call(*pairs[-1])
    finally:
        for other in others:
            other.result()


def _pool() -> ThreadPoolExecutor:
    """One pool for the process, as large as any product may ask for; threads start when they are needed."""
    with _LOCK:
        if not _POOLS:
            _POOLS.append(ThreadPoolExecutor(MOST, thread_name_prefix="tracecut-rows"))
        return _POOLS[0]


def _forget() -> None:
    """A child of `fork` has none of the threads: it makes a pool of its own."""
    global _LOCK
    _LOCK = Lock()
    _POOLS.clear()


os.register_at_fork(after_in_child=_forget)
