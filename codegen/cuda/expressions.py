"""Expressions of C: their text, their type, and how tightly they bind.

The type of an expression may be narrower than LLVM's: C widens it by itself, by its sign, to what it meets.
"""

from __future__ import annotations

from dataclasses import dataclass

from .types import C_TYPES, SIZES, integer_literal, is_signed, width

ATOM, UNARY, PRODUCT, SUM, OTHER, CHOICE = 16, 15, 13, 12, 10, 3  # shifts, comparisons and bits need parentheses


@dataclass(frozen=True)
class Expr:
    """A value.

    Attributes:
        text: C. type: key of its type. level: how tightly it binds. literal: its value, of a whole number.
        bits: width of the value in LLVM's IR; more than the type has: it is extended, by the sign of the type.
        loads: it reads memory. small: far from where 64 bits wrap around. opposite: of a comparison.
    """

    text: str
    type: str
    level: int = ATOM
    literal: int | None = None
    bits: int = 0
    loads: bool = False
    small: bool = False
    opposite: str = ""

    @property
    def is_atom(self) -> bool:
        """It costs nothing to say it twice."""
        return not self.loads and (self.level == ATOM or self.literal is not None) and "(" not in self.text


@dataclass(frozen=True)
class Pointer:
    """root + bytes + Σ scale · index.

    Attributes:
        root: name of a variable of C. element: key of what that points to. read_only: nothing writes there.
        exact: the sum does not wrap around, so that it may be divided.
    """

    root: str
    element: str
    terms: tuple[tuple[Expr, int], ...] = ()
    bytes: int = 0
    read_only: bool = False
    exact: bool = True


def wrapped(expr: Expr, level: int) -> str:
    """Its text, in parentheses unless it binds at least that tightly."""
    return expr.text if expr.level >= level else f"({expr.text})"


def literal(value: int, key: str, bits: int = 0) -> Expr:
    """A whole number; of its bits those that the type has."""
    value &= (1 << width(key)) - 1
    if is_signed(key) and value >> (width(key) - 1):
        value -= 1 << width(key)
    text = integer_literal(value, key)
    level = UNARY if text.startswith("-") else ATOM
    return Expr(text, key, level, literal=value, bits=bits or width(key), small=abs(value) < 1 << 62)


def cast(expr: Expr, key: str) -> Expr:
    """The value in exactly this type: what does not fit is cut off."""
    if expr.literal is not None and key != "b1" and key[0] != "f":
        return literal(expr.literal, key)
    if expr.type == key:
        return expr
    return Expr(f"({C_TYPES[key]}){wrapped(expr, UNARY)}", key, UNARY, loads=expr.loads, bits=width(key))


def extended(expr: Expr, bits: int, *, signed: bool) -> Expr:
    """A value of the IR as an integer of that sign: its own type, or the narrower one that it is extended from."""
    if expr.literal is not None:
        return literal(expr.literal, f"{'i' if signed else 'u'}{max(bits, 8)}")
    if expr.type == "b1" or width(expr.type) == bits:
        return expr if expr.type == "b1" or is_signed(expr.type) == signed else cast(expr, f"{'iu'[not signed]}{bits}")
    if is_signed(expr.type) and not signed:  # its sign has to be extended first
        return cast(expr, f"u{bits}")
    return expr


def pair(a: Expr, b: Expr, key: str) -> tuple[Expr, Expr]:
    """Two operands that C's own conversions bring to the type `key`, of 32 or 64 bits, with the fewest casts."""
    found = [_fitting(item, key) for item in (a, b)]
    plain = [item.literal is not None for item in (a, b)]
    if key not in [item.type for item, known in zip(found, plain, strict=True) if not known]:
        first = 0 if not plain[0] else 1 if not plain[1] else 0
        found[first] = cast(found[first], key)
    for place in (0, 1):
        value = found[place].literal
        if value is not None and 0 <= _value(value, key) < 1 << 31 and not plain[1 - place]:
            found[place] = literal(_value(value, key), "i32")
    return found[0], found[1]


def _value(value: int, key: str) -> int:
    return value & ((1 << width(key)) - 1) if not is_signed(key) else value


def _fitting(expr: Expr, key: str) -> Expr:
    """What C converts to `key` without a change of its value where it meets one of that type."""
    if expr.literal is not None:
        return literal(expr.literal, key)
    if expr.type == key or expr.type == "b1" or SIZES[expr.type] < SIZES[key]:
        return expr
    return expr if not is_signed(key) and SIZES[expr.type] == SIZES[key] else cast(expr, key)
