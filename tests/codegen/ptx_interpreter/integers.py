"""Integer instructions on arrays of unsigned integers: wrapping, shifts, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .parse import Instruction

SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
Read = Callable[[str, int], Any]


def width(instruction: Instruction, type: str = "") -> int:
    """Bits of a type: 1 of a predicate."""
    type = type or instruction.type
    if type == "pred":
        return 1
    if type[:1] in "bsuf" and type[1:] in ("8", "16", "32", "64"):
        return int(type[1:])
    raise instruction.unknown("type of")


def typed(values: Any, type: str) -> Any:
    """Unsigned integers as numbers of an integer type."""
    return values.view(SIGNED[values.itemsize * 8]) if type[0] == "s" else values


def objects(values: Any, type: str) -> Any:
    """Python's integers, which do not overflow."""
    return typed(values, type).astype(object)


def wrapped(values: Any, bits: int) -> Any:
    """The low bits of Python's integers."""
    return np.array([int(value) & ((1 << bits) - 1) for value in values], UNSIGNED[bits])


def integer(made: Instruction, read: Read) -> Any:
    """Result of an integer instruction, or NotImplemented."""
    found = _TABLE.get(made.op[0])
    return NotImplemented if found is None else found(made, read)


def _only(made: Instruction, *allowed: str) -> str:
    """The one part between name and type; empty if there is none."""
    middle = made.op[1:-1]
    if len(middle) > 1 or (middle and middle[0] not in allowed):
        raise made.unknown()
    return middle[0] if middle else ""


def _plain(work: Callable[[Any, Any, str], Any]) -> Callable[[Instruction, Read], Any]:
    def apply(made: Instruction, read: Read) -> Any:
        _only(made)
        bits = width(made)
        given = [read(operand, bits) for operand in made.operands[1:]]
        result = work(*(typed(value, made.type) for value in given))
        return np.asarray(result) if bits == 1 else np.asarray(result).astype(UNSIGNED[bits])

    return apply


def _multiply(made: Instruction, read: Read) -> Any:
    """mul and mad: low or high half of the product, or all of it."""
    half, bits, type = _only(made, "lo", "hi", "wide"), width(made), made.type
    if half not in ("lo", "hi", "wide"):
        raise made.unknown()
    a, b = (typed(read(operand, bits), type) for operand in made.operands[1:3])
    result = 2 * bits if half == "wide" else bits
    if half == "hi":
        product = wrapped(a.astype(object) * b.astype(object) >> bits, bits)
    elif half == "lo":
        product = (a * b).view(UNSIGNED[bits])
    else:
        wide = (SIGNED if type[0] == "s" else UNSIGNED)[result]
        product = (a.astype(wide) * b.astype(wide)).view(UNSIGNED[result])
    return product + read(made.operands[3], result) if made.op[0] == "mad" else product


def _divide(made: Instruction, read: Read) -> Any:
    _only(made)
    bits = width(made)
    a, b = (objects(read(operand, bits), made.type) for operand in made.operands[1:])
    if (b == 0).any():
        raise made.unknown("it divides by zero, whose result PTX leaves open:")
    quotient = np.array(
        [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b, strict=True)], object
    )
    return wrapped(quotient if made.op[0] == "div" else a - quotient * b, bits)


def _shift(made: Instruction, read: Read) -> Any:
    """Shifts by the width or more leave zeros, or the sign."""
    _only(made)
    bits = width(made)
    value = typed(read(made.operands[1], bits), made.type)
    by = read(made.operands[2], 32)
    kept = np.minimum(by, bits - 1).astype(value.dtype)
    if made.op[0] == "shl":
        return np.where(by < bits, value << kept, 0).astype(UNSIGNED[bits])
    rest = -1 if made.type[0] == "s" else 0
    return np.where(by < bits, value >> kept, np.where(value < 0, rest, 0)).astype(UNSIGNED[bits])


