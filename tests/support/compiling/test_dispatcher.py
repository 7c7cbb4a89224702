"""Kernels whose callees are parts of them: the same results, less machine code, and Numba as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.errors import TypingError
from tracecut.support.compiling.dispatcher import _CHANGES, Part, QuickDispatcher, quick
from tracecut.support.lazy_kernels import kept


def twice(number: int) -> int:
    return number + number


def made() -> tuple[Any, Any]:
    """A kernel, and another one that calls it."""
    callee = quick(twice, nogil=True)

    def sum_of_twice(values: Any) -> int:
        total = 0
        for value in values:
            total += callee(value)
        return total

    return callee, quick(sum_of_twice, nogil=True)


def test_a_callee_is_a_part_until_python_calls_it() -> None:
    callee, caller = made()
    assert caller(np.arange(5)) == 20
    [part] = callee.overloads.values()
    assert isinstance(part.library, Part)
    assert not any(isinstance(found.library, Part) for found in caller.overloads.values())
    assert callee(21) == 42
    [whole] = callee.overloads.values()
    assert not isinstance(whole.library, Part)
    assert caller(np.arange(6)) == 30


def test_only_the_outermost_kernel_becomes_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba makes it of each function on the way, those of NumPy as well."""
    names: list[str] = []
    own = JITCodeLibrary._finalize_specific
    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", lambda self: (names.append(self.name), own(self))[1])
    callee = quick(twice)

    def sorted_twice(values: Any) -> Any:
        values = np.sort(values)
        for place in range(values.size):
            values[place] = min(callee(values[place]), 7)
        return values

    assert list(quick(sorted_twice)(np.array([5, 1, 2], np.int16))) == [2, 4, 7]
    assert [name for name in names if "sorted_twice" not in name] == []


def test_the_kernels_that_we_keep_are_of_this_kind() -> None:
    """With the version of Numba that the tests run with."""
    assert isinstance(kept(twice), QuickDispatcher)


def test_numba_is_as_it_was() -> None:
    """After a compilation, after one that fails, and in functions of others that call kernels."""
    before = [(owner, name, vars(owner).get(name)) for owner, name, _ in _CHANGES]
    callee, caller = made()
    caller(np.arange(3))
    with pytest.raises(TypingError):
        caller("words")
    assert [(owner, name, vars(owner).get(name)) for owner, name, _ in _CHANGES] == before
    theirs = njit(lambda number: callee(number) + 1)
    assert theirs(20.5) == 42.0 and callee(1.5) == 3.0
    plain = njit(lambda values: np.sort(values)[0] + min(values[0], 3))
    assert plain(np.array([4, 2, 9], np.uint8)) == 5


def test_what_a_part_raises_is_raised() -> None:
    def checked(number: int) -> int:
        if number > 2:
            raise ValueError("too large")
        return number

    callee = quick(checked)

    def every(values: Any) -> int:
        total = 0
        for value in values:
            total += callee(value)
        return total

    caller = quick(every)
    assert caller(np.arange(3)) == 3
    with pytest.raises(ValueError, match="too large"):
        caller(np.arange(4))
    with pytest.raises(ValueError, match="too large"):
        callee(3)


def test_a_kernel_calls_itself() -> None:
    @kept
    def factorial(number: int) -> int:
        if number < 2:
            return 1
        return number * factorial(number - 1)

    def both(number: int) -> int:
        return factorial(number) + factorial(2)

    assert quick(both)(5) == 122
    assert factorial(6) == 720


@pytest.mark.parametrize("kind", [np.int16, np.uint32, np.int64, np.float32, np.float64])
def test_operations_are_those_of_numba(kind: type) -> None:
    """Each operation is looked up once for all kernels."""

    def operations(left: Any, right: Any) -> Any:
        out = np.zeros((6, left.size), np.float64)
        for place in range(left.size):
            one, other = left[place], right[place]
            out[0, place] = one + other
            out[1, place] = one - other
            out[2, place] = one * other
            out[3, place] = one // other if other > 0 else 0
            out[4, place] = one % other if other > 0 else 0
            out[5, place] = max(one, other) + abs(one)
        return out

    left, right = np.array([1, 7, 9, 250]).astype(kind), np.array([3, 2, 9, 251]).astype(kind)
    assert np.array_equal(quick(operations)(left, right), njit(operations)(left, right))
