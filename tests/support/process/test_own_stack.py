"""Variables on the stack of a program."""

from __future__ import annotations

import ctypes

import pytest
from tracecut.support.process.own_stack import own_stack, variables_on

pytestmark = pytest.mark.quick
STACK = (1000, 2000)


def test_variables_that_share_bytes_are_one() -> None:
    assert variables_on(STACK, [(1100, 8), (1100, 8), (1104, 16), (1120, 8), (1112, 4)]) == [(1100, 20), (1120, 8)]
    assert variables_on(STACK, []) == []


@pytest.mark.parametrize("place", [(999, 8), (1996, 8), (2000, 1), (0, 8), (1500, 0)])
def test_what_is_not_on_the_stack_is_left_out(place: tuple[int, int]) -> None:
    assert variables_on(STACK, [place, (1200, 4)]) == [(1200, 4)]


def test_the_stack_holds_what_the_program_was_given() -> None:
    low, high = own_stack()
    environment = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "__libc_stack_end").value
    assert environment is not None and low <= environment < high
