"""Machine code of what tracecut's own programs call at run time: C files of ours, compiled for this processor."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..ir.errors import ToolchainError
from .llvm import emit_object
from .runner import describe_status
from .toolchain import compiler, environment


def support_object(source: Path, options: Sequence[str] = ()) -> bytes:
    """Machine code of one file of ours.

    It runs here alone, and what it computes with floating point are single sums: this very processor it is.

    Raises:
        ToolchainError: the compiler does not take it, or dies of it; its words or its end are the detail.
    """
    with TemporaryDirectory(prefix="tracecut-build-") as folder:
        out = Path(folder) / "support.ll"
        command = [*compiler().command, "-S", "-emit-llvm", "-O2", "-fPIC", "-march=native", "-ffp-contract=off"]
        done = run_tool([*command, *options, "-o", str(out), str(source)])
        if done.returncode != 0 or not out.exists():
            raise ToolchainError(f"the run-time support {source.name} does not compile", detail=last_words(done))
        return emit_object(out.read_text(), optimise=False)


def run_tool(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a compiler or linker on files of ours to its end."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment(), check=False)


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    """What a tool that failed said; how it ended when it said nothing."""
    return done.stderr[-2000:].strip() or f"The tool said nothing: {describe_status(done.returncode)}."
