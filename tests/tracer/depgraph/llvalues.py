"""Types and values of textual LLVM IR, for the slow interpreter: written from the language reference alone."""

from __future__ import annotations

import re
import struct
from typing import Any

from tracecut.ir.llvm.lexer import matching, split_commas, split_type

FLOATS = {"float": ("<f", 4), "double": ("<d", 8)}


def half_open(text: str) -> list[str]:
    return split_commas(text) if text.strip() else []


class Types:
    """Sizes, alignments, encoding and decoding."""

    def __init__(self, named: dict[str, str]) -> None:
        self.named = named

    def body(self, kind: str) -> str:
        while kind in self.named:
            kind = self.named[kind]
        return kind

    def members(self, kind: str) -> list[str]:
        kind = self.body(kind)
        if kind.startswith("<{"):
            return half_open(kind[2:-2])
        if kind.startswith("{"):
            return half_open(kind[1:-1])
        count, element = self.sequence(kind)
        return [element] * count

    def sequence(self, kind: str) -> tuple[int, str]:
        found = re.match(r"[\[<](\d+) x (.*)[\]>]$", self.body(kind), re.DOTALL)
        assert found is not None, kind
        return int(found.group(1)), found.group(2)

    def is_vector(self, kind: str) -> bool:
        kind = self.body(kind)
        return kind.startswith("<") and not kind.startswith("<{")

    def is_aggregate(self, kind: str) -> bool:
        return self.body(kind).startswith(("{", "[", "<{"))

    def bits(self, kind: str) -> int:
        """Of an integer or a pointer."""
        return 64 if kind.startswith("ptr") else int(kind[1:])

    def stored(self, kind: str) -> int:
        """Bytes that a load or store touches."""
        kind = self.body(kind)
        if kind in FLOATS:
            return FLOATS[kind][1]
        if self.is_vector(kind):
            count, element = self.sequence(kind)
            return (count * (FLOATS[element][1] * 8 if element in FLOATS else self.bits(element)) + 7) // 8
        if self.is_aggregate(kind):
            return self.size(kind)
        return (self.bits(kind) + 7) // 8

    def align(self, kind: str) -> int:
        kind = self.body(kind)
        if kind.startswith("<{"):
            return 1
        if kind.startswith("{"):
            return max([1, *(self.align(member) for member in self.members(kind))])
        if kind.startswith("["):
            return self.align(self.sequence(kind)[1])
        size = self.stored(kind)
        power = 1
        while power < size:
            power *= 2
        return power if self.is_vector(kind) else min(16, power)

    def size(self, kind: str) -> int:
        kind = self.body(kind)
        if kind.startswith(("{", "<{")):
            end = 0
            for place in range(len(self.members(kind))):
                end = self.offset(kind, place) + self.size(self.members(kind)[place])
            step = self.align(kind)
            return -(-end // step) * step
        if kind.startswith("["):
            count, element = self.sequence(kind)
            return count * self.size(element)
        return -(-self.stored(kind) // self.align(kind)) * self.align(kind)

    def offset(self, kind: str, index: int) -> int:
        members = self.members(kind)
        if not self.body(kind).startswith(("{", "<{")):
            return index * self.size(members[0]) if members else 0
        place = 0
        for number, member in enumerate(members):
            if not self.body(kind).startswith("<{"):
                place = -(-place // self.align(member)) * self.align(member)
            if number == index:
                return place
            place += self.size(member)
        raise AssertionError((kind, index))

    def zero(self, kind: str) -> Any:
        kind = self.body(kind)
        if kind in FLOATS:
            return 0.0
        if self.is_vector(kind) or self.is_aggregate(kind):
            return tuple(self.zero(member) for member in self.members(kind))
        return 0

    def encode(self, value: Any, kind: str) -> bytes:
        kind = self.body(kind)
        if kind in FLOATS:
            return struct.pack(FLOATS[kind][0], value)
        if self.is_vector(kind):
            _, element = self.sequence(kind)
            if element in FLOATS:
                return b"".join(self.encode(item, element) for item in value)
            width, whole = self.bits(element), 0
            for lane, item in enumerate(value):
                whole |= item << (lane * width)
            return whole.to_bytes(self.stored(kind), "little")
        if self.is_aggregate(kind):
            data = bytearray(self.size(kind))
            for place, (item, member) in enumerate(zip(value, self.members(kind), strict=True)):
                part = self.encode(item, member)
                start = self.offset(kind, place)
                data[start : start + len(part)] = part
            return bytes(data)
        return int(value).to_bytes(self.stored(kind), "little")

    def decode(self, data: bytes, kind: str) -> Any:
        kind = self.body(kind)
        if kind in FLOATS:
            return struct.unpack(FLOATS[kind][0], data)[0]
        if self.is_vector(kind):
            count, element = self.sequence(kind)
            if element in FLOATS:
                size = FLOATS[element][1]
                return tuple(self.decode(data[i * size : (i + 1) * size], element) for i in range(count))
            width, whole = self.bits(element), int.from_bytes(data, "little")
            return tuple(whole >> (lane * width) & ((1 << width) - 1) for lane in range(count))
        if self.is_aggregate(kind):
            found = []
            for place, member in enumerate(self.members(kind)):
                start = self.offset(kind, place)
                found.append(self.decode(data[start : start + self.stored(member)], member))
            return tuple(found)
        return int.from_bytes(data, "little") & ((1 << self.bits(kind)) - 1)


class Constants:
    """Values of constant expressions; `address` names the address of a global."""

    def __init__(self, types: Types, address: dict[str, int]) -> None:
        self.types = types
        self.address = address

    def value(self, kind: str, text: str) -> Any:
        types = self.types
        body = types.body(kind)
        if text in ("zeroinitializer", "undef", "poison", "null", "none"):
            return types.zero(kind)
        if text in ("true", "false"):
            return int(text == "true")
        if text.startswith("@"):
            return self.address[text]
        if text.startswith('c"'):
            data = re.sub(rb"\\([0-9A-Fa-f]{2}|\\)", _unescape, text[2:-1].encode())
            return tuple(data)
        if text.startswith("splat ("):
            count, _ = types.sequence(kind)
            return (self._typed(text[text.index("(") + 1 : -1]),) * count
        if text[0] in "[{<":
            inner = text[2:-2] if text.startswith("<{") else text[1:-1]
            return tuple(self._typed(part) for part in half_open(inner))
        if body in FLOATS:
            if text.startswith("0x"):
                return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
            return float(text)
        if re.fullmatch(r"-?\d+", text):
            return int(text) & ((1 << types.bits(body)) - 1)
        return self._expression(text)

    def _typed(self, text: str) -> Any:
        kind, value = split_type(text)
        return self.value(kind, value)

    def _expression(self, text: str) -> Any:
        name = text.split(None, 1)[0].split("(")[0]
        head = re.match(r"\w+ *(?:(?:inbounds|nuw|nusw|nsw|inrange\([^)]*\)) *)*\(", text)
        assert head is not None, text
        start = head.end() - 1
        inside = text[start + 1 : matching(text, start)]
        if name == "getelementptr":
            parts = half_open(inside)
            address = self._typed(parts[1])
            indices = [(split_type(part)[0], self._typed(part)) for part in parts[2:]]
            return gep(self.types, parts[0], address, indices)
        if name in ("ptrtoint", "inttoptr", "bitcast", "addrspacecast", "trunc"):
            value, target = inside.rsplit(" to ", 1)
            return self._typed(value) & ((1 << self.types.bits(target.strip())) - 1)
        first, second = half_open(inside)
        kind = split_type(first)[0]
        a, b = self._typed(first), self._typed(second)
        return {"add": a + b, "sub": a - b, "xor": a ^ b}[name] & ((1 << self.types.bits(kind)) - 1)


def _unescape(found: re.Match[bytes]) -> bytes:
    return b"\\" if found.group(1) == b"\\" else bytes([int(found.group(1), 16)])


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def gep(types: Types, kind: str, address: int, indices: list[tuple[str, int]]) -> int:
    """Address arithmetic; indices are signed."""
    for place, (index_type, index) in enumerate(indices):
        step = signed(index, types.bits(index_type))
        if place == 0:
            address += step * types.size(kind)
        elif types.body(kind).startswith(("{", "<{")):
            address += types.offset(kind, index)
            kind = types.members(kind)[index]
        else:
            kind = types.sequence(kind)[1]
            address += step * types.size(kind)
    return address & ((1 << 64) - 1)
