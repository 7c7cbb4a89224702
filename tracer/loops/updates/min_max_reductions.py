"""Least and greatest values that are found by comparing: `s = v < s ? v : s`, and `if (v < *p) *p = v`.

The value that is kept is replaced when the new one compares as less (greater), so that what is left does not depend
on the order of the new values. For floating-point numbers that takes a comparison which is false for NaN: such values
are then never taken, and a NaN that was there first stays. Where new and old are equal either may be left; they differ
in nothing but the sign of zero.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction, int_bits
from tracecut.ir.llvm.def_use import FunctionView

DEEPEST = 8  # steps that limits of a number are looked for
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def chosen_extreme(view: FunctionView, made: Instruction, kept: str) -> str | None:
    """Operator of a select between `kept` and another value by a comparison of the two; None when it is no such."""
    found = view.definitions.get(made.operands[0].text)
    arms = [operand.text for operand in made.operands[1:]]
    if found is None or kept not in arms or arms[0] == arms[1]:
        return None
    other = arms[1] if arms[0] == kept else arms[0]
    return extreme(found.instruction, other, kept, taken=arms[0] == other)


def extreme(test: Instruction, new: str, kept: str, *, taken: bool) -> str | None:
    """Operator by which `new` takes the place of `kept` where a comparison of the two comes out as `taken`."""
    if test.op not in ("icmp", "fcmp") or {operand.text for operand in test.operands} != {new, kept} or new == kept:
        return None
    word = test.word
    if test.op == "icmp" and word in ("eq", "ne"):
        return None
    kind, relation = word[0], word[1:]
    if relation not in _SWAPPED:
        return None
    if test.operands[0].text != new:
        relation = _SWAPPED[relation]
    if not taken:
        relation = _NEGATED[relation]
        if test.op == "fcmp":  # of integers, u is unsigned
            kind = {"o": "u", "u": "o"}[kind]
    size = "min" if relation[0] == "l" else "max"
    if test.op == "icmp":
        return f"{kind}{size}"
    return f"f{size}" if kind == "o" else None  # else NaN would be taken: what is left is the last one


def widened_extreme(view: FunctionView, test: Instruction, new: str, kept: str, *, taken: bool) -> str | None:
    """As `extreme`, where both are compared in a wider type, to which `kept` is extended, and `new` is cut out of it.

    `short v = i % 4; if (v < *p) *p = v;`: what is cut off says nothing, by the limits of the wider number.
    """
    made = view.definitions.get(new)
    if test.op != "icmp" or made is None or made.instruction.op != "trunc" or not made.instruction.uses:
        return None
    wide, bits = made.instruction.operands[0].text, int_bits(view.type_of(kept))
    for operand in test.operands:
        found = view.definitions.get(operand.text)
        way = "" if found is None else found.instruction.op
        if found is None or bits is None or way not in ("sext", "zext") or found.instruction.operands[0].text != kept:
            continue
        lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if way == "sext" else (0, (1 << bits) - 1)
        low, high = limits(view, wide)
        operator = extreme(test, wide, operand.text, taken=taken) if lowest <= low and high <= highest else None
        if operator is None or way == "zext":  # where none is negative, both comparisons are one
            return None if operator is None else f"u{operator[1:]}"
        return operator if operator[0] == "s" else None
    return None


def limits(view: FunctionView, name: str, depth: int = 0) -> tuple[int, int]:
    """Least and greatest value of a whole number with a sign, by its text alone: rather too far apart than wrong."""
    found = view.definitions.get(name)
    type = view.type_of(name)
    bits = int_bits(type) or 64
    whole = -(1 << bits - 1), (1 << bits - 1) - 1
    if found is None or depth > DEEPEST:
        return whole
    made = found.instruction
    texts = [operand.text for operand in made.operands]
    second = int(texts[1]) if len(texts) == 2 and texts[1].lstrip("-").isdigit() else 0
    if made.op in ("sext", "zext", "trunc"):
        low, high = limits(view, texts[0], depth + 1) if texts[0].startswith("%") else whole
        if made.op == "zext" and low < 0:
            return 0, (1 << (int_bits(made.operands[0].type) or bits)) - 1
        return (low, high) if whole[0] <= low and high <= whole[1] else whole
    if made.op == "and" and second > 0:
        return 0, second
    if made.op == "urem" and second > 0:
        return 0, second - 1
    if made.op == "srem" and second:
        return 1 - abs(second), abs(second) - 1
    if made.op == "lshr" and 0 < second < bits:
        return 0, (1 << bits - second) - 1
    return whole
