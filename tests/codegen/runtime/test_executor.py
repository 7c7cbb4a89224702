"""Data lie in the order of the program whenever no layout is in force, also where putting one in force failed."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from tracecut.codegen.runtime.active_layouts import ActiveLayouts
from tracecut.codegen.runtime.executor import Executor
from tracecut.codegen.schedule.schedule import Move, Schedule, SpaceOrder
from tracecut.tracer.runtime.binding import Native, support
from tracecut.tracer.runtime.buffers import Block

pytestmark = pytest.mark.quick

BEFORE = [0.0, 1.0, 2.0, 3.0]


def schedule() -> Schedule:
    """Two arrays of four numbers: the last three of each are put into another order, one that begins at 1."""
    space = SpaceOrder(0, 4, (), np.array([0, 3, 1, 2], np.int32))
    moves = tuple(Move(number, 0, 8, 1, 3, 0, 0) for number in range(2))
    return Schedule(0, (space,), moves, (), cast(Any, None), "any")


def arrays() -> list[npt.NDArray[np.float64]]:
    return [np.array(BEFORE), np.array(BEFORE)]


def addresses(data: list[npt.NDArray[np.float64]]) -> list[int]:
    return [int(array.ctypes.data) for array in data]


@pytest.mark.parametrize("left", range(2))
def test_nothing_is_moved_where_memory_ends_on_entering(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    native, data = support(), arrays()
    shifted, asked = native.shifted, list[int]()

    def scarce(order: Block, by: int) -> Block:
        asked.append(by)
        if len(asked) > left:
            raise MemoryError
        return shifted(order, by)

    monkeypatch.setattr(native, "shifted", scarce)
    executor = Executor(native, schedule(), addresses(data), {})
    with pytest.raises(MemoryError):
        executor.enter()
    assert not executor.active and [array.tolist() for array in data] == [BEFORE, BEFORE]


def test_leaving_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    native, data = support(), arrays()
    executor = Executor(native, schedule(), addresses(data), {})
    for _ in range(2):
        executor.enter()
        assert [array.tolist() for array in data] == 2 * [[0.0, 3.0, 1.0, 2.0]]
        with monkeypatch.context() as none:
            none.setattr(Block, "room", lambda count, width: pytest.fail("memory is taken on leaving"))
            executor.leave()
        assert [array.tolist() for array in data] == [BEFORE, BEFORE]


def test_the_program_s_own_order_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it take room to move anything in; with one number elsewhere, also a late one, it is another order."""
    native, data, count = support(), arrays(), 100_000
    for name in ("permute", "renumber"):
        monkeypatch.setattr(native, name, lambda *_, **__: pytest.fail("data are moved"))
    own = replace(schedule(), spaces=(SpaceOrder(0, 4, (), np.arange(4, dtype=np.int32)),))
    executor = Executor(native, own, addresses(data), {})
    executor.enter()
    assert executor.active and executor.unmoved
    executor.leave()
    order = np.arange(count, dtype=np.int32)
    assert native.is_unchanged(Block.of(order, "i4")) and native.is_unchanged(Block.of(order[:0], "i4"))
    order[[-1, -2]] = order[[-2, -1]]
    assert (
        not native.is_unchanged(Block.of(order, "i4")) and not Executor(native, schedule(), addresses(data), {}).unmoved
    )


def test_data_are_put_back_where_the_thread_can_not_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(who: int, cpus: set[int]) -> None:
        raise OSError(22, "Invalid argument")

    def no_threads(self: Native, cpus: object) -> int:
        return 2

    native, data = support(), arrays()
    monkeypatch.setattr(os, "sched_setaffinity", refused)
    monkeypatch.setattr(os, "sched_getaffinity", lambda who: {0, 1})
    monkeypatch.setattr(Native, "threads", no_threads)
    tables = cast(Any, SimpleNamespace(plans={}, probes={}))
    layouts = ActiveLayouts(cast(ctypes.CDLL, native.library), tables, [0, 1])
    with pytest.raises(OSError, match="Invalid argument"):
        layouts.put(None, schedule(), addresses(data), {}, {})
    assert [array.tolist() for array in data] == [BEFORE, BEFORE] and layouts.pinned == 0
