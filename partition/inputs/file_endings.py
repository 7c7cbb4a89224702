"""What the name of an input file says of its format."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tracecut.support.errors import ArgumentError


def ending_of(file: Path, known: Collection[str], what: str, instead: str) -> str:
    """The ending in small letters, that before `.gz` where that follows, which `.npz` has none of.

    Args:
        known: endings that there are readers for. what: words in front of the path; instead: what can be passed.

    Raises ArgumentError for a folder, another ending and a missing file.
    """
    plain = file.name[:-3] if file.name.endswith(".gz") else file.name
    ending = Path(plain).suffix.lower()
    if file.is_dir():
        raise ArgumentError(f"{what} {str(file)!r}: a folder, a file was expected")
    if ending not in known or (ending == ".npz" and plain != file.name):
        raise ArgumentError(
            f"{what} {str(file)!r}, whose ending is none of {', '.join(known)}",
            hint=f"Rename the file, or read it and pass {instead}.",
        )
    if not file.is_file():
        raise ArgumentError(f"{what} {str(file)!r}: no such file")
    return ending
