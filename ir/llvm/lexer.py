"""Names in LLVM's textual IR, and the splitting of a line into balanced parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

NAME = r'(?:[-a-zA-Z$._0-9]+|"(?:[^"\\]|\\.)*")'
LOCAL = re.compile(rf"%{NAME}")
GLOBAL = re.compile(rf"@{NAME}")
STRING = r'"(?:[^"\\]|\\.)*+"?'  # one that has no end goes to the end of the text
_MARK = re.compile(rf"{STRING}|[()\[\]{{}}<>,]", re.DOTALL)
_NESTED = re.compile(r'["()\[\]{}<>]')
_WORD = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_SUFFIX = re.compile(r"\s*(addrspace\(\d+\)|\()")
_DEPTH = dict.fromkeys("([{<", 1) | dict.fromkeys(")]}>", -1)


def split_commas(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets and strings."""
    if not _NESTED.search(text):  # as most operands are
        return [part.strip() for part in text.split(",")] if text.strip() else []
    parts: list[str] = []
    depth = start = 0
    for place, mark in marks(text):
        if mark == ",":
            if depth == 0:
                parts.append(text[start:place].strip())
                start = place + 1
        else:
            depth += _DEPTH[mark]
    last = text[start:].strip()
    if last or parts:
        parts.append(last)
    return parts


def matching(text: str, start: int) -> int:
    """Index of the bracket that closes the one at `start`."""
    depth = 0
    for place, mark in marks(text, start):
        if mark != ",":
            depth += _DEPTH[mark]
            if depth == 0:
                return place
    raise ValueError(f"unbalanced brackets in {text!r}")


def constant_address(text: str) -> tuple[str, list[str]] | None:
    """(flags, the parts between the parentheses) of a constant `getelementptr`; None when it is something else."""
    found = re.match(r"getelementptr\s+((?:(?:inbounds|nuw|nusw|inrange\([^)]*\))\s+)*)\(", text)
    return None if found is None else (found[1], split_commas(text[found.end() : -1]))


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
        found = _WORD.match(text)
        if found is None:
            raise ValueError(f"not a type: {text!r}")
        end = found.end()
        if found.group() == "target":
            end = matching(text, text.index("(")) + 1
    while (suffix := _SUFFIX.match(text, end)) is not None:
        if suffix.group(1) == "(":
            end = matching(text, suffix.start(1)) + 1
        else:
            end = suffix.end()
    return text[:end].strip(), text[end:].strip()


def marks(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """(place, character) of every bracket and comma outside of strings and quoted names."""
    for found in _MARK.finditer(text, start):
        if (mark := found.group())[0] != '"':
            yield found.start(), mark
