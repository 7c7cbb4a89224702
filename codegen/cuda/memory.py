"""Accesses to memory: loads, stores, atomic operations, arrays of a thread."""

from __future__ import annotations

import re
from typing import Protocol

from tracecut.ir.llvm import Instruction, Operand, TypeTable, int_bits
from tracecut.support.errors import UnsupportedError

from .addresses import BYTES, address, place
from .expressions import OTHER, UNARY, Expr, Pointer, cast, extended, wrapped
from .names import Names
from .types import C_TYPES, SIZES, key_of
from .values import Uses

_ATOMICS = {"add": "atomicAdd", "fadd": "atomicAdd", "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor"}
_ATOMICS |= {"max": "atomicMax", "umax": "atomicMax", "min": "atomicMin", "umin": "atomicMin", "xchg": "atomicExch"}
_ALIGN = re.compile(r", align (\d+)")


class Writer(Protocol):
    """What memory accesses need of the function that they stand in."""

    types: TypeTable
    names: Names
    uses: Uses
    values: dict[str, Expr | Pointer]
    elements: dict[str, str]
    accesses: dict[str, list[tuple[str, Pointer]]]
    pairs: dict[str, tuple[Expr, Expr]]
    helpers: set[str]
    locals: list[str]
    written: set[str]

    def expr(self, operand: Operand) -> Expr: ...
    def atom(self, operand: Operand) -> Expr: ...
    def pointer(self, operand: Operand) -> Pointer: ...
    def define(self, made: Instruction, value: Expr | Pointer, block: str) -> None: ...
    def variable(self, name: str, value: Expr) -> Expr: ...
    def unread(self) -> None: ...
    def say(self, text: str) -> None: ...


