"""The standard input of a program that runs several times, from a file, a pipe, a device or our own descriptor."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tracecut.support.errors import ArgumentError
from tracecut.support.file_kinds import descriptor_of
from tracecut.support.memory_amounts import size

LIMIT = 1 << 30  # largest input that is not a file and so has to be stored
PIECE = 1 << 20


def problem_of(stdin: str | os.PathLike[str]) -> str:
    """Why a path cannot be read; empty if it can. A pipe is not opened, since it can be read only once."""
    path = os.fspath(stdin)
    try:
        mode = Path(path).stat().st_mode if path else 0
        if stat.S_ISDIR(mode):
            return "a folder, a file was expected"
        if stat.S_ISREG(mode):
            with open(path, "rb"):
                pass
        elif stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
            return "neither a file nor a pipe"
    except FileNotFoundError:
        return "no such file"
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return "" if path else "no such file"


def kept_input(stdin: Path | None, folder: Path) -> Path | None:
    """A file that can be read repeatedly, in any process: `stdin` itself, or a copy of its content in `folder`.

    A pipe, a device and an open descriptor (`/dev/stdin`, `<(command)`) are read to their end, once. None: empty input.

    Raises ArgumentError if the content is too large or cannot be read.
    """
    if stdin is None or (stdin.is_file() and descriptor_of(stdin) is None):
        return stdin
    target = folder / "standard-input"
    try:
        number = descriptor_of(stdin)
        with open(stdin if number is None else os.dup(number), "rb") as source, target.open("wb") as copy:
            while piece := source.read(PIECE):
                copy.write(piece)
                if copy.tell() > LIMIT:
                    raise ArgumentError(
                        f"stdin is {str(stdin)!r}, which gives more than {size(LIMIT)}",
                        hint="The program runs several times. Put its input into a file.",
                    )
    except OSError as error:
        raise ArgumentError(f"stdin cannot be read from {stdin}: {error.strerror or error}") from error
    return target
