"""Kernels without references and without ways in from Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tracecut.support.plain_kernels import plain
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel, outer_kernel

pytestmark = pytest.mark.quick


@inner_kernel
def _count(values: np.ndarray, at: int) -> int:
    values[at] += 1
    return values[at]


@outer_kernel
def _count_twice(values: np.ndarray, at: int) -> int:
    return _count(values, at) + _count(values[1:], at - 1)


@outer_kernel
def _same(values: np.ndarray) -> np.ndarray:
    return values


def test_python_calls_outer_kernels_and_these_call_inner_ones() -> None:
    values = np.zeros(3, np.int64)
    assert _count_twice(values, 2) == 3 and values.tolist() == [0, 0, 2]
    assert plain(_count_twice)(values, 2) == 7 and _count.py_func(values, 0) == 1  # type: ignore[attr-defined]


def test_an_inner_kernel_has_no_code_that_python_could_jump_to() -> None:
    values = np.zeros(3, np.int64)
    with pytest.raises(TypeError, match="_count is called by kernels only; in Python, call its py_func"):
        _count(values, 0)
    assert not values.any()


def test_nobody_counts_references() -> None:
    values = np.zeros(3, np.int64)
    before = sys.getrefcount(values)
    for _ in range(100):
        _count_twice(values, 2)
    assert sys.getrefcount(values) == before and values.tolist() == [0, 0, 200]
    with pytest.raises(TypeError, match=r"_same returns array\(int64, 1d, .\), which is no number"):
        _same(values)
