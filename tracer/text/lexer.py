"""Names in LLVM's textual IR, and the splitting of a line into balanced parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

NAME = r'(?:[-a-zA-Z$._0-9]+|"(?:[^"\\]|\\.)*")'
LOCAL = re.compile(rf"%{NAME}")
GLOBAL = re.compile(rf"@{NAME}")
_OPEN, _CLOSE = "([{<", ")]}>"


def split_commas(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets and strings."""
    parts: list[str] = []
    depth = start = 0
    for place, char in outside_strings(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    if last or parts:
        parts.append(last)
    return parts


def matching(text: str, start: int) -> int:
    """Index of the bracket that closes the one at `start`."""
    depth = 0
    for place, char in outside_strings(text, start):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth == 0:
                return place
    raise ValueError(f"unbalanced brackets in {text!r}")


def split_type(text: str) -> tuple[str, str]:
    """Split `TYPE REST` where REST may be empty: the type is one token, a bracketed group, and its suffixes."""
    text = text.lstrip()
    if not text:
        raise ValueError("a type was expected")
    if text[0] in "[{<":
        end = matching(text, 0) + 1
    elif text[0] == "%":
        found = LOCAL.match(text)
        if found is None:
            raise ValueError(f"not a type: {text!r}")
        end = found.end()
    else:
        found = re.match(r"[a-zA-Z_][a-zA-Z0-9_]*", text)
        if found is None:
            raise ValueError(f"not a type: {text!r}")
        end = found.end()
        if found.group() == "target":
            end = matching(text, text.index("(")) + 1
    while True:
        suffix = re.match(r"\s*(addrspace\(\d+\)|\()", text[end:])
        if suffix is None:
            break
        if suffix.group(1) == "(":
            end = matching(text, end + suffix.start(1)) + 1
        else:
            end += suffix.end()
    return text[:end].strip(), text[end:].strip()


def outside_strings(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """(place, character) of everything that stands outside of strings and quoted names."""
    inside = False
    place = start
    while place < len(text):
        char = text[place]
        if char == '"':
            inside = not inside
        elif char == "\\" and inside:
            place += 1
        elif not inside:
            yield place, char
        place += 1
