"""Kernels without Numba, for inputs that plain Python processes faster than Numba compiles or loads.

Compiling the kernel that walks a trace takes more than ten seconds, once per installation, and even loading it from the
cache takes longer than following a short run in plain Python. A kernel and its plain version give the same bits:
kernels state their integer types (`np.int64(…)`, `np.uint64(…)`), and NumPy's integers wrap around like Numba's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

FEW = 1 << 14  # elements that a plain kernel goes through in some tenths of a second
FEW_BYTES = 1 << 20  # of memory that these may bring along, where they say how much
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def plain(kernel: Kernel) -> Kernel:
    """The plain version of a function of `numba.njit`; functions that it calls are plain, too. Others are returned
    unchanged."""
    return cast(Kernel, _outermost(kernel))


def fitting(kernel: Kernel, size: int) -> Kernel:
    """The kernel, or its plain version for at most FEW elements."""
    return plain(kernel) if size <= FEW else kernel


@cache
def _outermost(kernel: Any) -> Any:
    twin = _twin(kernel)
    return twin if twin is kernel else np.errstate(over="ignore")(twin)


@cache
def _twin(kernel: Any) -> Any:
    function = getattr(kernel, "py_func", None)
    if function is None:
        return kernel
    return FunctionType(function.__code__, _names_of(function), function.__name__, function.__defaults__)


_NAMES: dict[str, dict[str, Any]] = {}  # module → its globals, with plain versions in place of kernels


def _names_of(function: FunctionType) -> dict[str, Any]:
    module = function.__module__
    if module not in _NAMES:
        names = _NAMES[module] = dict(function.__globals__)
        for name, value in function.__globals__.items():
            if hasattr(value, "py_func"):
                names[name] = _twin(value)
            elif isinstance(value, ModuleType) and value.__name__.startswith("tracecut."):
                names[name] = _PlainModule(value)
    return _NAMES[module]


class _PlainModule:
    """A module of ours as a plain kernel sees it: its kernels are plain, too."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = _twin(getattr(self._module, name))
        setattr(self, name, found)
        return found
