"""Kernels without Numba: for inputs that are walked through before the compiler would have begun.

Compiling the walk over a trace takes more than ten seconds, once an installation, and even loading it from the cache
takes longer than to follow a short run in plain Python. A kernel and its plain twin give the same numbers, bit by bit:
kernels say which integers they mean (`np.int64(…)`, `np.uint64(…)`), and where these wrap around NumPy's do, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

FEW = 1 << 14  # elements that a plain kernel goes through in some tenths of a second
FEW_BYTES = 1 << 20  # of memory that these may bring along, where they say how much
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def plain(kernel: Kernel) -> Kernel:
    """The twin of a function of `numba.njit`; what it calls is plain, too. Other functions stay as they are."""
    return cast(Kernel, _outermost(kernel))


def fitting(kernel: Kernel, size: int) -> Kernel:
    """The kernel, or its twin where it has no more than FEW elements to go through."""
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


_NAMES: dict[str, dict[str, Any]] = {}  # by module: its globals, with twins in the place of kernels


def _names_of(function: FunctionType) -> dict[str, Any]:
    module = function.__module__
    if module not in _NAMES:
        names = _NAMES[module] = dict(function.__globals__)
        for name, value in function.__globals__.items():
            if hasattr(value, "py_func"):
                names[name] = _twin(value)
    return _NAMES[module]
