"""Numbers in the raw slots that hooks hand over. Light: `tracecut run` starts with it."""

from __future__ import annotations

import struct

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence


def number_of(raw: int, type: str) -> int | float | None:
    """The number in a raw 8-byte slot by LLVM type; None for a type that is no number."""
    data = int(raw).to_bytes(8, "little")
    if type == "ptr":
        return int.from_bytes(data, "little", signed=True)
    if type == "i1":
        return -(data[0] & 1)
    if type in ("i8", "i16", "i32", "i64"):
        return int.from_bytes(data[: int(type[1:]) // 8], "little", signed=True)
    if type == "double":
        return float(struct.unpack("<d", data)[0])
    if type == "float":
        return float(struct.unpack("<f", data[:4])[0])
    return None


def same_number(a: int | float, b: int | float) -> bool:
    """Whether two numbers are the same, floating-point ones bit by bit."""
    if isinstance(a, float) or isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    return a == b


def decode(values: Sequence[int], types: Sequence[str]) -> list[int | float | None]:
    """Numbers of raw 8-byte slots by LLVM type; None for a type that is no number."""
    return [number_of(raw, type) for raw, type in zip(values, types, strict=True)]


def named_numbers(values: Sequence[tuple[str, str]], raw: Sequence[int]) -> dict[str, int | float]:
    """Numbers by name of what a hook reported."""
    found = decode(raw, [type for _, type in values])
    return {name: number for (name, _), number in zip(values, found, strict=True) if number is not None}
