"""Kernels of Numba that return numbers, compiled without what only others need.

Two things are left out. Counting references to arrays: such a kernel takes arrays and writes into them, but makes none
and returns none. And, of a kernel that only kernels call, the ways in from Python, which take its arguments apart: with
tuples of dozens of arrays they are longer than most kernels. A third of the time that the walk over a trace takes to be
compiled is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from numba import njit, types
from numba.core.registry import CPUDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba hands the setting for references down to kernels that have none of their own and are compiled for the first time
# by a call from here: these have to return numbers, too.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "_nrt": False}


def outer_kernel(function: Function) -> Function:
    """Decorator: a kernel that Python and kernels call. It returns numbers or nothing, and makes no array."""
    return _made(function, _NumberKernel)


def inner_kernel(function: Function) -> Function:
    """Decorator: the same, but only kernels may call it. Python may call its `py_func`."""
    return _made(function, _InnerKernel, no_cpython_wrapper=True)


def _made(function: Function, kind: type[CPUDispatcher], **options: Any) -> Function:
    kernel = njit(**_OPTIONS, **options)(function)
    if isinstance(kernel, CPUDispatcher):  # with NUMBA_DISABLE_JIT it is the function
        kernel.__class__ = kind
    return kernel


class _NumberKernel(CPUDispatcher):
    """Refuses results that somebody would have to count references to: nobody does."""

    def add_overload(self, cres: Any) -> None:
        result = cres.signature.return_type
        parts = getattr(result, "types", [result])  # of a tuple
        if not all(isinstance(part, types.Number | types.Boolean | types.NoneType) for part in parts):
            raise TypeError(f"{self.py_func.__qualname__} returns {result}, which is no number")
        super().add_overload(cres)


class _InnerKernel(_NumberKernel):
    """Has no code that Python could jump to."""

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError(f"{self.py_func.__qualname__} is called by kernels only; in Python, call its py_func")
