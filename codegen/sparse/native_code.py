"""The machine code of `kernels.c` in this process: compiled once a machine, then loaded from the cache folder."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.tracer.runtime.compile_support import support_object

_SOURCE = Path(__file__).parent / "kernels.c"
# A product and its sum round once: these are sums of many products, whose last bits depend on their order anyway.
_OPTIONS = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-w")
_VALUES = {"f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128"}
VALUE_TYPES = tuple(np.dtype(name) for name in _VALUES)
_COUNT, _ADDRESS = ctypes.c_uint64, ctypes.c_void_p


@cache
def _engine() -> Any:
    """Holds the code, which lives as long as the process. Compiling takes seconds, loading milliseconds."""
    import llvmlite.binding as binding
    from tracecut.tracer.toolchain.passes import parse, target_machine

    engine = binding.create_mcjit_compiler(parse(""), target_machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(support_object(_SOURCE, _OPTIONS)))
    engine.finalize_object()
    return engine


@cache
def native(function: str, kinds: str, value: np.dtype[Any], index: np.dtype[Any]) -> Callable[..., None]:
    """A function of `kernels.c` for a value and an index type, which runs without the GIL.

    Args:
        kinds: its arguments in order: `n` a count, `p` the address of an array. Numbers are passed, and arrays whose
            `address` the caller keeps alive.

    Raises ToolchainError when the compiler does not take it.
    """
    name = f"{function}_{_VALUES[value.str[1:]]}_{'u64' if index.itemsize == 8 else 'u32'}"
    types = [_COUNT if kind == "n" else _ADDRESS for kind in kinds]
    return ctypes.CFUNCTYPE(None, *types)(_engine().get_function_address(name))


def address(array: npt.NDArray[Any]) -> int:
    """Where an array begins. It must outlive the call that it is passed to."""
    return int(array.ctypes.data)
