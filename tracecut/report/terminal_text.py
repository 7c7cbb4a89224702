"""Strings of the user's program for a terminal: no control characters, bounded width, exact commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from rich.cells import cell_len

from .markup import UNSEEN

PLAIN = str.maketrans(
    {"\u202f": " ", "\u00a0": " ", "–": "-", "→": "->", "×": "x", "µ": "u", "…": "..", "‹": "<", "›": ">"}
)


def plain(text: str) -> str:
    """Our own text in ASCII."""
    return text.translate(PLAIN)


def harmless(text: str, ascii_only: bool) -> str:
    """One line of text: control characters, also bidirectional ones, are written as <U+001B>.

    With `ascii_only` other non-ASCII characters are written as in Python, \\xe9 or \\u4e2d.
    """
    spelled = UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", " ".join(text.split("\n")).replace("\t", " "))
    return spelled.encode("ascii", "backslashreplace").decode() if ascii_only else spelled


def fit(text: str, cells: int) -> str:
    """At most `width` columns: the middle of a longer text is left out, since names differ at their ends."""
    if cell_len(text) <= cells:
        return text
    tail = _take(reversed(text), (cells - 2) // 2)[::-1]
    return _take(text, cells - 2 - cell_len(tail)) + ".." + tail


def fit_words(text: str, cells: int) -> str:
    """At most `width` columns: whole words are left out in the middle of a longer text, if it has short ones."""
    words, cut = text.split(" "), fit(text, cells)
    if cut == text or len(words) < 4:
        return cut
    front, back = [words[0]], [words[-1]]
    for place in range(1, len(words)):
        part = front if place % 2 else back
        word = words[len(front)] if place % 2 else words[-1 - len(back)]
        if cell_len(" ".join([*front, word, "..", *back])) > cells:
            break
        part.insert(len(part) if part is front else 0, word)
    kept = " ".join([*front, "..", *back])
    return kept if cell_len(kept) <= cells else cut


def _take(text: Iterable[str], cells: int) -> str:
    taken, used = [], 0
    for char in text:
        used += cell_len(char)
        if used > cells:
            break
        taken.append(char)
    return "".join(taken)


def quote(word: str, ascii_only: bool) -> str:
    """A word for a POSIX shell; one that a terminal cannot show is written in bytes, as $'\\x1b'."""
    if word.isprintable() and not UNSEEN.search(word) and (word.isascii() or not ascii_only):
        return shlex.quote(word)
    return "$'" + "".join(_byte(byte) for char in word for byte in _encoded(char)) + "'"


def _encoded(char: str) -> bytes:
    try:
        return char.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, which no file name and no argument has
        return b"?"


def _byte(byte: int) -> str:
    char = chr(byte)
    if char in "'\\":
        return "\\" + char
    return char if 32 <= byte < 127 else f"\\x{byte:02x}"
