"""One instruction of textual LLVM IR: its text and attachments; the rest is parsed on demand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .lazy_attributes import once
from .lexer import GLOBAL, LOCAL, NAME, STRING
from .operands import BINARY, CASTS, Operand, Parsed, parsed

TERMINATORS = frozenset(
    "ret br switch indirectbr invoke callbr resume unreachable cleanupret catchret catchswitch".split()
)
_HEAD = re.compile(rf"\s*(?:(%{NAME})\s*=\s*)?((?:tail |musttail |notail )?[a-z_0-9.]+)\s*(.*)$", re.DOTALL)
# Opcodes that stand alone in front of one space.
_PLAIN = BINARY | CASTS | frozenset("load store getelementptr br call icmp fcmp phi select ret switch alloca".split())
_FLAG = re.compile(
    r"(nuw|nsw|exact|inbounds|nusw|disjoint|nneg|samesign|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|volatile|"
    r"atomic|inrange\([^)]*\)|inalloca|swifterror|weak)\b\s*"
)
_META = re.compile(r",\s*!([a-zA-Z_.0-9]+)\s+(![0-9]+|!\{[^}]*\}|!DIExpression\([^)]*\))")
_ATTACHED = re.compile(rf"{STRING}|,\s*!", re.DOTALL)


@dataclass(eq=False)
class Instruction:
    """One instruction. `text` is the line without its metadata attachments, `meta` maps kind → node text."""

    text: str
    meta: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_line(cls, line: str) -> Instruction:
        """Parse a printed line; attachments such as `!dbg !7` go to `meta`."""
        meta = {}
        text = line.strip()
        first = _attachments(text) if ", !" in text else -1
        if first >= 0:
            if text.startswith(", !dbg !", first) and text[first + 8 :].isdigit():  # as most lines end
                return cls(text[:first], {"dbg": text[first + 7 :]})
            tail = text[first:]
            for found in _META.finditer(tail):
                meta[found.group(1)] = found.group(2)
            text = text[:first] + _META.sub("", tail)
        return cls(text.rstrip(), meta)

    def __str__(self) -> str:
        if not self.meta:
            return self.text
        return self.text + "".join([f", !{kind} {node}" for kind, node in self.meta.items()])

    @once
    def _head(self) -> tuple[str | None, str, str]:
        """Result, opcode, and the text after it. Needed for every instruction, so most are split without a regex."""
        text = self.text
        result, is_value, rest = text.partition(" = ") if text.startswith("%") else (None, "", text)
        op, _, rest = rest.partition(" ")
        if op in _PLAIN and (result is None or (is_value and not result.startswith('%"'))):
            return result, op, rest.lstrip()
        found = _HEAD.match(text)
        if found is None:
            raise ValueError(f"not an instruction: {text!r}")
        return found.group(1), found.group(2).split()[-1], found.group(3)

    @once
    def result(self) -> str | None:
        """`%name` of the value it makes, None for void."""
        return self._head[0]

    @once
    def op(self) -> str:
        return self._head[1]

    @once
    def flags(self) -> frozenset[str]:
        """Words such as nsw, inbounds, volatile, atomic, fast."""
        return frozenset(_FLAG.findall(self._flagged[0]))

    @once
    def _flagged(self) -> tuple[str, str]:
        rest = self._head[2]
        place = 0
        while found := _FLAG.match(rest, place):
            place = found.end()
        return rest[:place], rest[place:]

    @property
    def body(self) -> str:
        """The text after the opcode and its flags."""
        return self._flagged[1]

    @once
    def _parsed(self) -> Parsed:
        return parsed(self)

    @property
    def type(self) -> str:
        """Type of the result (of a store: `void`)."""
        return self._parsed.type

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Value operands in order. load: (pointer); store: (value, pointer); getelementptr: (base, indices …);
        atomicrmw: (pointer, value); cmpxchg: (pointer, expected, new); va_arg: (list);
        select: (condition, a, b); phi: the incoming values; call: the arguments; br: the condition if any."""
        return self._parsed.operands

    @property
    def labels(self) -> tuple[str, ...]:
        """Successor blocks of a terminator, or the incoming blocks of a phi, without `%`."""
        return self._parsed.labels

    @property
    def word(self) -> str:
        """icmp/fcmp: the predicate; getelementptr, alloca: the element type; call: the callee; atomicrmw: the op."""
        return self._parsed.word

    @once
    def uses(self) -> tuple[str, ...]:
        """Every local name that the text mentions apart from its result: values, and labels or types too."""
        start = 0 if self.result is None else self.text.index(self.result) + len(self.result)
        return tuple(LOCAL.findall(self.text, start))

    @once
    def globals(self) -> tuple[str, ...]:
        """Every `@name` that the text mentions."""
        return tuple(GLOBAL.findall(self.text))

    @property
    def is_terminator(self) -> bool:
        return self.op in TERMINATORS

    @property
    def is_simple_access(self) -> bool:
        """A load or store that is neither volatile nor atomic."""
        return self.op in ("load", "store") and not self.flags & {"volatile", "atomic"}


def _attachments(text: str) -> int:
    """Where the metadata attachments of a line begin, −1 when it has none."""
    if '"' not in text:
        return text.find(", !")
    for found in _ATTACHED.finditer(text):
        if text[found.start()] == ",":
            return found.start()
    return -1
