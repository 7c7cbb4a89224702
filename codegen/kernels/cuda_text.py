"""A kernel's CUDA C: its text, below a head that says how it is launched and what with."""

from __future__ import annotations

from tracecut.codegen.cuda.export import comment, cuda_source
from tracecut.codegen.ptx.module import Parameter

from .launchable import Launchable, Place


def cuda_text(kernel: Launchable) -> str:
    """The file. Raises UnsupportedError with the reason for what cannot be written in CUDA C. O(text)."""
    source = cuda_source(kernel.ir, kernel.name, threads=kernel.threads)
    shared = f", {kernel.shared_bytes} bytes of dynamic shared memory" if kernel.shared_bytes else ""
    head = [
        f"{kernel.name}: variant {kernel.variant}, {kernel.arch}; a readable export of the LLVM IR that its PTX is of.",
        f"Launch: {kernel.blocks} blocks of {kernel.threads} threads{shared}.",
        f"Compile: nvcc -arch={kernel.arch} -fmad=false (which keeps the roundings of the PTX).",
    ]
    if kernel.shared_bytes > 48 << 10:
        head.append("Before the launch: cudaFuncAttributeMaxDynamicSharedMemorySize has to be set to these bytes.")
    head += ["", "Arguments:"]
    wide = max(map(len, source.parameters), default=0)
    for name, parameter, value in zip(source.parameters, kernel.parameters, kernel.arguments, strict=True):
        head.append(f"  {name:{wide}}  {_argument(kernel, parameter, value)}")
    head += ["", "Arrays:"]
    for number, item in enumerate(kernel.arrays):
        whose = f", object {item.object} of the program" if item.object >= 0 else ""
        fixed = ", as the schedule has it" if item.fixed else ""
        head.append(f"  {number}  {item.name}: {item.data.size} bytes{whose}{fixed}")
    return comment(head) + "\n" + source.text


def _argument(kernel: Launchable, parameter: Parameter, value: int | float | Place) -> str:
    if isinstance(value, int | float):
        return f"{value!r}: {parameter.kind} {parameter.name}".rstrip()
    behind = f" + {value.offset} bytes" if value.offset > 0 else f" - {-value.offset} bytes" if value.offset else ""
    return f"array {value.array}{behind}: {kernel.arrays[value.array].name}"
