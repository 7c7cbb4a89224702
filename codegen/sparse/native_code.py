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

_SOURCE = Path(__file__).parent / "native" / "kernels.c"
# A product and its sum round once: these are sums of many products, whose last bits depend on their order anyway.
_OPTIONS = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-strict-aliasing", "-fno-slp-vectorize", "-w")
_SAFE_GATHERS = Path("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling")
_VALUES = {"f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128"}
VALUE_TYPES = tuple(np.dtype(name) for name in _VALUES)
_COUNT, _ADDRESS = ctypes.c_uint64, ctypes.c_void_p


_ENGINES: list[Any] = []  # hold the code as long as the process lives: two threads may have come first at once


def load_kernels() -> Any:
    """The code, ready to be called. Compiling takes seconds, once a machine; loading it milliseconds."""
    if _ENGINES:
        return _ENGINES[0]
    import llvmlite.binding as binding
    from tracecut.tracer.toolchain.passes import parse, target_machine

    engine = binding.create_mcjit_compiler(parse(""), target_machine())
    options = (*_OPTIONS, "-DGATHERS") if fast_gathers(_SAFE_GATHERS) else _OPTIONS
    engine.add_object_file(binding.ObjectFileRef.from_data(support_object(_SOURCE, options)))
    engine.finalize_object()
    _ENGINES.append(engine)
    return engine


def fast_gathers(vulnerability: Path) -> bool:
    """Whether gather instructions are worth it: not where a microcode makes them leak nothing, which takes their speed.

    Results do not depend on it.
    """
    try:
        return vulnerability.read_text().strip() == "Not affected"
    except OSError:
        return False


@cache
def native(function: str, kinds: str, value: np.dtype[Any] | None, index: np.dtype[Any]) -> Callable[..., int]:
    """A function of `kernels.c` for a value and an index type, which runs without the GIL.

    Args:
        value: None for a function that moves no values.
        kinds: its arguments in order: `n` a count, `p` the address of an array. Numbers are passed, and arrays whose
            `address` the caller keeps alive.

    Raises ToolchainError when the compiler does not take it.
    """
    values = "any" if value is None else _VALUES[value.str[1:]]
    name = f"{function}_{values}_{'u64' if index.itemsize == 8 else 'u32'}"
    types = [_COUNT if kind == "n" else _ADDRESS for kind in kinds]
    return ctypes.CFUNCTYPE(_COUNT, *types)(load_kernels().get_function_address(name))


def address(array: npt.NDArray[Any]) -> int:
    """Where an array begins. It must outlive the call that it is passed to."""
    return int(array.__array_interface__["data"][0])  # a tenth of the time that `array.ctypes` takes


def addresses(*arrays: npt.NDArray[Any] | None) -> list[int | None]:
    """Where arrays begin; None for those that are not there. They must outlive the call."""
    return [None if array is None else address(array) for array in arrays]


def aligned(size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An empty array whose first element begins a cache line: no vector load crosses one."""
    room = np.empty(size * dtype.itemsize + 64, np.uint8)
    begin = -address(room) % 64
    return room[begin : begin + size * dtype.itemsize].view(dtype)
