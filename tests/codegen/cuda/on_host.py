"""CUDA C of kernels, compiled as C++ for this host and run there, threads of a block take turns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.codegen.kernels.kernel import Address, Kernel
from tracecut.support.process.runner import Limits, run
from tracecut.tracer.toolchain.find_compilers import compiler, environment

SHIM = Path(__file__).with_name("host_shim.h")
C_OF = {"i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64}
C_OF |= {"float": ctypes.c_float, "double": ctypes.c_double}
FLAGS = ("-O1", "-shared", "-fPIC", "-std=c++17", "-ffp-contract=off")
CHECKED = ("uninitialized", "sometimes-uninitialized", "shift-count-overflow", "return-type", "dangling-else")


def compiled(kernels: Sequence[Kernel], folder: Path) -> ctypes.CDLL:
    """All kernels in one library; each has a namespace of its own."""
    parts = [f'#include "{SHIM}"']
    for number, kernel in enumerate(kernels):
        text = kernel.cuda.replace(f" {kernel.name}(", f" kernel_{number}(").replace('extern "C" ', "")
        size = max(16, kernel.shared_bytes)
        parts += [f"namespace part_{number} {{", f"alignas(16) unsigned char shared_memory[{size}];", text, "}"]
        parts.append(
            f'extern "C" void launch_{number}(void **arguments, unsigned int blocks, unsigned int threads)\n'
            f"{{ host_launch(part_{number}::kernel_{number}, arguments, blocks, threads); }}"
        )
    source, target = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("\n".join(parts) + "\n", encoding="utf-8")
    tool = compiler(cxx=True)
    command = [*tool.command, *FLAGS, *(f"-Werror={name}" for name in CHECKED), "-o", target, source]
    finished = run(command, folder=folder, name="clang", env=environment(), limits=Limits(seconds=300))
    assert finished.ok, finished.stderr.read_text(errors="replace")[:4000]
    return ctypes.CDLL(str(target))


def run_on_host(library: ctypes.CDLL, number: int, kernel: Kernel) -> list[Any]:
    """The arrays that a kernel leaves."""
    memory = kernel.memory()
    values: list[Any] = []
    for parameter, value in zip(kernel.parameters, kernel.arguments, strict=True):
        if isinstance(value, Address):
            values.append(ctypes.c_void_p(memory[value.array].ctypes.data + value.offset))
        else:
            values.append(C_OF[parameter.type](value))
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    getattr(library, f"launch_{number}")(pointers, kernel.blocks, kernel.threads)
    return memory


def differences(kernel: Kernel, found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> list[str]:
    """Arrays that differ in bits, and as numbers of either floating-point type too."""
    wrong = []
    for item, a, b in zip(kernel.arrays, found, expected, strict=True):
        if not np.array_equal(a, b) and not any(_near(a, b, type, tolerance) for type in ("f8", "f4")):
            wrong.append(item.name)
    return wrong


def _near(a: Any, b: Any, type: str, tolerance: float) -> bool:
    if a.size % np.dtype(type).itemsize:
        return False
    x, y = a.view(type), b.view(type)
    with np.errstate(all="ignore"):
        return bool(np.allclose(x, y, rtol=tolerance if type == "f8" else 1e-5, atol=0, equal_nan=True))
