"""Calls as statements: points where threads meet, exchanges, functions of the module, copies of memory."""

from __future__ import annotations

from typing import Protocol

from tracecut.ir.llvm import Instruction, int_bits
from tracecut.support.errors import UnsupportedError

from . import calls
from .addresses import BYTES, pointer_expr
from .expressions import Expr, extended
from .memory import Writer
from .types import key_of


class Caller(Writer, Protocol):
    """What calls need of the function that they stand in: `functions` of the module, by the names that C has."""

    functions: dict[str, str]


class CallStatements:
    """Writes the calls of a function."""

    def __init__(self, writer: Caller) -> None:
        self.writer = writer

    def one(self, made: Instruction, block: str) -> None:
        if calls.is_ignored(made):
            return
        found = calls.register(made)
        if found is not None:
            self.writer.define(made, found, block)
            return
        if made.word.startswith(("@llvm.memcpy.", "@llvm.memmove.", "@llvm.memset.")):
            self._copy(made)
            return
        if not calls.is_effect(made):
            self.writer.define(made, calls.computed(made, [self.writer.expr(item) for item in made.operands]), block)
            return
        arguments = [self.writer.expr(item) for item in made.operands]
        self.writer.unread()
        if text := calls.effect(made, arguments):
            self.writer.say(text)
            return
        value = calls.shuffle(made, arguments)
        if value is None:
            value = self._own_call(made, arguments)
        self.writer.values[str(made.result)] = self.writer.variable(str(made.result), value)

    def _own_call(self, made: Instruction, arguments: list[Expr]) -> Expr:
        """A call of another function of the module."""
        if made.word not in self.writer.functions or made.type == "void":
            raise UnsupportedError(f"a call of {made.word.removeprefix('@')} cannot be written in CUDA C")
        given = []
        for operand, value in zip(made.operands, arguments, strict=True):
            bits = int_bits(operand.type)
            given.append(value if bits in (None, 1) else extended(value, bits or 0, signed=value.type[0] == "i"))
        text = ", ".join(item.text for item in given)
        return Expr(f"{self.writer.functions[made.word]}({text})", key_of(made.type), bits=int_bits(made.type) or 0)

    def _copy(self, made: Instruction) -> None:
        function = made.word.split(".")[1]
        if made.operands[3].text not in ("false", "0"):
            raise UnsupportedError("a copy of volatile memory cannot be written in CUDA C")
        target, size = self.writer.pointer(made.operands[0]), self.writer.expr(made.operands[2])
        self.writer.accesses.setdefault(target.root, []).append((BYTES, target))
        self.writer.written.add(target.root)
        if function == "memset":
            second = extended(self.writer.expr(made.operands[1]), 8, signed=False).text
        else:
            source = self.writer.pointer(made.operands[1])
            self.writer.accesses.setdefault(source.root, []).append((BYTES, source))
            second = pointer_expr(source).text
        self.writer.unread()
        self.writer.say(f"{function}({pointer_expr(target).text}, {second}, {size.text})")
