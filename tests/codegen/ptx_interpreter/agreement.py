"""A kernel's PTX, interpreted, beside the IR that it was made of, run on this CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tracecut.codegen.emulation.run_kernel import Within, run_kernel
from tracecut.codegen.kernels.kernel import Address, Kernel

from .machine import Place, interpret


def differences(kernel: Kernel, blocks: int, *, apart: bool = True) -> list[str]:
    """Arrays that the first blocks of a kernel leave with other bits in PTX than in the IR; `apart`: of `interpret`."""
    count = min(kernel.blocks, blocks)
    expected, found = kernel.memory(), kernel.memory()
    arguments = [
        Within(expected[value.array], value.offset) if isinstance(value, Address) else value
        for value in kernel.arguments
    ]
    launch = (kernel.blocks, kernel.threads, kernel.shared_bytes)
    run_kernel(kernel.ir, kernel.name, arguments, *launch, blocks=range(count))
    launched(kernel, found, apart=apart, blocks=count)
    names = [item.name for item in kernel.arrays]
    if all(np.array_equal(a, item.data) for a, item in zip(expected, kernel.arrays, strict=True)):
        return ["the kernel did nothing"]
    return unequal(names, expected, found, apart)


def launched(kernel: Kernel, memory: Sequence[Any], *, apart: bool, blocks: int | None = None) -> None:
    """Interpret the PTX of a kernel, or of its first blocks, on its memory."""
    places = [Place(value.array, value.offset) if isinstance(value, Address) else value for value in kernel.arguments]
    chosen = range(kernel.blocks if blocks is None else blocks)
    launch = (kernel.threads, kernel.shared_bytes)
    interpret(kernel.ptx, memory, places, chosen, *launch, apart=apart, grid=kernel.blocks)


def unequal(names: Sequence[str], expected: Sequence[Any], found: Sequence[Any], exact: bool) -> list[str]:
    """Names of arrays with other bits; unless `exact`, doubles may differ by rounding."""
    wrong = []
    for name, a, b in zip(names, expected, found, strict=True):
        if np.array_equal(a, b):
            continue
        numbers = [one.reshape(-1).view(np.uint8) for one in (a, b)]
        close = not exact and numbers[0].size % 8 == 0
        if not (close and np.allclose(*(one.view("f8") for one in numbers), rtol=1e-12, atol=1e-12, equal_nan=True)):
            wrong.append(name)
    return wrong
