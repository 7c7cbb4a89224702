"""What a traced program writes, passed on to where its user looks for it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from tracecut.ir.errors import OutputError

from .api import AnyPath

Target = AnyPath | int | None


@contextlib.contextmanager
def passed_on(folder: Path, name: str, *, stdout: Target, stderr: Target) -> Iterator[None]:
    """What a program that runs in the block has written goes on to files or descriptors, however the block ends.

    Args:
        folder, name: of the child runner, which captures it in `folder/name.stdout` and `folder/name.stderr`.
        stdout, stderr: a file, made anew before the block begins, an open descriptor, or None: it stays where it is.

    Raises OutputError if a file can not be made, OSError if it can not be written.
    """
    with contextlib.ExitStack() as stack:
        sinks = {}
        for stream, target in (("stdout", stdout), ("stderr", stderr)):
            if target is not None:
                sinks[folder / f"{name}.{stream}"] = stack.enter_context(_opened(stream, target))
        try:
            yield
        finally:
            for captured, sink in sinks.items():
                if captured.exists():
                    with captured.open("rb") as source:
                        shutil.copyfileobj(source, sink)
                    sink.flush()


def descriptor(stream: TextIO) -> int | None:
    """The open descriptor behind a stream of Python, all that was printed there before written; None without one."""
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
        return stream.fileno()
    return None


def _opened(stream: str, target: AnyPath | int) -> BinaryIO:
    if isinstance(target, int):
        return open(target, "wb", closefd=False)
    try:
        return open(target, "wb")
    except OSError as error:
        raise OutputError(
            f"{stream}: cannot write {os.fsdecode(target)}: {error.strerror}", hint="Choose another file."
        ) from error


__all__ = ["Target", "descriptor", "passed_on"]
