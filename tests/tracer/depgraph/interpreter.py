"""A slow interpreter of textual LLVM IR that notes, byte by byte, who made everything an instruction uses.

It is the reference of the graph builder and shares nothing with it but the splitting of the text into lines. A
dynamic instruction is a number, counted from 0 in the order of execution. `edges` holds (maker, user, kind) with kind
"register" or "memory". What it runs it runs by the language reference, on a memory of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tracecut.ir.llvm import Function, parse_module
from tracecut.ir.llvm.lexer import LOCAL, matching, split_commas, split_type

from .exceptions import Thrown, selected
from .llarithmetic import binary, cast, fcmp, icmp, rounded
from .llvalues import FLOATS, Constants, Types, gep, signed
from .memory import Memory

BINARY = set("add sub mul sdiv udiv srem urem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
CASTS = set("trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp".split())
CASTS |= set("ptrtoint ptrtoaddr inttoptr bitcast addrspacecast".split())
FLAGS = re.compile(
    r"(?:(?:nuw|nsw|exact|inbounds|nusw|disjoint|nneg|samesign|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|volatile|"
    r"atomic|weak)\b|inrange\([^)]*\))\s*"
)
ATTRIBUTE = re.compile(
    r"(?:noundef|nonnull|signext|zeroext|inreg|nocapture|readonly|readnone|writeonly|noalias|returned|immarg|nofree|"
    r"writable|dead_on_unwind|align \d+|[a-z_]+\((?:[^()]|\([^()]*\))*\))\s+"
)


class Exit(Exception):
    """The program left."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class LongJump(Exception):
    def __init__(self, frame: Frame, place: tuple[str, int], value: int, by: int) -> None:
        super().__init__()
        self.frame, self.place, self.value, self.by = frame, place, value, by


@dataclass
class Line:
    """One instruction: its result, operation, and text behind flags; `number` among all of the module."""

    number: int
    result: str | None
    op: str
    body: str


@dataclass(eq=False)
class Frame:
    """A running function: values and who made them, stack slots, the unnamed arguments and their makers."""

    function: str
    address: int
    values: dict[str, Any] = field(default_factory=dict)
    makers: dict[str, int | None] = field(default_factory=dict)
    slots: list[tuple[int, int]] = field(default_factory=list)
    rest: list[tuple[str, Any, int | None]] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    landed: Thrown | None = None
    stack: int = 0
    passed: tuple[int, int, int, int, int] | None = None  # save area, offsets of the first unnamed ones, on the stack


