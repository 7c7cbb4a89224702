"""Threads that wait for each other inside a kernel, and threads that share out calls."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from tracecut.partition.parallel.barrier import add, gate, meet, take, together
from tracecut.partition.parallel.thread_pool import Crew

pytestmark = pytest.mark.quick


@njit(nogil=True)
def pass_on(row: np.ndarray, rounds: int, own: np.ndarray, rank: int, parties: int) -> bool:
    """In each round everyone adds what their right neighbour had before it."""
    for _ in range(rounds):
        right = row[(rank + 1) % parties]
        if not meet(own, parties):
            return False
        row[rank] += right
        if not meet(own, parties):
            return False
    return True


@njit(nogil=True)
def share_out(owner: np.ndarray, phases: int, own: np.ndarray, rank: int, parties: int) -> None:
    count = owner.size // phases
    for phase in range(phases):
        while True:
            item = take(own, phase * (count + parties))
            if item >= count:
                break
            owner[phase * count + item] += 1 + 100 * rank
        if not meet(own, parties):
            return


@pytest.mark.parametrize("parties", [1, 2, 3, 5])
def test_nobody_runs_ahead(parties: int) -> None:
    row = np.arange(1, parties + 1)
    expected = row.copy()
    for _ in range(40):
        expected += np.roll(expected, -1)
    assert together(pass_on, (row, 40), parties, gate())
    assert row.tolist() == expected.tolist()


@pytest.mark.parametrize("parties", [1, 2, 3, 5])
def test_everything_is_taken_once(parties: int) -> None:
    owner = np.zeros(60, np.int64)
    together(share_out, (owner, 6), parties, gate())
    assert set((owner % 100).tolist()) == {1} and owner.max() < 100 * parties


def test_adding_tells_what_was_there() -> None:
    @njit
    def twice(numbers: np.ndarray) -> tuple[int, int]:
        return add(numbers, 1, 5), add(numbers, 1, -2)

    numbers = np.array([7, 8, 9])
    assert twice(numbers) == (8, 13) and numbers.tolist() == [7, 11, 9]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_the_error_of_one_lets_the_others_go(bad: int) -> None:
    left = []

    def work(own: np.ndarray, rank: int, parties: int) -> None:
        if rank == bad:
            raise ValueError(f"rank {rank}")
        left.append(meet(own, parties))

    with pytest.raises(ValueError, match=f"rank {bad}"):
        together(work, (), 3, gate())
    assert left == [False, False]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_crew_gives_results_in_the_order_of_the_calls(threads: int) -> None:
    with Crew(threads, 1 << 20) as crew:
        for count in (0, 1, 3, 100):
            assert crew.each(lambda i: i * i, [(i,) for i in range(count)]) == [i * i for i in range(count)]
        rooms = crew.rooms(lambda: ([],))
        assert rooms.each(lambda i, room: room.append(i) or i, [(i,) for i in range(50)]) == list(range(50))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bad", [0, 1, 30])
def test_a_crew_raises_what_a_call_raised(threads: int, bad: int) -> None:
    def work(i: int) -> int:
        if i == bad:
            raise ValueError(f"call {i}")
        return i

    with Crew(threads, 1 << 20) as crew:
        with pytest.raises(ValueError, match=f"call {bad}"):
            crew.each(work, [(i,) for i in range(40)])
        assert crew.each(work, [(50,)]) == [50]
