"""How x86-64 passes the arguments that have no name, by their types (System V ABI, section 3.5.7).

A way is one number: GENERAL or PAIR, in one or two general registers; REAL or WIDE, in a vector register (8 or 16
bytes on the stack); from 8 on a number of bytes on the stack, plus ALIGNED (to 16 bytes) and COPIED (by the call
itself, which made what lies there: structures). 0: it takes no place. What finds no register lies on the stack as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracecut.ir.llvm import Instruction, TypeTable, int_bits
from tracecut.ir.llvm.lexer import matching, split_commas

GENERAL, PAIR, REAL, WIDE = 1, 2, 3, 4
ALIGNED, COPIED = 1, 2
GENERAL_END, REAL_END = 48, 176  # of the registers that are saved, in bytes
_COPY = re.compile(r"\bbyval\(")
_ALIGN = re.compile(r"\balign (\d+)")


def ways_of(call: Instruction, types: TypeTable) -> list[int]:
    """The way of each argument of a call, as if none had a name. O(length of its text)."""
    texts = _arguments(call)
    operands = [operand for operand in call.operands if operand.type != "metadata"]
    if len(texts) != len(operands):  # of assembly
        return [GENERAL] * len(operands)
    return [_way(operand.type, text, types) for operand, text in zip(operands, texts, strict=True)]


def stack_bytes(ways: Sequence[int]) -> int:
    """Most bytes that arguments may take on the stack, padding included."""
    return sum(16 + (way & ~7) for way in ways)


def _arguments(call: Instruction) -> list[str]:
    start = call.text.find(f"{call.word}(")
    if start < 0:
        return []
    start += len(call.word)
    inside = call.text[start + 1 : matching(call.text, start)]
    return [part for part in split_commas(inside) if not part.startswith("metadata ")] if inside.strip() else []


def _way(kind: str, text: str, types: TypeTable) -> int:
    copied = _COPY.search(text)
    if copied is not None:
        end = matching(text, copied.end() - 1)
        size = types.size(text[copied.end() : end])
        aligned = (found := _ALIGN.search(text, end)) is not None and int(found[1]) >= 16
        return (size + 7 & ~7) + ALIGNED * aligned + COPIED if size else 0
    bits = int_bits(kind)
    if kind == "ptr" or (bits is not None and bits <= 64):
        return GENERAL
    if bits is not None and bits <= 128:
        return PAIR
    if kind in ("half", "bfloat", "float", "double"):
        return REAL
    if kind == "fp128":
        return WIDE
    size = types.size(kind)
    if kind.startswith("<") and size <= 16:
        return REAL if size <= 8 else WIDE
    return (size + 7 & ~7) + ALIGNED * (size >= 16)
