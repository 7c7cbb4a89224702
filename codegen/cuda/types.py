"""Types of C for those of LLVM, and numbers as C writes them.

A type is named by a short key: `i32` and `u32` for signed and unsigned integers, `b1` for truth values, `f32`, `f64`.
"""

from __future__ import annotations

import math
import struct

from tracecut.ir.llvm import int_bits
from tracecut.ir.llvm.literals import float_of
from tracecut.support.errors import UnsupportedError

C_TYPES = {
    "b1": "bool",
    "i8": "signed char",
    "u8": "unsigned char",
    "i16": "short",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned int",
    "i64": "long long",
    "u64": "unsigned long long",
    "f32": "float",
    "f64": "double",
}
SIZES = {key: max(1, int(key[1:]) // 8) for key in C_TYPES}
_FLOATS = {"float": "f32", "double": "f64"}
_LEAST = {32: "(-2147483647 - 1)", 64: "(-9223372036854775807ll - 1)"}


def key_of(type: str, *, signed: bool = False) -> str:
    """The key of a scalar type of LLVM. Raises UnsupportedError for types that CUDA C has no word for."""
    if type in _FLOATS:
        return _FLOATS[type]
    bits = int_bits(type)
    if bits == 1:
        return "b1"
    if bits not in (8, 16, 32, 64):
        raise UnsupportedError(f"a value of type {type} cannot be written in CUDA C")
    return f"{'i' if signed else 'u'}{bits}"


def is_signed(key: str) -> bool:
    return key[0] == "i"


def width(key: str) -> int:
    """Bits of a type."""
    return int(key[1:])


def integer_literal(value: int, key: str) -> str:
    """A whole number as a constant of a type; numbers of narrow types are constants of `int`."""
    bits = width(key)
    value &= (1 << bits) - 1
    if is_signed(key) and value >> (bits - 1):
        value -= 1 << bits
        if value == -(1 << (bits - 1)) and bits in _LEAST:
            return _LEAST[bits]
    suffix = {"u32": "u", "i64": "ll", "u64": "ull"}.get(key, "")
    return f"{hex(value) if value >= 1 << 31 else value}{suffix}"


def float_literal(text: str, key: str) -> str:
    """A floating-point constant of LLVM's, every bit the same. Raises UnsupportedError for forms that it cannot be."""
    value = float_of(text)
    if value is None:
        raise UnsupportedError(f"the constant {text} cannot be written in CUDA C")
    if math.isfinite(value):
        if key == "f64":
            return repr(value)
        short = next(s for s in (f"{value:.{n}g}" for n in range(6, 18)) if _single(float(s)) == value)
        return f"{short if any(mark in short for mark in '.e') else short + '.0'}f"
    if key == "f64":
        return f"__longlong_as_double(0x{struct.pack('>d', value).hex()}ull)"
    return f"__int_as_float(0x{struct.pack('>f', value).hex()})"


def _single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])
