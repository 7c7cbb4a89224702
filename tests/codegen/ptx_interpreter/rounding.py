"""Rounding of exact numbers to floating point in every direction, and the fused multiply-add of the C library."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from fractions import Fraction
from typing import Any

import numpy as np

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_PRECISION = {np.float16: (11, -24, 65504.0), np.float32: (24, -149, 3.4028234663852886e38)}
_PRECISION[np.float64] = (53, -1074, 1.7976931348623157e308)
_libm = ctypes.CDLL(ctypes.util.find_library("m"))
_libm.fma.restype, _libm.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
_libm.fmaf.restype, _libm.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3


def fma(a: Any, b: Any, c: Any) -> Any:
    """a·b + c, rounded once."""
    call = _libm.fma if a.dtype == np.float64 else _libm.fmaf
    return np.array([call(x, y, z) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)], a.dtype)


def rounded(exact: Fraction, type: Any, mode: str, zero: float = 0.0) -> Any:
    """An exact number in a format; `mode`: rn, rz, rm, rp. `zero`: what an exact zero becomes, with its sign."""
    digits, least, most = _PRECISION[type]
    if exact == 0:
        return type(zero)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    whole, rest = divmod(size, unit)
    up = {"rz": False, "rm": exact < 0, "rp": exact > 0, "rn": 2 * rest > unit or (2 * rest == unit and whole & 1)}
    whole += bool(rest) and up[mode]
    value = whole * unit
    sign = -1 if exact < 0 else 1
    if value > Fraction(most):
        away = mode == "rn" or (mode == "rp" and exact > 0) or (mode == "rm" and exact < 0)
        return type(math.copysign(math.inf if away else most, sign))
    return type(math.copysign(float(value), sign))


def directed(name: str, mode: str, operands: list[Any]) -> Any:
    """add, sub, mul, fma, div, rcp or sqrt of arrays, rounded in a direction."""
    type = operands[0].dtype.type
    plain = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "rcp": lambda a: type(1) / a,
        "fma": lambda a, b, c: a * b + c,
        "sqrt": np.sqrt,
    }[name]
    near = plain(*operands)
    out = []
    for place, values in enumerate(zip(*operands, strict=True)):
        zero = name in ("div", "rcp") and values[-1] == 0
        if zero or not np.isfinite(values).all():
            out.append(near[place])
            continue
        exact = [Fraction(float(value)) for value in values]
        if name == "sqrt":
            out.append(_root(values[0], exact[0], type, mode))
            continue
        result = 1 / exact[0] if name == "rcp" else plain(*exact)
        out.append(rounded(result, type, mode, _zero(name, mode, values, type)))
    return np.array(out, type)


def _zero(name: str, mode: str, values: Any, type: Any) -> float:
    """The sign of a result that is exactly zero."""
    if name in ("mul", "div"):
        return math.copysign(0.0, math.copysign(1, values[0]) * math.copysign(1, values[1]))
    if name == "rcp":
        return 0.0  # of no number
    if name == "fma":
        values = (type(math.copysign(0.0, math.copysign(1, values[0]) * math.copysign(1, values[1]))), values[2])
    signs = [math.copysign(1, value) for value in values]
    signs[1:] = [-signs[1]] if name == "sub" else signs[1:]
    both = signs[0] == signs[1] and not any(values[1:])
    return math.copysign(0.0, signs[0]) if both else -0.0 if mode == "rm" else 0.0


def _root(value: Any, exact: Fraction, type: Any, mode: str) -> Any:
    if exact <= 0:
        return np.sqrt(value)
    shift = 4 * 1100
    root = Fraction(math.isqrt((exact * (1 << shift)).__floor__()), 1 << shift // 2)
    if root * root != exact:
        root += Fraction(1, 1 << shift)  # between the floor and the root, which no format of these has a value in
    return rounded(root, type, mode)
