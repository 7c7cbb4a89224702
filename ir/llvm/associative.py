"""Which associative and commutative operator an instruction applies, and which of its operands may be accumulated."""

from __future__ import annotations

import re

from .instruction import Instruction
from .operands import Operand

_OPERATORS = {name: name for name in ("add", "fadd", "mul", "fmul", "and", "or", "xor")} | {
    "sub": "add",
    "fsub": "fadd",
}
SIGNED = frozenset({"smin", "smax"})
BY_SIZE = SIGNED | {"umin", "umax"}  # of whole numbers: what comes out depends on the width that they are compared in
COMPARED = BY_SIZE | {"fmin", "fmax"}  # these two keep a number by a comparison and a choice
_EXTREMES = re.compile(r"@llvm\.([su]?max|[su]?min|minnum|maxnum|minimumnum|maximumnum|minimum|maximum)\.")
_FUSED = re.compile(r"@llvm\.fm(?:a|uladd)\.")


def combined(made: Instruction) -> tuple[str, tuple[Operand, ...]] | None:
    """(operator, operands that may be the accumulator); None of an instruction that applies none.

    A difference adds to its first operand, a fused product and sum to its last one. Minima and maxima go by the name of
    their intrinsic (`smin`, `maxnum`).
    """
    if made.op == "call":
        if _FUSED.match(made.word):
            return "fadd", made.operands[2:3]
        found = _EXTREMES.match(made.word)
        return None if found is None else (found.group(1), made.operands)
    operator = _OPERATORS.get(made.op)
    if operator is None:
        return None
    return operator, made.operands[:1] if made.op in ("sub", "fsub") else made.operands
