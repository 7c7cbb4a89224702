"""Machine code of what tracecut's own programs call at run time: C files of ours, compiled for this processor."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import llvmlite
from tracecut.support.errors import OutputError, ToolchainError
from tracecut.support.files import write_atomic
from tracecut.support.process.tools import Said, ask_tool
from tracecut.tracer.toolchain.find_compilers import cache_home, compiler, environment
from tracecut.tracer.toolchain.passes import emit_object, host_features, host_name

_DIGEST = hashlib.sha256().digest_size


def support_object(source: Path, options: Sequence[str] = ()) -> bytes:
    """Machine code of one file of ours. Made once, and kept in the cache folder.

    It runs here alone, and what it computes with floating point are single sums: this very processor it is.

    Raises:
        ToolchainError: the compiler does not take it, or dies of it; its words or its end are the detail.
    """
    kept = cache_home() / "objects" / f"{_key(source, options)}.o"
    data = _checked(kept)
    if data is None:
        data = _compiled(source, options)
        with suppress(OSError, OutputError):  # it is made again next time
            kept.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomic(kept, lambda file: _write(file, hashlib.sha256(data).digest() + data), sync=False)
    return data


def _key(source: Path, options: Sequence[str]) -> str:
    """A name for all that the machine code depends on; the headers of the system go with its C library."""
    ours = [(path.name, path.read_bytes()) for path in sorted(source.parent.glob("*.[ch]"))]
    machine = (host_name(), host_features(), os.confstr("CS_GNU_LIBC_VERSION"))
    tools = (compiler().command, compiler().version, llvmlite.__version__)
    text = repr((source.name, ours, tuple(options), tools, machine))
    return hashlib.sha256(text.encode()).hexdigest()


def _checked(path: Path) -> bytes | None:
    """What was kept in a file, None when it is not there or not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, data = data[:_DIGEST], data[_DIGEST:]
    return data if digest == hashlib.sha256(data).digest() else None


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _compiled(source: Path, options: Sequence[str]) -> bytes:
    with TemporaryDirectory(prefix="tracecut-build-") as folder:
        out = Path(folder) / "support.ll"
        command = [*compiler().command, "-S", "-emit-llvm", "-O2", "-fPIC", "-march=native", "-ffp-contract=off"]
        done = run_tool([*command, *options, "-o", str(out), str(source)])
        if done.returncode != 0 or not out.exists():
            raise ToolchainError(f"the run-time support {source.name} does not compile", detail=last_words(done))
        return emit_object(out.read_text(), optimise=False)


def run_tool(command: Sequence[str]) -> Said:
    """Run a compiler or linker on files of ours to its end."""
    return ask_tool(command, env=environment())


def last_words(done: Said) -> str:
    """What a tool that failed said; how it ended when it said nothing."""
    return done.stderr[-2000:].strip() or f"The tool said nothing: {done.end}."
