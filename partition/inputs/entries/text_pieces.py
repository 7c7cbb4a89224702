"""The text of a file in pieces of whole lines, so that a file of any size takes a bounded amount of memory."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, ArtefactError

WORD = re.compile(rb"[^ \t\r\n]+")
ODD = re.compile(rb"[^\t\r\n -\xff]")  # control characters that separate nothing: holes of NUL, say
PIECE = 4 << 20  # bytes: enough for a thread to be busy for ten milliseconds
Told = Callable[[float], None]  # gets the share of the file that has been read


def unheard(share: float) -> None:
    """Nobody follows the progress."""


def words_of(line: bytes) -> list[bytes]:
    """What stands between blanks: spaces, tabs and line ends, not what else Python takes for one."""
    return WORD.findall(line)


def odd_byte(line: bytes) -> str:
    """What is wrong with the first control character of a line; empty where it has none."""
    found = ODD.search(line)
    return f"byte {found.start() + 1} is 0x{found[0][0]:02x}, text expected" if found else ""


def open_text(path: Path) -> BinaryIO:
    """The file, unpacked if it is a gzip file whatever its name. Raises ArgumentError where there is no such file."""
    if path.is_dir():
        raise ArgumentError(f"{str(path)!r}: a folder, a file was expected")
    if not path.exists():
        raise ArgumentError(f"{str(path)!r}: no such file")
    with open(path, "rb") as raw:
        head = raw.read(2)
    return gzip.open(path, "rb") if head == b"\x1f\x8b" else open(path, "rb")  # type: ignore[return-value]


def line_pieces(path: Path, skip: int = 0, told: Told = unheard) -> Iterator[npt.NDArray[np.uint8]]:
    """The bytes behind the first `skip`, in pieces of about PIECE of whole lines; the last line gets an end if it has
    none.

    Raises ArtefactError for a gzip file that is damaged or cut off.
    """
    whole = max(1, path.stat().st_size)
    rest = np.zeros(0, np.uint8)
    with open_text(path) as text:
        raw = text.fileno()
        try:
            text.seek(skip)
            while True:
                piece = np.empty(rest.size + PIECE + 1, np.uint8)
                piece[: rest.size] = rest
                size = text.readinto(piece[rest.size : -1])  # type: ignore[attr-defined]
                told(min(1.0, os.lseek(raw, 0, os.SEEK_CUR) / whole))
                filled = rest.size + size
                if not size:
                    break
                end = last_line_end(piece[:filled])
                rest = piece[end:filled].copy()
                if end:
                    yield piece[:end]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArtefactError(
                f"{path}: a damaged gzip file: {error}", hint="It may be cut off: fetch or copy it again."
            ) from None
    if filled:
        piece[filled] = ord("\n")
        yield piece[: filled + 1]


def last_line_end(text: npt.NDArray[np.uint8]) -> int:
    """The place behind the last line end, 0 without one."""
    step = 1 << 12
    for low in range(max(0, text.size - step), -step, -step):
        part = text[max(0, low) : low + step].tobytes()
        found = part.rfind(b"\n")
        if found >= 0:
            return max(0, low) + found + 1
    return 0
