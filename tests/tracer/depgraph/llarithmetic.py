"""Arithmetic of the slow interpreter, one lane at a time."""

from __future__ import annotations

import math
import struct
from typing import Any

from .llvalues import FLOATS, Types, signed

ICMP = {
    "eq": lambda a, b, x, y: a == b,
    "ne": lambda a, b, x, y: a != b,
    "ugt": lambda a, b, x, y: a > b,
    "uge": lambda a, b, x, y: a >= b,
    "ult": lambda a, b, x, y: a < b,
    "ule": lambda a, b, x, y: a <= b,
    "sgt": lambda a, b, x, y: x > y,
    "sge": lambda a, b, x, y: x >= y,
    "slt": lambda a, b, x, y: x < y,
    "sle": lambda a, b, x, y: x <= y,
}


def binary(types: Types, op: str, kind: str, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        element = types.sequence(kind)[1]
        return tuple(binary(types, op, element, x, y) for x, y in zip(a, b, strict=True))
    if kind in FLOATS:
        return rounded(kind, _real(op, a, b))
    bits = types.bits(kind)
    x, y = signed(a, bits), signed(b, bits)
    result = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "udiv": lambda: a // b,
        "urem": lambda: a % b,
        "sdiv": lambda: int(math.copysign(1, x) * math.copysign(1, y)) * (abs(x) // abs(y)),
        "srem": lambda: int(math.copysign(1, x)) * (abs(x) % abs(y)),
        "shl": lambda: a << b if b < bits else 0,
        "lshr": lambda: a >> b if b < bits else 0,
        "ashr": lambda: x >> min(b, bits),
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
    }[op]()
    return result & ((1 << bits) - 1)


def _real(op: str, a: float, b: float) -> float:
    if op == "fdiv":
        return a / b if b else math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return {"fadd": a + b, "fsub": a - b, "fmul": a * b}[op] if op != "frem" else math.fmod(a, b)


def rounded(kind: str, value: float) -> float:
    if kind == "float":
        try:
            return struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


def icmp(types: Types, predicate: str, kind: str, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        element = types.sequence(kind)[1]
        return tuple(icmp(types, predicate, element, x, y) for x, y in zip(a, b, strict=True))
    bits = types.bits(kind)
    return int(ICMP[predicate](a, b, signed(a, bits), signed(b, bits)))


def fcmp(predicate: str, a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(fcmp(predicate, x, y) for x, y in zip(a, b, strict=True))
    if predicate in ("true", "false"):
        return int(predicate == "true")
    unordered = math.isnan(a) or math.isnan(b)
    if predicate in ("ord", "uno"):
        return int(unordered == (predicate == "uno"))
    if unordered:
        return int(predicate.startswith("u"))
    return int({"eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[predicate[1:]])


def cast(types: Types, op: str, source: str, target: str, value: Any) -> Any:
    if op == "bitcast":
        return types.decode(types.encode(value, source), target)
    if isinstance(value, tuple):
        a, b = types.sequence(source)[1], types.sequence(target)[1]
        return tuple(cast(types, op, a, b, item) for item in value)
    if op in ("fptrunc", "fpext"):
        return rounded(target, value)
    if op in ("fptosi", "fptoui"):
        return int(value) & ((1 << types.bits(target)) - 1)
    bits = types.bits(source)
    if op in ("sitofp", "uitofp"):
        return rounded(target, float(signed(value, bits) if op == "sitofp" else value))
    if op == "sext":
        value = signed(value, bits)
    return value & ((1 << types.bits(target)) - 1)
