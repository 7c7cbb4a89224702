"""ptxas on emitted PTX, without a GPU: whether the kernel assembles, and what it takes of a multiprocessor."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tracecut.support.errors import ArgumentError, BackendError, ToolchainError
from tracecut.support.process.runner import Limits, describe, private_folder, run

from .nvptx import ARCHITECTURES, SHARED_KIB, TAIL, wheel_file

LIMITS = Limits(seconds=300, output_bytes=1 << 20)


@dataclass(frozen=True)
class AssemblyReport:
    """What ptxas says about a kernel.

    Attributes:
        registers: of one thread. barriers: named barriers of a block.
        stack_bytes, spill_store_bytes, spill_load_bytes: local memory of one thread.
        shared_bytes: static shared memory of a block.
        cubin_bytes: size of the machine code file. cubin: that file.
        log: everything that ptxas said.
    """

    kernel: str
    arch: str
    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    shared_bytes: int
    barriers: int
    cubin_bytes: int
    log: str
    cubin: bytes = field(default=b"", repr=False)


def assemble(ptx: str, arch: str = "sm_90") -> AssemblyReport:
    """Assemble the one kernel of a PTX text for an architecture.

    Raises ToolchainError when ptxas is not installed, BackendError when it refuses the text (a call to a function
    that is defined nowhere among others), ArgumentError for an unknown architecture or not exactly one kernel.
    """
    check_architecture(arch)
    kernels = re.findall(r"^\.visible \.entry (\w+)", ptx, re.MULTILINE)
    if len(kernels) != 1:
        raise ArgumentError(f"ptx holds {len(kernels)} kernels, one was expected")
    assembler = find_ptxas()
    if assembler is None:
        raise ToolchainError(
            "NVIDIA's assembler ptxas is not installed",
            hint="Install it with: pip install nvidia-cuda-nvcc; or put that of an installed CUDA on PATH.",
        )
    with private_folder("tracecut-ptxas") as folder:
        source, target = folder / "kernel.ptx", folder / "kernel.cubin"
        source.write_text(ptx)
        finished = run(
            [assembler, "-v", f"-arch={arch}", "-o", target, source], folder=folder, name="ptxas", limits=LIMITS
        )
        log = (finished.stdout.read_text(errors="replace") + finished.stderr.read_text(errors="replace")).strip()
        if not finished.ok or not target.exists():
            raise BackendError(
                f"ptxas does not accept the kernel {kernels[0]} for {arch}: it {describe(finished)}",
                detail=log.replace(str(folder), "")[-TAIL:],
            )
        cubin = target.read_bytes()

    def number(pattern: str) -> int:
        found = re.search(pattern, log)
        return int(found.group(1)) if found else 0

    return AssemblyReport(
        kernel=kernels[0],
        arch=arch,
        registers=number(r"Used (\d+) registers"),
        stack_bytes=number(r"(\d+) bytes stack frame"),
        spill_store_bytes=number(r"(\d+) bytes spill stores"),
        spill_load_bytes=number(r"(\d+) bytes spill loads"),
        shared_bytes=number(r"(\d+) bytes smem"),
        barriers=number(r"used (\d+) barriers"),
        cubin_bytes=len(cubin),
        log=log.replace(str(folder), ""),
        cubin=cubin,
    )


def find_ptxas() -> Path | None:
    """That of the wheel, else the one on PATH; None when there is none."""
    wheel = wheel_file("nvidia-cuda-nvcc", "ptxas")
    if wheel is not None and os.access(wheel, os.X_OK):
        return wheel
    found = shutil.which("ptxas")
    return None if found is None else Path(found)


def check_shared(shared: int, arch: str) -> None:
    """Raise ArgumentError for more shared memory of a block than an architecture of ARCHITECTURES has."""
    most = SHARED_KIB[arch] << 10
    if not 0 <= shared <= most:
        raise ArgumentError(f"shared is {shared}, 0 to {most} bytes were expected, what a block may have on {arch}")


def check_architecture(arch: str, name: str = "arch") -> None:
    """Raise ArgumentError for an architecture that kernels are not emitted for. `name`: of the argument."""
    if arch not in ARCHITECTURES:
        raise ArgumentError(f"{name} is {arch!r}, one of {', '.join(ARCHITECTURES)} was expected")
