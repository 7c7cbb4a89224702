"""Expressions one value at a time: the slow reference that the vectorised evaluation is compared with.

Integers are Python numbers, signed at the width of their type; None is a value that is not known (poison, a load
outside of every object).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from tracecut.ir.loops.expressions import Expr
from tracecut.tracer.legality.evaluation.memory import Memory

Number = int | float
WIDTHS = {"ptr": 64} | {f"i{bits}": bits for bits in range(1, 65)}


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def rounded(value: float, type: str) -> float:
    return float(np.float32(value)) if type == "float" else float(value)


def interpret(
    expr: Expr, counters: Mapping[int, int], lives: Mapping[str, Number], memory: Memory, arm: int = 0
) -> Number | None:
    """Value of an expression in one iteration. `arm` is the way that merges of unknown origin go."""
    again = lambda node: interpret(node, counters, lives, memory, arm)  # noqa: E731
    match expr.kind:
        case "const":
            return expr.data[0]
        case "live":
            return lives.get(expr.data[0])
        case "counter":
            return counters[expr.data[0]]
        case "load":
            return load(again(expr.args[0]), str(expr.data[1]), memory)
        case "any":
            return again(expr.args[arm % len(expr.args)])
        case "choice":
            condition = again(expr.args[0])
            return None if condition is None else again(expr.args[1 if condition else 2])
    parts = [again(arg) for arg in expr.args]
    if any(part is None for part in parts):
        return None
    if expr.kind == "cast":
        return cast(*expr.data, parts[0])
    if expr.kind == "cmp":
        return -int(compare(*expr.data, *parts))
    return arithmetic(*expr.data, *parts)


def load(address: Any, type: str, memory: Memory) -> Number | None:
    size, code = {
        "i1": (1, "b"),
        "i8": (1, "b"),
        "i16": (2, "h"),
        "i32": (4, "i"),
        "i64": (8, "q"),
        "ptr": (8, "q"),
        "float": (4, "f"),
        "double": (8, "d"),
    }[type]
    data = None if address is None else memory.read(address, size)
    if data is None:
        return None
    value = struct.unpack("<" + code, data)[0]
    return -(value & 1) if type == "i1" else value


def cast(opcode: str, source: str, target: str, value: Any) -> Number | None:
    match opcode:
        case "zext":
            return unsigned(value, WIDTHS[source])
        case "sext":
            return value
        case "trunc":
            return signed(value, WIDTHS[target])
        case "sitofp" | "uitofp":
            whole = value if opcode == "sitofp" else unsigned(value, WIDTHS[source])
            # One rounding: of Python's integers straight to the type.
            return (
                float(np.float32(np.uint64(whole) if whole >= 0 else np.int64(whole)))
                if target == "float"
                else whole * 1.0
            )
        case "fpext" | "fptrunc":
            with np.errstate(all="ignore"):
                return rounded(value, target)
    if not math.isfinite(value):
        return None
    bits, whole = WIDTHS[target], int(value)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if opcode == "fptosi" else (0, (1 << bits) - 1)
    return signed(whole, bits) if low <= whole <= high else None


def compare(predicate: str, type: str, a: Any, b: Any) -> bool:
    op, word = predicate.split()
    if op == "icmp":
        if word[0] == "u":
            a, b = unsigned(a, WIDTHS[type]), unsigned(b, WIDTHS[type])
        word = word if word in ("eq", "ne") else word[1:]
    else:
        unordered = math.isnan(a) or math.isnan(b)
        if word in ("ord", "uno", "true", "false"):
            return {"ord": not unordered, "uno": unordered, "true": True, "false": False}[word]
        if unordered:
            return word[0] == "u"
        word = word[1:]
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[word]


def arithmetic(opcode: str, type: str, a: Any, b: Any) -> Number | None:
    if type in ("float", "double"):
        of = np.float32 if type == "float" else np.float64
        a, b = of(a), of(b)
        with np.errstate(all="ignore"):
            found = {"fadd": a + b, "fsub": a - b, "fmul": a * b, "fdiv": a / b, "fabs": abs(a)}[opcode]
        return float(found)
    bits = WIDTHS[type]
    big, other = unsigned(a, bits), unsigned(b, bits)
    match opcode:
        case "shl" | "lshr" | "ashr":
            if other >= bits:
                return None
            return signed({"shl": a << other, "lshr": big >> other, "ashr": a >> other}[opcode], bits)
        case "udiv" | "urem":
            return None if other == 0 else signed(big // other if opcode == "udiv" else big % other, bits)
        case "sdiv" | "srem":
            if b == 0 or (b == -1 and a == -(1 << (bits - 1))):
                return None
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if opcode == "sdiv" else a - quotient * b
        case "umin" | "umax":
            return a if (big < other) == (opcode == "umin") else b
        case "abs":
            return signed(abs(a), bits)
    found = {"add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "mask": a & b, "or": a | b, "xor": a ^ b}
    found |= {"smin": min(a, b), "smax": max(a, b)}
    return signed(found[opcode], bits)
