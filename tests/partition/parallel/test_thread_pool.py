"""Calls on several threads: results in order, errors to the caller, calls inside calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tracecut.partition.parallel.thread_pool import LEAST, ThreadPool

pytestmark = pytest.mark.quick

THREADS = [1, 2, 3]


@pytest.fixture(params=THREADS)
def pool(request: pytest.FixtureRequest) -> Iterator[ThreadPool]:
    with ThreadPool(request.param, 4 * LEAST) as made:
        yield made


@pytest.mark.parametrize("calls", [0, 1, 2, 50])
def test_results_come_in_the_order_of_the_calls(pool: ThreadPool, calls: int) -> None:
    assert pool.each(lambda x, y: 10 * x + y, [(i, 1) for i in range(calls)]) == [10 * i + 1 for i in range(calls)]


def test_the_caller_makes_the_first_call(pool: ThreadPool) -> None:
    for _ in range(20):
        assert pool.each(lambda _: threading.get_ident(), [(i,) for i in range(5)])[0] == threading.get_ident()


def test_calls_inside_calls(pool: ThreadPool) -> None:
    """Whichever thread makes them, and while the others are busy."""

    def outer(x: int) -> int:
        return sum(pool.each(pow, [(x, y) for y in range(6)]))

    for _ in range(50):
        assert pool.each(outer, [(x,) for x in range(7)]) == [sum(x**y for y in range(6)) for x in range(7)]


@pytest.mark.parametrize("bad", [0, 3, 7])
def test_errors_reach_the_caller(pool: ThreadPool, bad: int) -> None:
    def call(i: int) -> int:
        if i == bad:
            raise ValueError(f"call {i}")
        return i

    with pytest.raises(ValueError, match=f"call {bad}"):
        pool.each(call, [(i,) for i in range(8)])
    assert pool.each(call, [(8,), (9,)]) == [8, 9]
