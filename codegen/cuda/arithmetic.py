"""Instructions that only compute, as expressions.

LLVM's integers wrap around, C's signed ones must not: where nothing rules it out, the sum is one of unsigned numbers.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction, int_bits
from tracecut.support.errors import UnsupportedError

from .expressions import ATOM, CHOICE, OTHER, PRODUCT, SUM, UNARY, Expr, cast, extended, literal, pair, wrapped
from .types import C_TYPES, key_of, width

_WRAPPING = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_DIVIDING = {"sdiv": "/", "udiv": "/", "srem": "%", "urem": "%"}
_FLOATING = {"fadd": ("+", SUM), "fsub": ("-", SUM), "fmul": ("*", PRODUCT), "fdiv": ("/", PRODUCT)}
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}
_COMPARED = {"eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
# Comparisons that are true where a number is NaN are the opposite of the opposite comparison.
_SIGNS = {"==": "!=", "!=": "==", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_OPPOSITE = {"eq": "ne", "ne": "eq", "gt": "le", "ge": "lt", "lt": "ge", "le": "gt"}


def binary(made: Instruction, a: Expr, b: Expr) -> Expr:
    """The value of an instruction with two operands of one type. Raises UnsupportedError."""
    op, type = made.op, made.type
    if op in _FLOATING:
        sign, level = _FLOATING[op]
        second = wrapped(b, level + 1) if op in ("fsub", "fdiv", "fadd", "fmul") else b.text
        return Expr(f"{wrapped(a, level)} {sign} {second}", key_of(type), level, loads=a.loads or b.loads)
    bits = int_bits(type)
    if bits is None:
        raise UnsupportedError(f"{op} of {type} cannot be written in CUDA C")
    key_of(type)
    if bits == 1:
        return _of_truths(op, a, b)
    if op in _WRAPPING:
        return _wrapping(made, a, b, bits)
    if op in _DIVIDING:
        return _chosen(_DIVIDING[op], a, b, bits, signed=op[0] == "s")
    return _shifted(op, a, b, bits)


def _of_truths(op: str, a: Expr, b: Expr) -> Expr:
    if op == "xor" and b.literal is not None:
        return negated(a) if b.literal & 1 else a
    sign = {"and": "&", "or": "|", "xor": "!=", "add": "!=", "sub": "!=", "mul": "&"}.get(op)
    if sign is None:
        raise UnsupportedError(f"{op} of truth values cannot be written in CUDA C")
    text = f"{wrapped(a, UNARY)} {sign} {wrapped(b, UNARY)}"
    text = text if sign == "!=" else f"(bool)({text})"
    return Expr(text, "b1", OTHER if sign == "!=" else UNARY, loads=a.loads or b.loads)


def _wrapping(made: Instruction, a: Expr, b: Expr, bits: int) -> Expr:
    op = made.op
    if folded := _neutral(op, a, b):
        return folded
    sign = _WRAPPING[op]
    small = op in ("add", "sub") and a.small and b.small
    plain = op in "add sub mul".split() and (small or "nsw" in made.flags) and bits >= 32
    signed = plain and any(item.type[0] == "i" for item in (a, b) if item.literal is None)
    if plain and small and bits == 64 and not signed:
        signed = True
    if op == "add" and b.literal is not None and -(1 << 31) < b.literal < 0:
        sign, b = "-", literal(-b.literal, f"i{max(bits, 8)}", bits)
    found = _chosen(sign, a, b, bits, signed=signed)
    return Expr(found.text, found.type, found.level, bits=bits, loads=found.loads, small=small)


def _neutral(op: str, a: Expr, b: Expr) -> Expr | None:
    """One of the operands, where the other one changes nothing."""
    neutral = {"add": 0, "or": 0, "xor": 0, "mul": 1}.get(op)
    if neutral is not None and b.literal == neutral:
        return a
    if neutral is not None and a.literal == neutral:
        return b
    return a if op == "sub" and b.literal == 0 else None


def _chosen(sign: str, a: Expr, b: Expr, bits: int, *, signed: bool) -> Expr:
    """a sign b, computed in a type of that sign with `bits` bits."""
    mark = "i" if signed else "u"
    key = f"{mark}{max(bits, 32)}"
    first, second = (extended(item, bits, signed=signed) if bits < 32 or sign in "/%" else item for item in (a, b))
    first, second = pair(first, second, key)
    level = _LEVELS.get(sign, OTHER)
    if level == OTHER:
        text = f"{wrapped(first, UNARY)} {sign} {wrapped(second, UNARY)}"
    else:
        text = f"{wrapped(first, level)} {sign} {wrapped(second, level + 1)}"
    found = Expr(text, key, level, bits=bits, loads=a.loads or b.loads)
    return cast(found, f"{mark}{bits}") if bits < 32 else found


def _shifted(op: str, a: Expr, b: Expr, bits: int) -> Expr:
    signed = op == "ashr"
    key = f"{'i' if signed else 'u'}{max(bits, 32)}"
    value = extended(a, bits, signed=signed)
    value = value if value.type == key else cast(value, key)
    by = literal(b.literal, "i32") if b.literal is not None else b
    sign = "<<" if op == "shl" else ">>"
    if op not in ("shl", "lshr", "ashr"):
        raise UnsupportedError(f"{op} cannot be written in CUDA C")
    text = f"{wrapped(value, UNARY)} {sign} {wrapped(by, UNARY)}"
    found = Expr(text, key, OTHER, bits=bits, loads=a.loads or b.loads)
    return cast(found, f"{'i' if signed else 'u'}{bits}") if bits < 32 else found


def compared(made: Instruction, a: Expr, b: Expr, bits: int) -> Expr:
    """icmp of integers."""
    word = made.word
    loads = a.loads or b.loads
    if bits == 1 and word not in ("eq", "ne"):
        raise UnsupportedError("an order of truth values cannot be written in CUDA C")
    signed = word[0] == "s"
    if word in ("eq", "ne"):
        sign = _COMPARED[word]
        signed = any(item.type[0] == "i" for item in (a, b) if item.literal is None)
    else:
        sign = _COMPARED[word[1:]]
    first, second = (extended(item, bits, signed=signed) for item in (a, b))
    if bits >= 32:
        kinds = {item.type for item in (first, second) if item.literal is None}
        alike = kinds and (not signed or len(kinds) == 1) and all(kind[0] in "ub" for kind in kinds)
        if not (alike and first.literal is None and second.literal is None):
            first, second = pair(first, second, f"{'i' if signed else 'u'}{max(bits, 32)}")
    elif bits == 1:
        first, second = (i if i.literal is None else literal_truth(bool(i.literal & 1)) for i in (a, b))
    x, y = wrapped(first, OTHER + 1), wrapped(second, OTHER + 1)
    against = f"{x} {_SIGNS[sign]} {y}"
    return Expr(f"{x} {sign} {y}", "b1", OTHER, loads=loads, opposite=against)


def compared_floats(word: str, a: Expr, b: Expr) -> Expr:
    """fcmp; operands that are said twice have to be atoms."""
    x, y = wrapped(a, OTHER + 1), wrapped(b, OTHER + 1)
    loads = a.loads or b.loads
    if word in ("true", "false"):
        return literal_truth(word == "true")
    if word in ("ord", "uno"):
        join, sign = ("&&", "==") if word == "ord" else ("||", "!=")
        return Expr(f"{x} {sign} {x} {join} {y} {sign} {y}", "b1", CHOICE + 1, loads=loads)
    order, kind = word[0], word[1:]
    if (kind == "ne" and order == "o") or (kind == "eq" and order == "u"):
        text = f"{x} < {y} || {x} > {y}"
        return Expr(text if order == "o" else f"!({text})", "b1", CHOICE + 1 if order == "o" else UNARY, loads=loads)
    if order == "o" or kind == "ne":
        return Expr(f"{x} {_COMPARED[kind]} {y}", "b1", OTHER, loads=loads)
    return Expr(f"!({x} {_COMPARED[_OPPOSITE[kind]]} {y})", "b1", UNARY, loads=loads)


def says_twice(word: str) -> bool:
    """Whether a comparison of floating-point numbers says its operands twice."""
    return word in ("one", "ueq", "ord", "uno")


def literal_truth(value: bool) -> Expr:
    return Expr("true" if value else "false", "b1", ATOM, literal=int(value), bits=1)


def negated(expr: Expr) -> Expr:
    """Not this truth value."""
    if expr.literal is not None:
        return literal_truth(not expr.literal)
    if expr.opposite:
        return Expr(expr.opposite, "b1", OTHER, loads=expr.loads, opposite=expr.text)
    if expr.text.startswith("!") and expr.level == UNARY:
        inner = expr.text[1:]
        inner = inner[1:-1] if inner.startswith("(") and _closes_last(inner) else inner
        return Expr(inner, "b1", ATOM if inner.isidentifier() else CHOICE + 1, loads=expr.loads)
    return Expr(f"!{wrapped(expr, UNARY)}", "b1", UNARY, loads=expr.loads)


def _closes_last(text: str) -> bool:
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def converted(made: Instruction, a: Expr, source: str) -> Expr:
    """trunc, zext, sext, and the conversions between integers and floating-point numbers."""
    op, target = made.op, made.type
    bits, before = int_bits(target) or 0, int_bits(source) or 0
    key_of(target)
    key_of(source)
    if op in ("fpext", "fptrunc"):
        return cast(a, key_of(target))
    if op in ("sitofp", "uitofp"):
        if before == 1 and op == "sitofp":
            a = Expr(f"-(int){wrapped(a, UNARY)}", "i32", UNARY, loads=a.loads)
        elif before > 1:
            a = extended(a, before, signed=op == "sitofp")
        return Expr(f"({C_TYPES[key_of(target)]}){wrapped(a, UNARY)}", key_of(target), UNARY, loads=a.loads)
    if op in ("fptosi", "fptoui"):
        if bits == 1:
            raise UnsupportedError(f"{op} to a truth value cannot be written in CUDA C")
        return cast(a, key_of(target, signed=op == "fptosi"))
    if a.literal is not None:
        kept = a.literal & ((1 << before) - 1)
        kept -= 1 << before if op == "sext" and kept >> (before - 1) else 0
        return literal_truth(bool(kept & 1)) if bits == 1 else literal(kept, f"i{bits}", bits)
    if op == "trunc":
        if bits == 1:
            first, second = pair(a, literal(1, "u32"), f"u{max(before, 32)}")
            return Expr(f"({wrapped(first, UNARY)} & {second.text}) != 0", "b1", OTHER, loads=a.loads)
        if a.type != "b1" and width(a.type) <= bits:
            return Expr(a.text, a.type, a.level, bits=bits, loads=a.loads, small=a.small)
        return cast(a, f"{a.type[0] if a.type != 'b1' else 'u'}{bits}")
    if op == "sext" and before == 1:
        return Expr(f"-(int){wrapped(a, UNARY)}", "i32", UNARY, bits=bits, loads=a.loads, small=True)
    if a.type != "b1":
        a = extended(a, before, signed=op == "sext")
        if op == "sext" and width(a.type) == before and a.type[0] == "u":
            a = cast(a, f"i{before}")
    return Expr(a.text, a.type, a.level, bits=bits, loads=a.loads, small=True)
