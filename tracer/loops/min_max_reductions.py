"""Least and greatest values that are found by comparing: `s = v < s ? v : s`, and `if (v < *p) *p = v`.

The value that is kept is replaced when the new one compares as less (greater), so that what is left does not depend
on the order of the new values. For floating-point numbers that takes a comparison which is false for NaN: such values
are then never taken, and a NaN that was there first stays. Where new and old are equal either may be left; they differ
in nothing but the sign of zero.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.def_use import FunctionView

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
