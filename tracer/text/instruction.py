"""One instruction of textual LLVM IR, parsed as far as the analyses need it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .lexer import GLOBAL, LOCAL, NAME, STRING, matching, split_commas, split_type
from .once import once

BINARY = frozenset("add sub mul sdiv udiv srem urem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp "
    "ptrtoint ptrtoaddr inttoptr bitcast addrspacecast".split()
)
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
# Behind the operands of an atomic access.
_ORDERING = re.compile(r'(?:\s+syncscope\("[^"]*"\))?\s+(?:unordered|monotonic|acquire|release|acq_rel|seq_cst)$')


@dataclass(frozen=True)
class Operand:
    """A typed operand; `text` is `%name`, `@name`, a literal or a constant expression."""

    type: str
    text: str

    @property
    def is_local(self) -> bool:
        return self.text.startswith("%")


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
        """Result, opcode, and what stands behind it. Asked of every instruction: most are cut without a pattern."""
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
    def _parsed(self) -> _Parsed:
        return _parse(self)

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


@dataclass(frozen=True)
class _Parsed:
    type: str = "void"
    operands: tuple[Operand, ...] = ()
    labels: tuple[str, ...] = ()
    word: str = ""


def _parse(instruction: Instruction) -> _Parsed:
    op, body = instruction.op, instruction.body
    if op in BINARY:
        kind, rest = split_type(body)
        first, second = split_commas(rest)
        return _Parsed(kind, (Operand(kind, first), Operand(kind, second)))
    if op in CASTS:
        value, target = body.rsplit(" to ", 1)
        return _Parsed(target.strip(), (_operand(value),))
    if op in _PARSERS:
        return _PARSERS[op](instruction, body)
    return _Parsed(type="?", operands=tuple(Operand("?", name) for name in instruction.uses))


def _attachments(text: str) -> int:
    """Where the metadata attachments of a line begin, −1 when it has none."""
    if '"' not in text:
        return text.find(", !")
    for found in _ATTACHED.finditer(text):
        if text[found.start()] == ",":
            return found.start()
    return -1


def _operand(text: str) -> Operand:
    kind, value = split_type(text)
    return Operand(kind, _without_attributes(value))


_ATTRIBUTE = re.compile(
    r"(?:align \d+|[a-z_]+\((?:[^()]|\([^()]*\))*\)|(?!getelementptr|inttoptr|ptrtoint|bitcast|addrspacecast|"
    r"trunc|sub|add|xor|null|undef|poison|zeroinitializer|true|false|none|splat|asm|blockaddress|dso_local_equivalent|"
    r"no_cfi|ptrauth)[a-z][a-z_0-9]*)\s+(?=\S)"
)


def _without_attributes(value: str) -> str:
    """Drop parameter attributes in front of an argument: `noundef align 8 %x` → `%x`."""
    if value.startswith(("%", "@")):
        return value
    while (found := _ATTRIBUTE.match(value)) is not None:
        value = value[found.end() :]
    return value


def _compare(instruction: Instruction, body: str) -> _Parsed:
    predicate, rest = body.split(None, 1)
    kind, values = split_type(rest)
    first, second = split_commas(values)
    return _Parsed("i1", (Operand(kind, first), Operand(kind, second)), word=predicate)


def _load(instruction: Instruction, body: str) -> _Parsed:
    kind, pointer = split_commas(body)[:2]
    return _Parsed(kind, (_operand(_ORDERING.sub("", pointer)),))


def _store(instruction: Instruction, body: str) -> _Parsed:
    value, pointer = split_commas(body)[:2]
    return _Parsed("void", (_operand(value), _operand(_ORDERING.sub("", pointer))))


def _gep(instruction: Instruction, body: str) -> _Parsed:
    parts = split_commas(body)
    operands = tuple(_operand(part) for part in parts[1:])
    vector = next((operand.type for operand in operands if operand.type.startswith("<")), None)
    kind = "ptr" if vector is None else f"{vector[: vector.index(' x ')]} x ptr>"
    return _Parsed(kind, operands, word=parts[0])


def _phi(instruction: Instruction, body: str) -> _Parsed:
    kind, rest = split_type(body)
    operands, labels = [], []
    for pair in split_commas(rest):
        value, label = split_commas(pair.strip()[1:-1])
        operands.append(Operand(kind, value))
        labels.append(label.removeprefix("%"))
    return _Parsed(kind, tuple(operands), tuple(labels))


def _select(instruction: Instruction, body: str) -> _Parsed:
    condition, first, second = (_operand(part) for part in split_commas(body))
    return _Parsed(first.type, (condition, first, second))


def _br(instruction: Instruction, body: str) -> _Parsed:
    parts = split_commas(body)
    if len(parts) == 1:
        return _Parsed(labels=(_label(parts[0]),))
    return _Parsed(operands=(_operand(parts[0]),), labels=(_label(parts[1]), _label(parts[2])))


def _switch(instruction: Instruction, body: str) -> _Parsed:
    start = body.index("[", body.index("label"))
    value, default = split_commas(body[:start])
    return _Parsed(operands=(_operand(value),), labels=(_label(default), *_labels(body[start:])))


def _jump(instruction: Instruction, body: str) -> _Parsed:
    """A terminator of which only the targets matter: indirectbr, catchswitch, cleanupret, catchret."""
    return _Parsed(operands=tuple(Operand("?", name) for name in instruction.uses), labels=_labels(body))


def _ret(instruction: Instruction, body: str) -> _Parsed:
    return _Parsed() if body.strip() == "void" else _Parsed(operands=(_operand(body),))


def _alloca(instruction: Instruction, body: str) -> _Parsed:
    parts = split_commas(body)
    counts = tuple(_operand(part) for part in parts[1:] if not part.startswith(("align", "addrspace")))
    return _Parsed("ptr", counts, word=parts[0])


def _call(instruction: Instruction, body: str) -> _Parsed:
    labels = _labels(body) if instruction.op != "call" else ()
    start = _callee_start(body)
    if start is None:
        return _Parsed("?", tuple(Operand("?", name) for name in instruction.uses), labels, word="asm")
    open_at = body.index("(", start)
    callee = body[start:open_at]
    close_at = matching(body, open_at)
    arguments = []
    for part in split_commas(body[open_at + 1 : close_at]):
        arguments.append(Operand("metadata", part) if part.startswith("metadata") else _operand(part))
    return _Parsed(_return_type(body[:start]), tuple(arguments), labels, word=callee)


def _callee_start(body: str) -> int | None:
    """Where `@callee(` or `%callee(` begins; None for inline assembly."""
    depth = 0
    place = 0
    while place < len(body):
        char = body[place]
        if char == '"':
            place = body.index('"', place + 1)
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif depth == 0 and char in "@%":
            found = (GLOBAL if char == "@" else LOCAL).match(body, place)
            if found is not None:
                if body[found.end() : found.end() + 1] == "(":
                    return place
                place = found.end() - 1
        elif depth == 0 and body.startswith("asm ", place):
            return None
        place += 1
    return None


def _return_type(prefix: str) -> str:
    """The type in front of a callee: calling convention and attributes skipped, parameter list cut off."""
    text = prefix.strip()
    while text:
        found = re.match(r"(?:[a-z_]*cc(?:\s+\d+)?|align \d+|[a-z_]+\((?:[^()]|\([^()]*\))*\))\s+(?=\S)", text)
        if found is None:
            found = re.match(
                r"(?!void\b|ptr\b|i\d+\b|half\b|bfloat\b|float\b|double\b|x86_fp80\b|fp128\b|token\b|label\b)"
                r"[a-z][a-z_0-9]*\s+(?=\S)",
                text,
            )
        if found is None:
            break
        text = text[found.end() :]
    kind, _ = split_type(text)
    if kind.endswith(")") and not kind.startswith("target"):
        kind = split_type(kind[: kind.index("(")])[0]
    return kind


def _atomicrmw(instruction: Instruction, body: str) -> _Parsed:
    parts = split_commas(body)
    word, pointer = parts[0].split(None, 1)
    value = _operand(_ORDERING.sub("", parts[1]))
    return _Parsed(value.type, (_operand(pointer), value), word=word)


def _cmpxchg(instruction: Instruction, body: str) -> _Parsed:
    pointer, expected, new = split_commas(body)[:3]
    value = _operand(expected)
    new = re.sub(r'(?:\s+syncscope\("[^"]*"\))?\s+[a-z_]+\s+[a-z_]+$', "", new)
    return _Parsed(f"{{ {value.type}, i1 }}", (_operand(pointer), value, _operand(new)))


def _va_arg(instruction: Instruction, body: str) -> _Parsed:
    pointer, kind = split_commas(body)[:2]
    return _Parsed(kind, (_operand(pointer),))


def _freeze(instruction: Instruction, body: str) -> _Parsed:
    value = _operand(body)
    return _Parsed(value.type, (value,))


def _fneg(instruction: Instruction, body: str) -> _Parsed:
    value = _operand(body)
    return _Parsed(value.type, (value,))


def _label(text: str) -> str:
    _, found, name = text.partition("%")
    if not found:
        raise ValueError(f"not a label: {text!r}")
    return name.strip()


def _labels(body: str) -> tuple[str, ...]:
    """Every `label %name` in a terminator."""
    return tuple(found[1:] for found in re.findall(rf"\blabel (%{NAME})", body))


_PARSERS = {
    "icmp": _compare,
    "fcmp": _compare,
    "load": _load,
    "store": _store,
    "getelementptr": _gep,
    "phi": _phi,
    "select": _select,
    "br": _br,
    "switch": _switch,
    "ret": _ret,
    "alloca": _alloca,
    "call": _call,
    "invoke": _call,
    "callbr": _call,
    "indirectbr": _jump,
    "catchswitch": _jump,
    "cleanupret": _jump,
    "catchret": _jump,
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
    "va_arg": _va_arg,
    "freeze": _freeze,
    "fneg": _fneg,
}