def _bits(made: Instruction, read: Read) -> Any:
    """popc, clz, brev."""
    _only(made)
    bits = width(made)
    words = [f"{int(value):0{bits}b}" for value in read(made.operands[1], bits)]
    if made.op[0] == "brev":
        return np.array([int(word[::-1], 2) for word in words], UNSIGNED[bits])
    count = [word.count("1") if made.op[0] == "popc" else len(word) - len(word.lstrip("0")) for word in words]
    return np.array(count, np.uint32)


def _extract(made: Instruction, read: Read) -> Any:
    """bfe: a field of bits, filled up with its sign if the type has one."""
    _only(made)
    bits = width(made)
    out = []
    places, lengths = (read(operand, 32) & np.uint32(255) for operand in made.operands[2:])
    for value, place, length in zip(
        read(made.operands[1], bits).tolist(), places.tolist(), lengths.tolist(), strict=True
    ):
        field = value >> place & (1 << length) - 1
        top = min(place + length - 1, bits - 1)
        if made.type[0] == "s" and length and value >> top & 1:
            field |= -1 << max(0, min(length, bits - place))
        out.append(field)
    return wrapped(out, bits)


def _insert(made: Instruction, read: Read) -> Any:
    """bfi: the low bits of a in the place of a field of b."""
    _only(made)
    bits = width(made)
    a, b = (read(operand, bits).tolist() for operand in made.operands[1:3])
    places, lengths = ((read(operand, 32) & np.uint32(255)).tolist() for operand in made.operands[3:])
    out = []
    for low, into, place, length in zip(a, b, places, lengths, strict=True):
        mask = (1 << length) - 1 << place
        out.append(into & ~mask | low << place & mask)
    return wrapped(out, bits)


def _funnel(made: Instruction, read: Read) -> Any:
    """shf: 64 bits of two registers, moved by 32 at most."""
    if made.op[1] not in ("l", "r") or made.op[2] not in ("wrap", "clamp") or made.type != "b32":
        raise made.unknown()
    low, high, by = (read(operand, 32).astype(object) for operand in made.operands[1:])
    by = by & 31 if made.op[2] == "wrap" else np.minimum(by, 32)
    both = high << 32 | low
    return wrapped(both << by >> 32 if made.op[1] == "l" else both >> by, 32)


def _permute(made: Instruction, read: Read) -> Any:
    """prmt: four bytes of eight; the fourth bit of a selector takes the sign of its byte."""
    _only(made)
    out = []
    for a, b, selectors in zip(*(read(operand, 32).tolist() for operand in made.operands[1:]), strict=True):
        bytes, result = (b << 32 | a).to_bytes(8, "little"), 0
        for place in range(4):
            selector = selectors >> 4 * place & 15
            byte = bytes[selector & 7]
            result |= (255 * (byte >> 7) if selector & 8 else byte) << 8 * place
        out.append(result)
    return np.array(out, np.uint32)


def _logic3(made: Instruction, read: Read) -> Any:
    """lop3: each bit by a table of eight."""
    _only(made)
    a, b, c = (read(operand, 32) for operand in made.operands[1:4])
    table = int(made.operands[4], 0)
    result = np.zeros_like(a)
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


_TABLE: dict[str, Callable[[Instruction, Read], Any]] = {
    "add": _plain(lambda a, b: a + b),
    "sub": _plain(lambda a, b: a - b),
    "min": _plain(np.minimum),
    "max": _plain(np.maximum),
    "and": _plain(lambda a, b: a & b),
    "or": _plain(lambda a, b: a | b),
    "xor": _plain(lambda a, b: a ^ b),
    "not": _plain(lambda a: ~a),
    "neg": _plain(lambda a: -a),
    "abs": _plain(np.abs),
    "mul": _multiply,
    "mad": _multiply,
    "div": _divide,
    "rem": _divide,
    "shl": _shift,
    "shr": _shift,
    "popc": _bits,
    "clz": _bits,
    "brev": _bits,
    "bfe": _extract,
    "bfi": _insert,
    "shf": _funnel,
    "prmt": _permute,
    "lop3": _logic3,
}
