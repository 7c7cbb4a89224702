"""What a traced program writes, passed on to where its user looks for it."""

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
    """What a program that runs in the block has written goes on to files or descriptors, however the block ends.

    Args:
        folder, name: of the child runner, which captures it in `folder/name.stdout` and `folder/name.stderr`.
        stdout, stderr: a file, made anew before the block begins, an open descriptor, or None: it stays where it is.

    Both may name one file: it gets what came out first, then the errors. Raises OutputError if a file can not be made,
    OSError if it can not be written; not where the block itself fails, whose error comes first.
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
    """Copy what was captured, all that can be; raises the first error."""
    failed: OSError | None = None
    for captured, sink in sinks.items():
        try:
            if captured.exists() and not sink.closed:
                with captured.open("rb") as source:
                    shutil.copyfileobj(source, sink)
                sink.flush()
        except OSError as error:
            failed = failed or error
            with contextlib.suppress(OSError):  # what could not be written is not tried again
                sink.close()
    if failed is not None:
        raise failed


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