class Interpreter(Memory):
    """Runs `main` of a module. `moved` shifts every address, as address randomisation does.

    Hooks of `watch`: `executed(vertex, line, frame)` before an instruction has its effect, `done(vertex, line, frame)`
    after it.
    """

    def __init__(self, text: str, *, moved: int = 0, watch: Any = None, limit: int = 200_000) -> None:
        super().__init__(heap=0x5000_0000 + moved)
        module = parse_module(text)
        self.types = Types(
            {name: rest for item in module.items if isinstance(item, str) for name, rest in _type_line(item)}
        )
        self.functions: dict[str, Function] = module.functions
        self.lines: dict[tuple[str, str], list[Line]] = {}
        number = 0
        for name, function in self.functions.items():
            for block in function.blocks:
                self.lines[name, block.name] = rows = []
                for instruction in block.instructions:
                    rows.append(_line(number, instruction.text))
                    number += 1
        self.globals: dict[str, tuple[int, int]] = {}
        self.executed: list[int] = []  # static instruction of each vertex
        self.frames: list[Frame] = []
        self.stack = 0x7000_0000_0000 + moved
        self.jumps: dict[int, tuple[Frame, tuple[str, int]]] = {}
        self.flying: dict[int, Thrown] = {}  # exceptions by their object, and those that are being handled
        self.handled: list[Thrown] = []
        self.output = b""
        self.watch = watch
        self.limit = limit
        self.address: dict[str, int] = {}
        self.constants = Constants(self.types, self.address)
        self._lay_out(module.items, 0x1000_0000 + moved)
        from .library import LIBRARY

        self.library: dict[str, Callable[..., Any]] = LIBRARY

    # -- memory ----------------------------------------------------------------------------------------------------

    def _lay_out(self, items: list[Any], base: int) -> None:
        waiting = []
        code = base + 0x0800_0000
        for name in self.functions:
            self.address[name] = code
            code += 64
        for item in items:
            if isinstance(item, str) and item.startswith("declare"):
                found = re.search(r'@[-\w.$"]+', item)
                assert found is not None
                self.address[found.group()] = code
                code += 64
            if not isinstance(item, str) or not item.startswith("@"):
                continue
            if found := re.match(r"(@[-\w.$]+) = .*\balias .*, ptr (@[-\w.$]+)", item):
                self.address[found.group(1)] = self.address[found.group(2)]
                continue
            name, rest = item.split(" = ", 1)
            defined = re.search(r"\b(?:global|constant)\s+", rest)
            assert defined is not None, item
            kind, value = split_type(rest[defined.end() :])
            size = self.types.size(kind)
            base = -(-base // 16) * 16
            self.address[name] = base
            if not re.search(r"\bexternal\b", rest[: defined.start()]):
                self.globals[name] = (base, size)
                waiting.append((base, kind, split_commas(value)[0]))
            base += size
        self.code = {address: name for name, address in self.address.items() if name not in self.globals}
        self.code |= {self.address[name]: name for name in self.functions}
        for address, kind, value in waiting:
            self.poke(address, self.types.encode(self.constants.value(kind, value), kind))

    def object_at(self, address: int) -> tuple[int, int] | None:
        """The object that holds an address: heap, global or stack slot."""
        ranges = [*self.objects.items(), *self.globals.values()]
        ranges += [slot for frame in self.frames for slot in frame.slots]
        return next(((start, size) for start, size in ranges if start <= address < start + size), None)

    def wrote(self, vertex: int, address: int, data: bytes) -> None:
        """A library call that called the program back writes when that is done, which its stream says by a mark.

        The graph has what the call comes after, not what it does behind its callbacks: these are no later instructions.
        """
        self.forget(address, len(data))
        self.writes(vertex, address, data)
        if self.watch:
            self.watch.wrote(address, len(data))

    # -- values ----------------------------------------------------------------------------------------------------

    def typed(self, frame: Frame, vertex: int, text: str) -> tuple[str, Any]:
        kind, rest = split_type(text)
        return kind, self.value(frame, vertex, kind, rest)

    def value(self, frame: Frame, vertex: int, kind: str, text: str) -> Any:
        """The value of an operand; a register that made it is noted as a dependence of `vertex`."""
        while found := ATTRIBUTE.match(text):
            text = text[found.end() :]
        if text.startswith("%"):
            maker = frame.makers.get(text)
            if maker is not None and vertex >= 0:
                self.edges.add((maker, vertex, "register"))
            return frame.values[text]
        return self.constants.value(kind, text)

    # -- running ---------------------------------------------------------------------------------------------------

    def run(self, argv: tuple[str, ...] = ("prog",)) -> int:
        """Run `main`; its exit status."""
        words = []
        base = 0x6000_0000
        for word in argv:
            self.poke(base, word.encode() + b"\0")
            words.append(base)
            base += len(word) + 1
        base = -(-base // 8) * 8
        self.poke(base, b"".join(word.to_bytes(8, "little") for word in (*words, 0)))
        try:
            value, _ = self.call("@main", [("i32", len(argv), None), ("ptr", base, None)])
            status = int(value or 0) & 0xFF
        except Exit as left:
            status = left.status & 0xFF
        return status

    def call(self, name: str, arguments: list[tuple[str, Any, int | None]]) -> tuple[Any, int | None]:
        """Call a function of the module with (type, value, maker) of each argument; its value and the `ret`."""
        function = self.functions[name]
        frame = Frame(name, self.stack - 64, stack=self.stack)
        for parameter, (_, value, maker) in zip(function.parameters, arguments, strict=False):
            frame.values[parameter.name], frame.makers[parameter.name] = value, maker
            frame.named.append(parameter.type)
        frame.rest = arguments[len(function.parameters) :]
        self.stack -= 256
        self.frames.append(frame)
        try:
            return self._blocks(frame)
        finally:
            assert self.frames.pop() is frame
            for address, size in frame.slots:
                self.forget(address, size)
            self.stack = frame.stack

    def _blocks(self, frame: Frame) -> tuple[Any, int | None]:
        block, place, before = self.functions[frame.function].entry.name, 0, ""
        while True:
            rows = self.lines[frame.function, block]
            try:
                if place == 0:
                    place = self._phis(frame, rows, before)
                while True:
                    line = rows[place]
                    vertex = self._count(line)
                    if self.watch:
                        self.watch.executed(vertex, line, frame)
                    if line.op == "ret":
                        found = (
                            (None, vertex) if line.body == "void" else (self.typed(frame, vertex, line.body)[1], vertex)
                        )
                        if self.watch:
                            self.watch.done(vertex, line, frame)
                        return found
                    self.here = (block, place)
                    if line.op == "resume":
                        thrown = self.flying[self.typed(frame, vertex, line.body)[1][0]]
                        thrown.by = vertex
                        if self.watch:
                            self.watch.done(vertex, line, frame)
                        raise thrown
                    target = self._terminator(frame, vertex, line)
                    if target is None:
                        self._execute(frame, vertex, line)
                    if self.watch:
                        self.watch.done(vertex, line, frame)
                    if target is not None:
                        block, place, before = target, 0, block
                        break
                    place += 1
            except LongJump as jump:
                if jump.frame is not frame:
                    raise
                block, place = jump.place
                line = self.lines[frame.function, block][place]
                if line.result:
                    frame.values[line.result], frame.makers[line.result] = jump.value, jump.by
                place += 1
                while self.frames[-1] is not frame:
                    self.frames.pop()

    def _count(self, line: Line) -> int:
        self.executed.append(line.number)
        assert len(self.executed) <= self.limit, "the program runs too long for the slow interpreter"
        return len(self.executed) - 1

    def _phis(self, frame: Frame, rows: list[Line], before: str) -> int:
        found = []
        for line in rows:
            if line.op != "phi":
                break
            vertex = self._count(line)
            kind, rest = split_type(line.body)
            for pair in split_commas(rest):
                text, label = split_commas(pair.strip()[1:-1])
                if label.strip().removeprefix("%") == before:
                    found.append((line, vertex, self.value(frame, vertex, kind, text)))
                    break
            if self.watch:
                self.watch.executed(vertex, line, frame)
        for line, vertex, value in found:
            frame.values[str(line.result)], frame.makers[str(line.result)] = value, vertex
        return len(found)

    def _terminator(self, frame: Frame, vertex: int, line: Line) -> str | None:
        labels = [name[1:] for name in re.findall(r'label (%(?:[-\w.$]+|"[^"]*"))', line.body)]
        if line.op == "br":
            if len(labels) == 1:
                return labels[0]
            _, condition = self.typed(frame, vertex, split_commas(line.body)[0])
            return labels[0 if condition else 1]
        if line.op == "invoke":
            return self._invoke(frame, vertex, line, *labels)
        if line.op == "switch":
            start = line.body.index("[", line.body.index("label"))
            kind, value = self.typed(frame, vertex, split_commas(line.body[:start])[0])
            for place, case in enumerate(re.findall(rf"{kind} (\S+), label", line.body[start:])):
                if self.constants.value(kind, case) == value:
                    return labels[place + 1]
            return labels[0]
        assert line.op != "unreachable", "reached the unreachable"
        return None

    def _invoke(self, frame: Frame, vertex: int, line: Line, label: str, pad: str) -> str:
        try:
            self._execute(frame, vertex, line)
        except Thrown as thrown:
            landing = next(row for row in self.lines[frame.function, pad] if row.op == "landingpad")
            selector = selected(self, thrown, landing.body)
            if selector is None:
                raise
            thrown.selector = selector
            self.flying[thrown.object] = frame.landed = thrown
            return pad
        return label

    def _execute(self, frame: Frame, vertex: int, line: Line) -> None:
        from .operations import execute

        value, maker = execute(self, frame, vertex, line)
        if line.result:
            frame.values[line.result], frame.makers[line.result] = value, maker

    def arguments(self, frame: Frame, vertex: int, text: str) -> list[tuple[str, Any, int | None, str]]:
        """(type, value, maker, text) of each argument between the brackets of a call."""
        found = []
        for part in split_commas(text) if text.strip() else []:
            kind, rest = split_type(part)
            if kind == "metadata":
                continue
            value = self.value(frame, vertex, kind, rest)
            names = LOCAL.findall(rest)
            found.append((kind, value, frame.makers.get(names[-1]) if names else None, rest))
        return found


def _line(number: int, text: str) -> Line:
    found = re.match(rf"(?:({LOCAL.pattern}) = )?(?:tail |notail |musttail )?([a-z_]+)\s*(.*)$", text, re.DOTALL)
    assert found is not None, text
    result, op, body = found.groups()
    while flag := FLAGS.match(body):
        body = body[flag.end() :]
    return Line(number, result, op, body)


def _type_line(item: str) -> list[tuple[str, str]]:
    found = re.match(rf"({LOCAL.pattern}) = type (.*)$", item)
    return [(found.group(1), found.group(2))] if found else []


__all__ = ["BINARY", "CASTS", "FLOATS", "Exit", "Frame", "Interpreter", "Line", "LongJump"]
__all__ += ["binary", "cast", "fcmp", "gep", "icmp", "matching", "rounded", "signed"]
