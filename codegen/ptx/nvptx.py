"""From textual LLVM IR to PTX, in a child process.

LLVM's NVPTX backend ends its process on instructions that it cannot select. `math_calls.py` refuses those that are
known to do so; the child process is for the others.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import metadata
from pathlib import Path

from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, describe, private_folder, run

COMMAND = (sys.executable, "-P", "-m", "tracecut.codegen.ptx.nvptx_worker")
LIMITS = Limits(seconds=120, output_bytes=1 << 20)
# KiB of shared memory that a block may have, by architecture: CUDA programming guide, technical specifications.
SHARED_KIB = {
    "sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_87": 163, "sm_89": 99, "sm_90": 227, "sm_100": 227, "sm_103": 227,
    "sm_120": 99,
}  # fmt: skip
ARCHITECTURES = tuple(SHARED_KIB)
TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
TAIL = 2000


def compile_ptx(text: str, name: str, arch: str, *, libdevice: bool) -> str:
    """PTX text of the kernel `name` of a module; `libdevice` binds the module to NVIDIA's mathematical functions.

    About 0.3 s. Raises UnsupportedError when LLVM cannot do it, however it says so.
    """
    library = [find_libdevice()] if libdevice else []
    with private_folder("tracecut-ptx") as folder:
        source, target = folder / "kernel.ll", folder / "kernel.ptx"
        source.write_text(text)
        finished = run(
            [*COMMAND, source, target, name, arch, *library],
            folder=folder,
            name="worker",
            env=_environment(),
            limits=LIMITS,
        )
        said = finished.stderr.read_text(errors="replace")[-TAIL:].strip()
        if not finished.ok or not target.exists():
            reason = said if finished.returncode == 1 and said.startswith("refused: ") else ""
            raise UnsupportedError(
                f"LLVM cannot emit the kernel {name} for {arch}: "
                + (reason.removeprefix("refused: ") or f"its code generator {describe(finished)}"),
                detail="" if reason else said,
                hint="The loop runs on the host as before.",
            )
        ptx = target.read_text()
    missing = sorted(set(re.findall(r"^\.extern \.func .*?(\w+)\s*$", ptx, re.MULTILINE)))
    if missing:
        raise UnsupportedError(f"the kernel {name} calls {', '.join(missing)}, which the device does not have")
    return ptx


def find_libdevice() -> Path:
    """NVIDIA's library of mathematical functions, from the wheel `nvidia-nvvm`. Raises UnsupportedError without it."""
    found = wheel_file("nvidia-nvvm", "libdevice.10.bc")
    if found is None:
        raise UnsupportedError(
            "its mathematical functions need NVIDIA's libdevice, which is not installed",
            hint="Install it with: pip install nvidia-nvvm",
        )
    return found


def wheel_file(package: str, name: str) -> Path | None:
    """A file of an installed package, by its last name; None when there is none."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == name:
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    return None


def _environment() -> dict[str, str]:
    # The child must find the packages that this process found, wherever it was started from.
    search = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    return {**os.environ, "PYTHONPATH": search}
