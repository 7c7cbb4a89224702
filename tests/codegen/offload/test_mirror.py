"""Objects on both sides: which has the newest bytes, what is copied, and in which order it lies on the card."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.devices.device import EMULATED, open_device
from tracecut.codegen.gpu.index_copies import Bytes, moved_object, restored_object
from tracecut.codegen.offload.mirror import Counts, Mirror
from tracecut.codegen.offload.offloaded_scope import cell_of
from tracecut.codegen.schedule.schedule import Guard, Move, ObjectRef, Schedule, SpaceOrder

pytestmark = pytest.mark.quick

ORDER = np.array([3, 0, 4, 1, 2], np.int32)


class Reference:
    """As `HostLayout`, by NumPy."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule

    def moved(self, number: int, data: Bytes) -> Bytes:
        return moved_object(self.schedule, number, data)

    def restore(self, number: int, found: Bytes, data: Bytes) -> None:
        data[:] = restored_object(self.schedule, number, found)


def made() -> tuple[Mirror, list[np.ndarray[tuple[int], np.dtype[np.uint8]]]]:
    """Two objects: five numbers of 4 bytes, in another order on the card, and 3 bytes behind; 6 bytes as they are."""
    guard = Guard({}, (ObjectRef(23, ()), ObjectRef(6, ())), (), (), ())
    schedule = Schedule(0, (SpaceOrder(0, 5, (0, 5), ORDER),), (Move(0, 0, 4, 0, 5, 0, 0),), (), guard, "by hand")
    data = [np.arange(23, dtype=np.uint8), np.arange(6, dtype=np.uint8)]
    layout: Any = Reference(schedule)
    return Mirror(open_device(EMULATED), layout, data, Counts()), data


def on_card(mirror: Mirror, number: int) -> list[int]:
    return list(mirror.device.get(mirror.place(number)[0]))


def test_data_lie_there_in_the_new_order() -> None:
    mirror, data = made()
    assert on_card(mirror, 0) == [*data[0][:20].reshape(5, 4)[ORDER].reshape(-1), 20, 21, 22]
    assert on_card(mirror, 1) == list(range(6))


def test_data_go_there_once() -> None:
    mirror, data = made()
    mirror.place(0), mirror.place(0)
    data[0][0] = 99  # nobody has said that it may change
    assert 99 not in on_card(mirror, 0) and mirror.counts.sent == 23
    mirror.stale({0})
    assert 99 in on_card(mirror, 0) and mirror.counts.sent == 46


def test_data_come_back_in_the_programs_order() -> None:
    mirror, data = made()
    before = [item.copy() for item in data]
    mirror.device.write(mirror.place(0)[0], (mirror.device.get(mirror.place(0)[0]) + 100).astype(np.uint8))
    mirror.ahead.add(0)
    mirror.home({1})
    assert np.array_equal(data[0], before[0])
    mirror.home()
    assert np.array_equal(data[0], before[0] + 100) and np.array_equal(data[1], before[1])
    assert mirror.ahead == set() and mirror.counts.fetched == 23
    mirror.home()
    assert mirror.counts.fetched == 23


@given(st.lists(st.tuples(st.sampled_from("wcsh"), st.integers(0, 1), st.integers(0, 255)), max_size=20))
def test_both_sides_agree_however_they_take_turns(steps: list[tuple[str, int, int]]) -> None:
    """w: the program writes, c: the card does; s: the card looks, h: the program does."""
    mirror, data = made()
    expected = [item.copy() for item in data]
    for what, number, value in steps:
        if what == "w":
            mirror.home({number})
            data[number][1] = expected[number][1] = value
            mirror.stale({number})
        elif what == "c":
            array, _ = mirror.place(number)
            mirror.device.write(array, np.full(data[number].size, value, np.uint8))
            mirror.ahead.add(number)
            expected[number][:] = value
        elif what == "s":
            assert sorted(on_card(mirror, number)) == sorted(expected[number])
        else:
            mirror.home({number})
            assert np.array_equal(data[number], expected[number])
    mirror.home()
    assert all(map(np.array_equal, data, expected))


@pytest.mark.parametrize(
    ("raw", "type", "operator", "cell"),
    [
        (0xAAAAAAAA_FFFFFFFE, "i32", "add", 0xFFFFFFFE),
        (0xAAAAAAAA_AAAAFFFE, "i16", "smax", 0xFFFFFFFE),
        (0xAAAAAAAA_AAAA7FFE, "i16", "smax", 0x7FFE),
        (0xAAAAAAAA_AAAAFFFE, "i16", "umax", 0xFFFE),
        (0xAAAAAAAA_AAAAAAFF, "i1", "or", 1),
        (0x40000000_00000000, "double", "fadd", 0x40000000_00000000),
        (0xAAAAAAAA_40000000, "float", "fadd", 0x40000000),
    ],
)
def test_the_start_of_a_sum_has_the_bits_of_its_type(raw: int, type: str, operator: str, cell: int) -> None:
    """The program sets as many bytes of a slot as the type has."""
    assert cell_of(raw, type, operator) == cell
