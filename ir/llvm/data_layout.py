"""Sizes and alignments of LLVM types under the data layout of the supported targets (64-bit, little endian)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lexer import split_commas, split_type

_FLOATS = {
    "half": (2, 2),
    "bfloat": (2, 2),
    "float": (4, 4),
    "double": (8, 8),
    "x86_fp80": (16, 16),
    "fp128": (16, 16),
    "ppc_fp128": (16, 16),
}


_SHORT_POINTERS = ("ptr addrspace(270)", "ptr addrspace(271)")  # x86: __ptr32, signed and unsigned


class TypeTable:
    """Named struct types of one module: resolves a type's text to its size in bytes and its alignment."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self.named = dict(named)
        self._known: dict[str, tuple[int, int]] = {}

    def size(self, text: str) -> int:
        """Allocation size in bytes (padding up to the alignment included)."""
        return self._layout(text)[0]

    def stored(self, text: str) -> int:
        """Bytes that a load or store of the type touches (padding not included)."""
        bits = self._bits(text)
        return self.size(text) if bits is None else (bits + 7) // 8

    def align(self, text: str) -> int:
        return self._layout(text)[1]

    def field(self, text: str, index: int) -> tuple[int, str]:
        """Offset in bytes and type of member `index` of a struct, array or vector type."""
        body = self._resolve(text)
        if body.startswith(("{", "<{")):
            packed = body.startswith("<{")
            offset = 0
            for place, member in enumerate(self._members(body)):
                if not packed:
                    offset = _round_up(offset, self.align(member))
                if place == index:
                    return offset, member
                offset += self.size(member)
            raise ValueError(f"{text} has no member {index}")
        found = re.match(r"[\[<](\d+) x (.*)[\]>]$", body, re.DOTALL)
        if found is None:
            raise ValueError(f"{text} has no members")
        return index * self.size(found.group(2)), found.group(2)

    def element(self, text: str) -> str | None:
        """Element type of an array or vector, None for anything else."""
        found = re.match(r"[\[<](?:vscale x )?(\d+) x (.*)[\]>]$", self._resolve(text), re.DOTALL)
        return found.group(2) if found and not self._resolve(text).startswith("<{") else None

    def _resolve(self, text: str) -> str:
        text = text.strip()
        while text.startswith("%"):
            if text not in self.named:
                raise ValueError(f"unknown type {text}")
            text = self.named[text]
        return text

    def _members(self, body: str) -> list[str]:
        inner = body[2:-2] if body.startswith("<{") else body[1:-1]
        return split_commas(inner) if inner.strip() else []

    def _layout(self, text: str) -> tuple[int, int]:
        text = text.strip()
        if text not in self._known:
            self._known[text] = self._compute(text)
        return self._known[text]

    def _compute(self, text: str) -> tuple[int, int]:
        kind, rest = split_type(text)
        if rest:
            raise ValueError(f"not one type: {text!r}")
        if kind in _FLOATS:
            return _FLOATS[kind]
        if kind == "ptr" or kind.startswith("ptr "):
            return (4, 4) if kind in _SHORT_POINTERS else (8, 8)
        integer = re.match(r"i(\d+)$", kind)
        if integer:
            nbytes = (int(integer.group(1)) + 7) // 8
            align = min(16, 1 << (nbytes - 1).bit_length())
            return _round_up(nbytes, align), align
        body = self._resolve(kind)
        if body == "opaque":
            raise ValueError(f"{text} is opaque")
        if body.startswith(("{", "<{")):
            return self._struct(body)
        found = re.match(r"([\[<])(\d+) x (.*)[\]>]$", body, re.DOTALL)
        if found is None:
            raise ValueError(f"type {text!r} has no fixed size")
        size, align = self._layout(found.group(3))
        if found.group(1) == "[":
            return int(found.group(2)) * size, align
        align = 1 << (self.stored(body) - 1).bit_length()
        return _round_up(self.stored(body), align), align

    def _bits(self, text: str) -> int | None:
        """Bits of a scalar or of a vector, whose elements lie without padding; None for an aggregate."""
        body = self._resolve(text)
        if body in _FLOATS:
            return 80 if body == "x86_fp80" else 8 * _FLOATS[body][0]
        integer = re.match(r"i(\d+)$", body)
        if integer:
            return int(integer.group(1))
        if body.startswith("ptr"):
            return 8 * self.size(body)
        vector = re.match(r"<(\d+) x (.*)>$", body, re.DOTALL)
        element = self._bits(vector.group(2)) if vector else None
        return int(vector.group(1)) * element if vector and element is not None else None

    def _struct(self, body: str) -> tuple[int, int]:
        packed = body.startswith("<{")
        offset, largest = 0, 1
        for member in self._members(body):
            size, align = self._layout(member)
            if not packed:
                offset = _round_up(offset, align)
                largest = max(largest, align)
            offset += size
        return _round_up(offset, largest), largest


def int_bits(text: str) -> int | None:
    """Width of an integer type, None for any other type."""
    return int(text[1:]) if re.fullmatch(r"i\d+", text) else None


def _round_up(value: int, align: int) -> int:
    return (value + align - 1) // align * align
