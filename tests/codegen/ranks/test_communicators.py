"""Ranks that are threads: what is handed out and agreed on, and how all end where one fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracecut.codegen.ranks.communicator import Communicator, agree, hand_out
from tracecut.codegen.ranks.in_process import run_threads
from tracecut.support.errors import ArgumentError, InternalError, RankError

pytestmark = pytest.mark.quick


def test_rows_and_what_is_handed_out() -> None:
    def work(comm: Communicator) -> Any:
        own = hand_out(comm, lambda rank: [np.arange(rank), np.full(2, rank)], [np.uint32, np.float64])
        last = hand_out(comm, lambda _: [np.array([comm.rank])], [np.int64], comm.size - 1)
        assert own[0].tolist() == list(range(comm.rank)) and own[1].tolist() == [comm.rank] * 2
        return comm.rows([comm.rank, last[0][0]]).tolist(), comm.sent.rows

    assert run_threads(3, work) == ([[0, 2], [1, 2], [2, 2]], 32)


def test_the_first_failing_rank_is_named_on_all_others() -> None:
    said: list[str] = []

    def work(comm: Communicator) -> None:
        def part() -> None:
            if comm.rank in (1, 2):
                raise ArgumentError(f"bad {comm.rank}") if comm.rank == 1 else MemoryError("full")

        try:
            agree(comm, part)
        except RankError as error:
            said.append(f"{comm.rank}: {error}")
            assert error.rank == 1
            raise

    with pytest.raises(ArgumentError, match="bad 1"):
        run_threads(4, work)
    assert sorted(said) == ["0: rank 1: bad 1", "2: rank 1: bad 1", "3: rank 1: bad 1"]
    assert run_threads(3, lambda comm: agree(comm, lambda: comm.rank)) == 0


def test_a_rank_that_ends_ends_the_ones_that_wait_for_it() -> None:
    def work(comm: Communicator) -> None:
        if comm.rank == 2:
            raise MemoryError("none left")
        comm.rows([1.0])

    with pytest.raises(MemoryError, match="none left"):
        run_threads(3, work)


def test_an_unexpected_message_is_a_bug() -> None:
    def work(comm: Communicator) -> None:
        out = [(1, np.zeros(3))] if comm.rank == 0 else []
        comm.exchange(out, [(0, np.zeros(4))] if comm.rank == 1 else []).wait()

    with pytest.raises(InternalError, match="awaited"):
        run_threads(2, work)
