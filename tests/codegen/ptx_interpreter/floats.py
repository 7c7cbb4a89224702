"""Floating-point instructions, conversions and comparisons on arrays of bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .integers import SIGNED, UNSIGNED, Read, typed, width
from .parse import Instruction
from .rounding import FLOATS, directed, fma, rounded

MODES = ("rn", "rz", "rm", "rp")
_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_ORDERED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
_ORDERED |= {"gt": np.greater, "ge": np.greater_equal}
_BY_SIZE = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def bits_of(values: Any) -> Any:
    """The bits of floating-point numbers; a NaN of 32 bits is the one that the hardware makes."""
    found = np.ascontiguousarray(values)
    bits = found.view(UNSIGNED[found.itemsize * 8]).copy()
    if found.dtype == np.float32:
        bits[np.isnan(found)] = 0x7FFFFFFF
    return bits


def number(bits: Any, type: str) -> Any:
    """Bits as numbers of a type."""
    return bits.view(FLOATS[type]) if type in FLOATS else typed(bits, type)


def flushed(values: Any) -> Any:
    """Denormal numbers as zeros of their sign."""
    return np.where(np.abs(values) < np.finfo(values.dtype).tiny, np.copysign(values.dtype.type(0), values), values)


def floating(made: Instruction, read: Read) -> Any:
    """Result of an instruction on f32 or f64, or NotImplemented."""
    name, middle = made.op[0], set(made.op[1:-1])
    if made.type not in ("f32", "f64"):
        return NotImplemented
    given = [number(read(operand, width(made)), made.type) for operand in made.operands[1:]]
    if "ftz" in middle:
        given = [flushed(value) for value in given]
    with np.errstate(all="ignore"):
        result = _compute(made, name, middle - {"ftz"}, given)
        if result is NotImplemented:
            return result
        return bits_of(flushed(result) if "ftz" in middle else result)


def _compute(made: Instruction, name: str, middle: set[str], given: list[Any]) -> Any:
    if middle <= set(MODES) and len(middle) <= 1 and name in ("add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"):
        mode, name = (*middle, "rn")[0], "fma" if name == "mad" else name
        if not middle and name not in ("add", "sub", "mul"):
            raise made.unknown()
        if mode != "rn":
            return directed(name, mode, given)
        return fma(*given) if name == "fma" else _NEAREST[name](*given)
    if name in ("min", "max") and middle <= {"NaN"}:
        return _extreme(name, given, bool(middle))
    if name in _EXACT and not middle:
        return _EXACT[name](*given)
    if middle == {"approx"} and name in _ROUGHLY and not (name == "rcp" and made.type == "f64"):
        return _ROUGHLY[name](*(value.astype(np.float64) for value in given)).astype(given[0].dtype)
    if middle == {"approx"} and name == "rcp":  # of the upper 32 bits alone, as many come out
        rough = 1 / (given[0].view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
        return (rough.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    return NotImplemented


def _extreme(name: str, given: list[Any], strict: bool) -> Any:
    """min and max: a number rather than a NaN, and −0 below +0."""
    a, b = given
    smaller = (a < b) | ((a == b) & np.signbit(a))
    result = np.where(smaller == (name == "min"), a, b)
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
    return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(math.nan), result) if strict else result


_NEAREST: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sqrt": np.sqrt,
    "rcp": lambda a: a.dtype.type(1) / a,
}
_EXACT: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "abs": np.abs,
    "copysign": lambda sign, size: np.copysign(size, sign),
}
_ROUGHLY: dict[str, Callable[..., Any]] = {
    "rcp": lambda a: 1 / a,
    "div": lambda a, b: a / b,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


def converted(made: Instruction, read: Read) -> Any:
    """cvt: between all widths and kinds, rounded and saturated as it says."""
    *middle, to, of = made.op[1:]
    ways = {*middle} & {*MODES, *_WHOLE}
    if {*middle} - {*MODES, *_WHOLE, "sat", "ftz"} or len(ways) > 1:
        raise made.unknown()
    way = (*ways, "")[0]
    value = number(read(made.operands[1], width(made, of)), of)
    if "ftz" in middle and of == "f32":
        value = flushed(value)
    with np.errstate(all="ignore"):
        if to in FLOATS:
            result = _to_float(made, value, of, to, way, "sat" in middle)
            return bits_of(flushed(result) if "ftz" in middle and to == "f32" else result)
        return _to_integer(made, value, of, to, way, "sat" in middle)


def _to_float(made: Instruction, value: Any, of: str, to: str, way: str, saturate: bool) -> Any:
    type = FLOATS[to]
    if of not in FLOATS:
        if way not in MODES:
            raise made.unknown()
        result = np.array([rounded(int(one), type, way) for one in value], type)
    elif way in _WHOLE or (of == to and not way):
        result = _WHOLE.get(way, lambda same: same)(value).astype(type)
    elif way in ("", "rn"):
        if np.dtype(type).itemsize < value.itemsize and not way:
            raise made.unknown()
        result = value.astype(type)
    else:
        near = value.astype(type)
        exact = [rounded(_exact(one), type, way, float(one)) if np.isfinite(one) else None for one in value]
        result = np.array([near[n] if one is None else one for n, one in enumerate(exact)], type)
    return np.where(np.isnan(result), type(0), np.clip(result, type(0), type(1))) if saturate else result


def _exact(value: Any) -> Any:
    from fractions import Fraction

    return Fraction(float(value))


def _to_integer(made: Instruction, value: Any, of: str, to: str, way: str, saturate: bool) -> Any:
    bits = width(made, to)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    if of not in FLOATS:
        if way:
            raise made.unknown()
        if not saturate:
            return value.astype(UNSIGNED[bits])  # wraps
        whole = [min(max(int(one), low), high) for one in value]
        return np.array([one & (1 << bits) - 1 for one in whole], UNSIGNED[bits])
    if way not in _WHOLE:
        raise made.unknown()
    none = 0 if of != "f64" and to not in ("s64", "u64") else 1 << bits - 1
    out = []
    for one in _WHOLE[way](value):
        if math.isnan(one):
            out.append(none)
        else:
            out.append(
                int(min(max(float(one), -1e300), 1e300)) if math.isfinite(one) else int(math.copysign(10**40, one))
            )
            out[-1] = min(max(out[-1], low), high) & (1 << bits) - 1
    return np.array(out, UNSIGNED[bits])


def compared(made: Instruction, read: Read) -> Any:
    """setp: with `u` behind it, true where one is no number; a second predicate is combined with the result."""
    compare, *middle = made.op[1:-1]
    join = [part for part in middle if part in ("and", "or", "xor")]
    if [part for part in middle if part != "ftz"] != join or len(join) > 1:
        raise made.unknown()
    a, b = (number(read(operand, width(made)), made.type) for operand in made.operands[1:3])
    if "ftz" in middle:
        a, b = flushed(a), flushed(b)
    if made.type in FLOATS:
        nan = np.isnan(a) | np.isnan(b)
        if compare in ("num", "nan"):
            result = nan == (compare == "nan")
        elif compare in _ORDERED:
            result = _ORDERED[compare](a, b) & ~nan
        elif compare[-1:] == "u" and compare[:-1] in _ORDERED:
            result = _ORDERED[compare[:-1]](a, b) | nan
        else:
            raise made.unknown()
    elif _BY_SIZE.get(compare, compare) in _ORDERED:
        result = _ORDERED[_BY_SIZE.get(compare, compare)](a, b)
    else:
        raise made.unknown()
    if join:
        other = read(made.operands[3], 1)
        result = {"and": result & other, "or": result | other, "xor": result ^ other}[join[0]]
    return result


def tested(made: Instruction, read: Read) -> Any:
    """testp: of which kind a number is."""
    value = number(read(made.operands[1], width(made)), made.type)
    tiny = np.abs(value) < np.finfo(value.dtype).tiny
    kinds = {
        "finite": np.isfinite(value),
        "infinite": np.isinf(value),
        "number": ~np.isnan(value),
        "notanumber": np.isnan(value),
        "normal": np.isfinite(value) & ~tiny,
        "subnormal": tiny & (value != 0),
    }
    if len(made.op) != 3 or made.op[1] not in kinds:
        raise made.unknown()
    return kinds[made.op[1]]


__all__ = ["SIGNED", "bits_of", "compared", "converted", "floating", "flushed", "number", "tested"]
