"""Threads that wait for each other inside a kernel, and threads that share out calls."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from tracecut.partition.parallel.barrier import add, new_barrier, next_item, run_threads, wait_all
from tracecut.partition.parallel.thread_pool import ThreadPool

pytestmark = pytest.mark.quick


@njit(nogil=True)
def pass_on(row: np.ndarray, rounds: int, barrier: np.ndarray, rank: int, n_threads: int) -> bool:
    """In each round everyone adds what their right neighbour had before it."""
    for _ in range(rounds):
        right = row[(rank + 1) % n_threads]
        if not wait_all(barrier, n_threads):
            return False
        row[rank] += right
        if not wait_all(barrier, n_threads):
            return False
    return True


@njit(nogil=True)
def share_out(owner: np.ndarray, phases: int, barrier: np.ndarray, rank: int, n_threads: int) -> None:
    count = owner.size // phases
    for phase in range(phases):
        while True:
            item = next_item(barrier, phase * (count + n_threads))
            if item >= count:
                break
            owner[phase * count + item] += 1 + 100 * rank
        if not wait_all(barrier, n_threads):
            return


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_nobody_runs_ahead(n_threads: int) -> None:
    row = np.arange(1, n_threads + 1)
    expected = row.copy()
    for _ in range(40):
        expected += np.roll(expected, -1)
    assert run_threads(pass_on, (row, 40), n_threads, new_barrier())
    assert row.tolist() == expected.tolist()


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_everything_is_taken_once(n_threads: int) -> None:
    owner = np.zeros(60, np.int64)
    run_threads(share_out, (owner, 6), n_threads, new_barrier())
    assert set((owner % 100).tolist()) == {1} and owner.max() < 100 * n_threads


def test_adding_tells_what_was_there() -> None:
    @njit
    def twice(numbers: np.ndarray) -> tuple[int, int]:
        return add(numbers, 1, 5), add(numbers, 1, -2)

    numbers = np.array([7, 8, 9])
    assert twice(numbers) == (8, 13) and numbers.tolist() == [7, 11, 9]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_the_error_of_one_lets_the_others_go(bad: int) -> None:
    left = []

    def work(barrier: np.ndarray, rank: int, n_threads: int) -> None:
        if rank == bad:
            raise ValueError(f"rank {rank}")
        left.append(wait_all(barrier, n_threads))

    with pytest.raises(ValueError, match=f"rank {bad}"):
        run_threads(work, (), 3, new_barrier())
    assert left == [False, False]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_pool_gives_results_in_the_order_of_the_calls(threads: int) -> None:
    with ThreadPool(threads, 1 << 20) as pool:
        for count in (0, 1, 3, 100):
            assert pool.each(lambda i: i * i, [(i,) for i in range(count)]) == [i * i for i in range(count)]
        workspaces = pool.workspaces(lambda: ([],))
        assert workspaces.each(lambda i, room: room.append(i) or i, [(i,) for i in range(50)]) == list(range(50))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bad", [0, 1, 30])
def test_a_pool_raises_what_a_call_raised(threads: int, bad: int) -> None:
    def work(i: int) -> int:
        if i == bad:
            raise ValueError(f"call {i}")
        return i

    with ThreadPool(threads, 1 << 20) as pool:
        with pytest.raises(ValueError, match=f"call {bad}"):
            pool.each(work, [(i,) for i in range(40)])
        assert pool.each(work, [(50,)]) == [50]
