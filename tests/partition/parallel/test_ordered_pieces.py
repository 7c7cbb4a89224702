"""Pieces of work for threads inside one kernel: taken once, waited for, and left when a thread fails."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.partition.parallel.barrier import meet
from tracecut.partition.parallel.ordered_pieces import finish, piece, ready, restart, side_by_side, wait
from tracecut.partition.parallel.thread_pool import Crew

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_piece_is_taken_once_and_followed_in_order(threads: int) -> None:
    taken, values = [], []

    def work(given: int, own: np.ndarray, rank: int, parties: int) -> int:
        for _ in range(2):
            i = piece(own)
            while i < given:
                taken.append(i)
                finish(own, i, 10 * i)
                i = piece(own)
            if rank == 0:
                values.append([wait(own, j) for j in range(given)])
            if not meet(own, parties):
                return -1
            if rank == 0:
                assert ready(own, 0) == 0
                restart(own)
                assert ready(own, 0) == -1
            if not meet(own, parties):
                return -1
        return rank

    with Crew(threads, 1 << 20) as crew:
        assert side_by_side(crew, work, (9,)) == 0
        assert side_by_side(crew, work, (7,)) == 0
    assert sorted(taken) == sorted(2 * list(range(9)) + 2 * list(range(7)))
    assert values == 2 * [[10 * i for i in range(9)]] + 2 * [[10 * i for i in range(7)]]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_thread_that_fails_ends_the_wait_of_the_others(failing: int) -> None:
    seen = []

    def work(own: np.ndarray, rank: int, parties: int) -> None:
        finish(own, rank, 0)
        wait(own, 1 - rank)
        if rank == failing:
            raise MemoryError("no room")
        seen.append(wait(own, 3))

    with Crew(2, 1 << 20) as crew, pytest.raises(MemoryError, match="no room"):
        side_by_side(crew, work, ())
    assert seen == [-1]
