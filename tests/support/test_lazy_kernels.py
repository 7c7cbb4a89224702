"""Kernels that load Numba when they are called."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
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


def test_numba_is_not_loaded_before() -> None:
    code = "import sys, tracecut.api.trace, tracecut.tracer.trace.file.trace_file; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
