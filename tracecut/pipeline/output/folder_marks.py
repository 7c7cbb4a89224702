"""Marks of folders made by tracecut: a small file with checked content; its name alone proves nothing.

`tracecut-result` is in every folder of results, `tracecut-staging` in every hidden folder that a run fills. Only
folders that carry a mark are replaced or removed. A mark is one line: what it marks, the version of this format, which
tracecut wrote it, and the SHA-256 of these words; so neither another file of that name nor a damaged one is accepted as
a mark.

`tracecut run` imports this file before the user's program starts: it imports only light modules.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

RESULT, STAGING = "tracecut-result", "tracecut-staging"
FORMAT = 1
LONGEST = 400


def put_mark(folder: Path, kind: str, version: str) -> None:
    """Mark a folder. Raises OSError."""
    words = f"{kind} {FORMAT} {version}"
    (folder / kind).write_text(f"{words} {_digest(words)}\n", encoding="ascii")


def is_marked(folder: Path, kind: str) -> bool:
    """Whether a folder carries a valid mark of a kind. Links are refused: tracecut never makes any."""
    try:
        if kind == STAGING and folder.is_symlink():
            return False
        handle = os.open(folder / kind, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        line = os.read(handle, LONGEST).decode("ascii")
    except (OSError, ValueError):
        return False
    finally:
        os.close(handle)
    words, _, digest = line.rstrip("\n").rpartition(" ")
    known = words.split(" ")[:2] == [kind, str(FORMAT)]
    return known and digest == _digest(words)


def remove_marked(folder: Path, kind: str) -> None:
    """Remove a folder if it is marked, as far as possible; the mark goes last, so that another call can continue."""
    if not is_marked(folder, kind):
        return
    import shutil

    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != kind:
                os.unlink(entry.path)
        if {entry.name for entry in os.scandir(folder)} == {kind}:
            (folder / kind).unlink()
            folder.rmdir()


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()
