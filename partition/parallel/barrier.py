"""Threads that go through the same kernel side by side and wait for each other inside it.

Submitting work to a pool takes tens of microseconds, as long as a sweep over a sample. A kernel that every thread
enters once, with barriers between its phases, needs about one microsecond per phase.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

ARRIVED, PASSED, TAKEN, BROKEN = 0, 8, 16, 24  # places in a barrier, each in a cache line of its own
SPIN = 4000  # loads of the barrier, some microseconds, before the thread yields its core


def new_barrier() -> Longs:
    """A new barrier, to be given to `wait_all` and `next_item` by all threads of one `run_threads`."""
    return np.zeros(32, np.int64)


def run_threads(function: Callable[..., Any], arguments: tuple[Any, ...], n_threads: int, barrier: Longs) -> Any:
    """`function(*arguments, barrier, rank, n_threads)` for each rank below `n_threads` at the same time.

    Rank 0 runs in the calling thread, the others on threads started for it. `barrier` is theirs: when one fails, the
    others leave at the next `wait_all`, and its error is raised.

    Returns:
        What rank 0 returned.
    """
    errors: list[BaseException] = []

    def follow(rank: int) -> None:
        try:
            function(*arguments, barrier, rank, n_threads)
        except BaseException as error:
            barrier[BROKEN] = 1
            errors.append(error)

    others = [threading.Thread(target=follow, args=(rank,), daemon=True) for rank in range(1, n_threads)]
    started = []
    try:
        for other in others:
            other.start()
            started.append(other)
        result = function(*arguments, barrier, 0, n_threads)
    except BaseException:
        barrier[BROKEN] = 1
        raise
    finally:
        for other in started:
            other.join()
    if errors:
        raise errors[0]
    return result


def _add(typing: Any, array: Any, place: Any, value: Any) -> Any:
    """Atomically add `value` at `place` of an int64 array; returns the old value."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(
            context, builder, signature.args[0], view, [arguments[1]], wraparound=False, boundscheck=False
        )
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), emit


def _look(typing: Any, array: Any, place: Any) -> Any:
    """Atomic load of `place` of an int64 array."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(
            context, builder, signature.args[0], view, [arguments[1]], wraparound=False, boundscheck=False
        )
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.intp), emit


add: Any = intrinsic(_add)
look: Any = intrinsic(_look)
_yield_core = types.ExternalFunction("sched_yield", types.int32())


@kept
def passed(barrier: Longs, place: int, value: int) -> bool:
    """Wait until a place of the barrier holds more than `value`; False when a thread failed."""
    looks = 0
    while look(barrier, place) <= value:
        looks += 1
        if looks > SPIN:
            if look(barrier, BROKEN) != 0:
                return False
            _yield_core()
    return True


@kept
def wait_all(barrier: Longs, n_threads: int) -> bool:
    """Wait for all threads: what each wrote before is visible to all after. False when a thread failed."""
    if n_threads == 1:
        return True
    turn = look(barrier, PASSED)
    if add(barrier, ARRIVED, 1) == n_threads - 1:
        add(barrier, ARRIVED, -n_threads)
        add(barrier, PASSED, 1)
        return True
    return passed(barrier, PASSED, turn)


@kept
def next_item(barrier: Longs, done: int) -> int:
    """The next number, from 0, that no other thread took, when `done` were taken in earlier phases."""
    return int(add(barrier, TAKEN, 1) - done)
