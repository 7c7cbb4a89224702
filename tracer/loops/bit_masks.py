"""Instructions that clear bits of an integer."""

from __future__ import annotations

from collections.abc import Callable

from tracecut.ir.llvm import Instruction, int_bits


def masks(instruction: Instruction, fixed: Callable[[str], bool]) -> bool:
    """Whether an instruction takes bits away from a number by a mask that does not change: `fixed` says what does not.

    What an address is linear in (`linear_forms.py`) and what new numbers go through in the code (`index_roles.py`) both
    go by this: a number that one of them sees behind a mask and the other does not would be another one.
    """
    if instruction.op != "and" or instruction.type == "i1":
        return False
    first, second = (fixed(operand.text) for operand in instruction.operands)
    return first != second


def low_bits(instruction: Instruction) -> int:
    """8, 16 or 32 where an instruction cuts a wider number down to so many bits by a mask, else 0."""
    if instruction.op != "and":
        return 0
    width = {"255": 8, "65535": 16, "4294967295": 32}.get(instruction.operands[1].text, 0)
    return width if width < (int_bits(instruction.type) or 0) else 0
