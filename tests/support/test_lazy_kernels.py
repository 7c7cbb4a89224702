"""Kernels that load Numba when they are called."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tracecut.support.lazy_kernels import Kernel, compiled
from tracecut.support.plain_kernels import plain


@compiled(inline="always")
def _twice(value: int) -> int:
    return value * 2


@compiled(nogil=True)
def _sum(values: np.ndarray, most: int) -> int:
    total = 0
    for value in values:
        total += _twice(value)
        if total > most:
            break
    return total


def test_a_kernel_calls_others_of_its_module() -> None:
    values = np.arange(100, dtype=np.int32)
    assert isinstance(_sum, Kernel)
    assert plain(_sum)(values, 1000) == _sum(values, 1000) == 1056
    assert plain(_sum)(values, 1000) == 1056, "also once the others are compiled"
    assert _sum.dispatcher.targetoptions["nogil"] and _sum.dispatcher.signatures


@compiled()
def _divisor(one: int, other: int) -> int:
    if other == 0:
        return one
    return _divisor(other, one % other)


def test_a_kernel_calls_itself() -> None:
    assert plain(_divisor)(84, 36) == _divisor(84, 36) == 12


@compiled("int64(Array(int64, 1, 'A', readonly=True))")
def _sum_of_twice(values: np.ndarray) -> int:
    total = 0
    for value in values:
        total += _twice(value)
    return total


def test_a_signature_is_the_only_one() -> None:
    fixed = np.arange(10)
    fixed.flags.writeable = False
    assert [_sum_of_twice(values) for values in (np.arange(10), np.arange(20)[::2], fixed)] == [90, 180, 90]
    assert len(_sum_of_twice.dispatcher.signatures) == 1
    with pytest.raises(TypeError):
        _sum_of_twice(np.zeros(3))


@pytest.mark.parametrize(
    "module", ["tracecut.api.trace", "tracecut.tracer.trace.file.trace_file", "tracecut.codegen.tuning.worker"]
)
def test_numba_is_not_loaded_before(module: str) -> None:
    code = f"import sys, {module}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
