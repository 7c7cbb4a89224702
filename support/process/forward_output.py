"""Forwards the output of a traced program to the user's files or descriptors."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TextIO

from tracecut.support.argument_checks import AnyPath
from tracecut.support.errors import OutputError

Target = AnyPath | int | None


@contextlib.contextmanager
def passed_on(folder: Path, name: str, *, stdout: Target, stderr: Target) -> Iterator[None]:
    """Forward the output of a program that runs in the block to files or descriptors, however the block ends.

    Args:
        folder, name: of the child runner, which captures it in `folder/name.stdout` and `folder/name.stderr`.
        stdout, stderr: a file, created before the block begins, an open descriptor, or None: not forwarded.

    Both may name one file: it gets stdout, then stderr. Raises OutputError if a file cannot be created, OSError if it
    cannot be written; an error of the block itself takes precedence.
    """
    with contextlib.ExitStack() as stack:
        sinks: dict[Path, BinaryIO] = {}
        files: dict[str, BinaryIO] = {}
        for stream, target in (("stdout", stdout), ("stderr", stderr)):
            if target is not None:
                place = str(target) if isinstance(target, int) else os.path.realpath(os.fsdecode(target))
                if place not in files:
                    files[place] = stack.enter_context(_opened(stream, target))
                sinks[folder / f"{name}.{stream}"] = files[place]
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):
                _copy(sinks)
            raise
        _copy(sinks)


def _copy(sinks: Mapping[Path, BinaryIO]) -> None:
    """Copy both captured files as far as possible; raises the first error."""
    failed: OSError | None = None
    for captured, sink in sinks.items():
        try:
            if captured.exists() and not sink.closed:
                with captured.open("rb") as source:
                    shutil.copyfileobj(source, sink)
                sink.flush()
        except OSError as error:
            failed = failed or error
            with contextlib.suppress(OSError):  # data that could not be written are not tried again
                sink.close()
    if failed is not None:
        raise failed


def descriptor(stream: TextIO) -> int | None:
    """The open descriptor of a Python stream, which is flushed first; None if it has none."""
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
