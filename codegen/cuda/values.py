"""What the values of a function are known to be before its text is written: uses, signs, and small numbers."""

from __future__ import annotations

import re
from collections import Counter

from tracecut.ir.llvm import Function, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow

from .calls import is_effect

_KEPT = frozenset({"atomicrmw", "cmpxchg", "alloca", "invoke"})
_SIGNED_USES = frozenset({"sext", "sdiv", "srem", "ashr", "sitofp"})
_UNSIGNED_USES = frozenset({"zext", "udiv", "urem", "lshr", "uitofp"})
# Numbers of jobs and data that the emitter counts with: none comes near the end of 64 bits.
_SMALL = re.compile(
    r"%tc\.(?:n|k|old|t|thread|first|round(?:\.next)?|low|high|(?:first|past|count|owned)\d+|"
    r"(?:pre|post)\d+\.(?:i|next|at|datum)|(?:ctaid|ntid|tid)\.wide)"
)


def is_small(name: str) -> bool:
    return _SMALL.fullmatch(name) is not None


def _dead(function: Function) -> set[str]:
    """Values that nothing needs: of instructions that only compute or read."""
    users: Counter[str] = Counter(operand.text for _, made in function.instructions() for operand in made.operands)
    by_name = {str(made.result): made for _, made in function.instructions() if made.result is not None}
    stack = [name for name in by_name if not users[name]]
    found: set[str] = set()
    while stack:
        name = stack.pop()
        made = by_name[name]
        kept = made.op in _KEPT or made.flags & {"volatile", "atomic"} or (made.op == "call" and is_effect(made))
        if name in found or kept:
            continue
        found.add(name)
        for operand in made.operands:
            users[operand.text] -= 1
            if not users[operand.text] and operand.text in by_name:
                stack.append(operand.text)
    return found


class Uses:
    """Who uses each value: how often, and the block of the only user."""

    def __init__(self, function: Function, flow: ControlFlow) -> None:
        self.count: Counter[str] = Counter()
        self.where: dict[str, set[str]] = {}
        self.in_phi: set[str] = set()
        self._signs: Counter[str] = Counter()
        self.dead = _dead(function)
        for block in function.blocks:
            if block.name not in flow.idom:
                continue
            for made in block.instructions:
                if made.result in self.dead:
                    continue
                places = made.labels if made.op == "phi" else [block.name] * len(made.operands)
                for operand, place in zip(made.operands, places, strict=False):
                    if operand.is_local:
                        self.count[operand.text] += 1
                        self.where.setdefault(operand.text, set()).add(place)
                        if made.op == "phi":
                            self.in_phi.add(operand.text)
                self._vote(made.op, made.word, [operand.text for operand in made.operands])
        self._join(function)

    def _vote(self, op: str, word: str, operands: list[str]) -> None:
        if op in _SIGNED_USES or (op == "icmp" and word[0] == "s"):
            self._signs.update(operands)
        elif op == "getelementptr":
            self._signs.update(operands[1:])
        elif op in _UNSIGNED_USES or (op == "icmp" and word[0] == "u"):
            self._signs.subtract(operands)

    def _join(self, function: Function) -> None:
        """Values that a variable hands on to another have its sign: phis, and sums."""
        for _ in range(2):
            for _, made in function.instructions():
                if made.op in ("phi", "add", "sub", "select") and made.result and int_bits(made.type):
                    sign = self._signs[made.result]
                    for operand in made.operands:
                        if operand.is_local and sign > 0 and self._signs[operand.text] == 0:
                            self._signs[operand.text] = 1

    def is_signed(self, name: str) -> bool:
        """Whether an integer is more often taken for a signed number than for one without a sign."""
        return is_small(name) or self._signs[name] > 0
