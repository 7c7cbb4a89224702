"""Where the pointers and the whole numbers of a scope come from, written so that an entry of it can follow.

A recipe is the slot that the hook hands a value over in, or a list:

    ["global", name]                a global variable's address
    ["arena", name]                 the copy of rows behind pointers
    ["behind", recipe, load]        what lies in the copy of their table
    ["load", recipe, offset]        a pointer that is stored at an offset from another one
    ["number", recipe, offset, bits]  a whole number that is stored there
    ["const", number], ["slot", place, bits]
    ["cast", opcode, from, to, recipe]
    ["op", opcode, bits, recipe, recipe]

Whole numbers have a sign and wrap at their width, as in `tracer/legality/evaluation/masked_arithmetic.py`, which
evaluates what has no recipe. Light: neither NumPy nor any analysis is loaded.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from tracecut.ir.loops.expressions import Expr

WHOLE = {"ptr": 64, "i64": 64, "i32": 32, "i16": 16, "i8": 8}  # types of numbers that are compared, and their bits
_CASTS = ("zext", "sext", "trunc")
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "and": int.__and__,
    "mask": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
    "smin": min,
    "smax": max,
}
_SHIFTS = ("shl", "ashr", "lshr")
_QUOTIENTS = ("sdiv", "udiv", "exact")


def pointer_recipe(expr: Expr, places: Mapping[str, int], arenas: Collection[str] = ()) -> Any:
    """Where a pointer comes from; None when it is made otherwise. `places`: of the slots."""
    if expr.kind == "live":
        return ["arena", expr.data[0]] if expr.data[0] in arenas else places.get(expr.data[0])
    if expr.kind != "load" or expr.data[1] != "ptr":
        return None
    behind, offset = stored_behind(expr.args[0], places)
    return None if behind is None else ["load", behind, offset]


def number_recipe(expr: Expr, places: Mapping[str, int], types: Mapping[str, str]) -> Any:
    """Where a pointer or a whole number comes from; None when it is made otherwise. `types`: of the slots."""
    bits = _bits(expr, types)
    if expr.kind == "const" and isinstance(expr.data[0], int):
        return ["const", expr.data[0]]
    if expr.kind == "live" and expr.data[0] in places and bits:
        return ["slot", places[expr.data[0]], bits]
    if expr.kind == "load" and expr.data[1] == "ptr":
        return pointer_recipe(expr, places)
    if expr.kind == "load" and bits:
        behind, offset = stored_behind(expr.args[0], places)
        return None if behind is None else ["number", behind, offset, bits]
    parts = [number_recipe(part, places, types) for part in expr.args] if expr.kind in ("cast", "op") else [None]
    if None in parts:
        return None
    if expr.kind == "cast" and expr.data[0] in _CASTS:
        opcode, *widths = expr.data
        return ["cast", opcode, *(int(str(width)[1:]) for width in widths), *parts]
    if expr.kind == "op" and bits and expr.data[0] in (*_FUNCTIONS, *_SHIFTS, *_QUOTIENTS):
        return ["op", expr.data[0], bits, *parts]
    return None


def stored_behind(address: Expr, places: Mapping[str, int]) -> tuple[Any, int]:
    """(recipe of a pointer, bytes from there) of an address; the recipe is None where it has none."""
    base, offset = address, 0
    if base.kind == "op" and base.data == ("add", "ptr") and base.args[1].kind == "const":
        base, offset = base.args[0], base.args[1].data[0]
    pointer = base.kind in ("live", "load") and base.data[1] == "ptr"
    return (pointer_recipe(base, places) if pointer else None), offset


def _bits(expr: Expr, types: Mapping[str, str]) -> int:
    """Width of a whole number, 0 for what is none of a width that is compared."""
    if expr.kind == "live":
        return WHOLE.get(types.get(expr.data[0], ""), 0)
    if expr.kind not in ("load", "op"):
        return 0
    type = str(expr.data[1])
    return WHOLE.get(type, 0) if expr.kind == "load" or not type.startswith("i") else int(type[1:])


def signed(number: int, bits: int) -> int:
    """A number of so many bits, the highest of which is its sign."""
    sign = 1 << (bits - 1)
    return ((number & ((1 << bits) - 1)) ^ sign) - sign


def converted(opcode: str, source: int, target: int, number: int) -> int:
    """A whole number as one of another width."""
    if opcode == "zext":
        return number & ((1 << source) - 1)
    return number if opcode == "sext" else signed(number, target)


def computed(opcode: str, bits: int, a: int, b: int) -> int | None:
    """What an operation makes of two whole numbers; None where it is not defined."""
    low = (1 << bits) - 1
    if opcode in _FUNCTIONS:
        return signed(_FUNCTIONS[opcode](a, b), bits)
    if opcode in _SHIFTS:
        if not 0 <= b < bits:
            return None
        return signed(a << b if opcode == "shl" else a >> b if opcode == "ashr" else (a & low) >> b, bits)
    if b == 0 or (opcode != "udiv" and a == -(1 << (bits - 1)) and b == -1):
        return None
    if opcode == "udiv":
        return signed((a & low) // (b & low), bits)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
