"""Kernels of a few lines of LLVM's IR that write numbers to an array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.codegen.kernels.kernel import Address, Kernel, KernelArray, raw_array
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.schedule.schedule import Guard, ObjectRef, Schedule

THREADS = 32
HEAD = """declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{declarations}
define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) %out) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %k = zext i32 %tid to i64
  %in.at = getelementptr i64, ptr addrspace(1) %in, i64 %k
  %out.at = getelementptr i64, ptr addrspace(1) %out, i64 %k
  %x = load i64, ptr addrspace(1) %in.at, align 8
"""


def text_of(lines: Sequence[str], declarations: Sequence[str] = (), metadata: str = "") -> str:
    """A module whose kernel goes on with these lines: `%x` is the thread's number, `%out.at` where its result goes."""
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    return f"{HEAD.format(declarations=chr(10).join(declarations))}{body}\n  ret void\n}}\n{metadata}"


def kernel_of(text: str, values: Sequence[int]) -> Kernel:
    """One block of it. `values`: what the threads read."""
    given = np.resize(np.array(values, np.int64), THREADS)
    guard = Guard({}, (ObjectRef(128, ((0, 0),)),), (), (), ())
    return Kernel(
        "kernel",
        "original",
        "sm_90",
        text,
        "__nv_" in text,
        (Parameter("base", "%in", "ptr", 0, read_only=True), Parameter("base", "%out", "ptr", 1)),
        (Address(0, 0), Address(1, 0)),
        (KernelArray("in", raw_array(given)), KernelArray("out", raw_array(np.zeros(THREADS, np.int64)))),
        1,
        THREADS,
        0,
        None,
        Schedule(0, (), (), (), guard, "original"),
    )
