"""Who wrote a bitcode file: the first block of its bit stream says which LLVM release it was."""

from __future__ import annotations

import re

_WORD = "LLVM"
_CHAR6 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
_HEAD = 128  # bytes: the block lies at the very start, behind a wrapper of 20 bytes at most


def producer(data: bytes) -> str | None:
    """The release that wrote a bitcode file, such as `22.1.8`; None when it does not say.

    The name is a string of characters of six or eight bits at any bit position: both are looked for. O(1).
    """
    bits = int.from_bytes(data[:_HEAD], "little")
    for width, codes in ((6, [_CHAR6.index(letter) for letter in _WORD]), (8, list(_WORD.encode()))):
        wanted = sum(code << (width * place) for place, code in enumerate(codes))
        length = width * len(codes)
        for start in range(8 * min(len(data), _HEAD) - length + 1):
            if bits >> start & ((1 << length) - 1) == wanted:
                found = re.match(r"[0-9]+(\.[0-9]+)*", _letters(bits >> (start + length), width))
                if found:
                    return found.group()
    return None


def _letters(bits: int, width: int) -> str:
    """The next characters of a string, 32 at most."""
    codes = [bits >> (width * place) & ((1 << width) - 1) for place in range(32)]
    return "".join(_CHAR6[code] if width == 6 else chr(code) for code in codes)
