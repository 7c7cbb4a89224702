"""Floating-point literals of LLVM IR."""

from __future__ import annotations

import re
import struct


def float_of(text: str) -> float | None:
    """A floating-point literal, in digits or as the 64 bits of a double; None for anything else."""
    if re.fullmatch(r"0x[0-9A-Fa-f]{16}", text):
        return float(struct.unpack(">d", bytes.fromhex(text[2:]))[0])
    try:
        return float(text)
    except ValueError:
        return None
