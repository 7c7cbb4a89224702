"""Reading sysfs and its like: small files that may be missing, strange or unreadable. Loads no NumPy.

Every reader returns a neutral value if there is nothing to read.
"""

from __future__ import annotations

import re
from pathlib import Path


def contents(path: Path, default: str = "") -> str:
    """The text of a file without blanks around it, `default` where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20).strip()
    except OSError:
        return default


def entries(folder: Path, pattern: str) -> list[Path]:
    """What of a folder matches a pattern, empty where it cannot be read."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def number_of(name: str) -> int:
    """The number at the end of `cpu12` or `node3`, −1 for other names."""
    found = re.fullmatch(r"(?:cpu|node)(\d{1,6})", name)
    return int(found[1]) if found else -1


def whole(text: str, default: int) -> int:
    """A number of up to nine digits."""
    return int(text) if text.isdigit() and len(text) < 10 else default


def byte_count(text: str) -> int | None:
    """`32K` in bytes, None for what is no size."""
    found = re.fullmatch(r"(\d{1,12})([KMG]?)", text)
    scale: dict[str, int] = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(found[1]) * scale[found[2]] if found and int(found[1]) else None


def cpus_in(text: str) -> frozenset[int]:
    """`0-3,8` as a set; empty for what is no such list."""
    found: set[int] = set()
    for part in text.split(","):
        bounds = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if bounds is None:
            return frozenset()
        found.update(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return frozenset(found)


def cpus_of_mask(text: str) -> frozenset[int]:
    """The bits of a mask such as `00000000,0000ffff`; empty for what is none."""
    digits = text.replace(",", "")
    if not re.fullmatch(r"[0-9a-fA-F]{1,4096}", digits):
        return frozenset()
    mask = int(digits, 16)
    return frozenset(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