class Memory:
    """Writes the accesses of a function."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def load(self, made: Instruction, block: str) -> None:
        pointer = self.writer.pointer(made.operands[0])
        name = str(made.result)
        if made.type.startswith("ptr"):
            raise UnsupportedError("an address that is read from memory cannot be written in CUDA C")
        _check(made, made.type, self.writer.types.size(made.type))
        key = key_of(made.type, signed=self.writer.uses.is_signed(name))
        self._note(pointer, key)
        text, element = place(pointer, key)
        bits = int_bits(made.type) or 0
        if made.flags & {"atomic", "volatile"}:
            text = f"*(volatile {C_TYPES[key]} *){wrapped(Expr(address(pointer, key), key, UNARY), UNARY)}"
            self.writer.unread()
            value = Expr(text, key, UNARY, bits=bits, loads=True)
            self.writer.values[name] = self.writer.variable(name, value)
            return
        if "nontemporal" in made.meta:
            text, element = f"__ldcs({address(pointer, key)})", key
        elif pointer.read_only:
            text, element = f"__ldg({address(pointer, element)})", element
        level = UNARY if text.startswith("*") else 16
        self.writer.define(made, Expr(text, element, level, bits=bits, loads=True), block)

    def store(self, made: Instruction, block: str) -> None:
        value, at = made.operands
        if value.type.startswith("ptr"):
            raise UnsupportedError("an address that is written to memory cannot be written in CUDA C")
        _check(made, value.type, self.writer.types.size(value.type))
        pointer = self.writer.pointer(at)
        given = self.writer.expr(value)
        key = key_of(value.type, signed=given.type[0] == "i")
        self._note(pointer, key)
        self.writer.written.add(pointer.root)
        self.writer.unread()
        text, _ = place(pointer, key)
        if made.flags & {"atomic", "volatile"}:
            text = f"*(volatile {C_TYPES[key]} *){wrapped(Expr(address(pointer, key), key, UNARY), UNARY)}"
        elif "nontemporal" in made.meta:
            self.writer.say(f"__stcs({address(pointer, key)}, {given.text})")
            return
        added = f"{text} + "
        if given.text.startswith(added) and given.text.removeprefix(added).replace("_", "").replace(".", "").isalnum():
            self.writer.say(f"{text} += {given.text.removeprefix(added)}")
        else:
            self.writer.say(f"{text} = {given.text}")

    def atomicrmw(self, made: Instruction, block: str) -> None:
        at, operand = made.operands
        pointer, value = self.writer.pointer(at), self.writer.expr(operand)
        bits = int_bits(made.type)
        if made.word not in _ATOMICS or bits not in (32, 64, None):
            raise UnsupportedError(f"the atomic operation {made.word} on {made.type} cannot be written in CUDA C")
        if bits is None:
            key = key_of(made.type)
        else:
            signed = made.word in ("max", "min") or (bits == 32 and made.word == "add" and value.type == "i32")
            key = f"{'i' if signed else 'u'}{bits}"
            value = extended(value, bits, signed=signed)
        self._note(pointer, key)
        self.writer.written.add(pointer.root)
        self.writer.unread()
        text = f"{_ATOMICS[made.word]}({address(pointer, key)}, {cast(value, key).text})"
        name = str(made.result)
        if made.result is None or not self.writer.uses.count[name]:
            self.writer.say(text)
        else:
            self.writer.values[name] = self.writer.variable(name, Expr(text, key, bits=bits or 0))

    def cmpxchg(self, made: Instruction, block: str) -> None:
        at, old, new = made.operands
        bits = int_bits(old.type)
        if bits not in (8, 16, 32, 64):
            raise UnsupportedError(f"a compare-and-swap of {old.type} cannot be written in CUDA C")
        pointer, expected, wanted = self.writer.pointer(at), self.writer.atom(old), self.writer.expr(new)
        key = f"u{bits}"
        self._note(pointer, key)
        self.writer.written.add(pointer.root)
        self.writer.unread()
        function = "atomicCAS"
        if bits == 8:
            function = "tc_cas_u8"
            self.writer.helpers.add(function)
        called = f"{function}({address(pointer, key)}, {cast(expected, key).text}, {cast(wanted, key).text})"
        seen = self.writer.variable(f"{made.result}.seen", Expr(called, key, bits=bits))
        first, second = (cast(extended(item, bits, signed=False), key) for item in (seen, expected))
        won = Expr(f"{wrapped(first, OTHER + 1)} == {wrapped(second, OTHER + 1)}", "b1", OTHER)
        self.writer.pairs[str(made.result)] = (seen, won)

    def fence(self, made: Instruction, block: str) -> None:
        self.writer.unread()
        scope = re.search(r'syncscope\("([^"]*)"\)', made.text)
        names = {"device": "__threadfence()", "block": "__threadfence_block()"}
        self.writer.say(names.get(scope[1] if scope else "", "__threadfence_system()"))

    def alloca(self, made: Instruction, block: str) -> None:
        if any(operand.text != "1" for operand in made.operands):
            raise UnsupportedError("memory of a thread whose size is not known cannot be written in CUDA C")
        types, name = self.writer.types, self.writer.names.of(str(made.result))
        element = self.writer.elements.get(name, BYTES)
        found = _ALIGN.search(made.text)
        align = max(int(found[1]) if found else 1, types.align(made.word))
        size = max(1, types.size(made.word))
        words = f"__align__({align}) " if align > SIZES[element] else ""
        self.writer.locals.append(f"{words}{C_TYPES[element]} {name}[{-(-size // SIZES[element])}]")
        self.writer.values[str(made.result)] = Pointer(name, element)

    def _note(self, pointer: Pointer, key: str) -> None:
        self.writer.accesses.setdefault(pointer.root, []).append((key, pointer))


def _check(made: Instruction, type: str, size: int) -> None:
    if type == "i1":
        raise UnsupportedError("a truth value in memory cannot be written in CUDA C")
    found = _ALIGN.search(made.text)
    if found is not None and int(found[1]) < size:
        raise UnsupportedError(f"an access of {size} bytes at multiples of {found[1]} cannot be written in CUDA C")
