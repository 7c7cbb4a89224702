"""Pieces of work for threads inside one kernel: taken once, waited for, and left when a thread fails."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.partition.parallel.barrier import wait_all
from tracecut.partition.parallel.ordered_pieces import finish, piece, ready, restart, side_by_side, wait
from tracecut.partition.parallel.thread_pool import ThreadPool

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_piece_is_taken_once_and_followed_in_order(threads: int) -> None:
    taken, values = [], []

    def work(given: int, barrier: np.ndarray, rank: int, n_threads: int) -> int:
        for _ in range(2):
            i = piece(barrier)
            while i < given:
                taken.append(i)
                finish(barrier, i, 10 * i)
                i = piece(barrier)
            if rank == 0:
                values.append([wait(barrier, j) for j in range(given)])
            if not wait_all(barrier, n_threads):
                return -1
            if rank == 0:
                assert ready(barrier, 0) == 0
                restart(barrier)
                assert ready(barrier, 0) == -1
            if not wait_all(barrier, n_threads):
                return -1
        return rank

    with ThreadPool(threads, 1 << 20) as pool:
        assert side_by_side(pool, work, (9,)) == 0
        assert side_by_side(pool, work, (7,)) == 0
    assert sorted(taken) == sorted(2 * list(range(9)) + 2 * list(range(7)))
    assert values == 2 * [[10 * i for i in range(9)]] + 2 * [[10 * i for i in range(7)]]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_thread_that_fails_ends_the_wait_of_the_others(failing: int) -> None:
    seen = []

    def work(barrier: np.ndarray, rank: int, n_threads: int) -> None:
        finish(barrier, rank, 0)
        wait(barrier, 1 - rank)
        if rank == failing:
            raise MemoryError("no room")
        seen.append(wait(barrier, 3))

    with ThreadPool(2, 1 << 20) as pool, pytest.raises(MemoryError, match="no room"):
        side_by_side(pool, work, ())
    assert seen == [-1]
