"""Operands, result type and labels of an instruction of textual LLVM IR, by opcode."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from .lexer import GLOBAL, LOCAL, NAME, matching, split_commas, split_type

BINARY = frozenset("add sub mul sdiv udiv srem urem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp "
    "ptrtoint ptrtoaddr inttoptr bitcast addrspacecast".split()
)
# Of `icmp`: the predicate when its operands change places, and the one that holds where it does not.
SWAPPED = {"eq": "eq", "ne": "ne", "slt": "sgt", "sle": "sge", "ult": "ugt", "ule": "uge"}
SWAPPED |= {other: word for word, other in SWAPPED.items()}
NEGATED = {"eq": "ne", "slt": "sge", "sgt": "sle", "ult": "uge", "ugt": "ule"}
NEGATED |= {other: word for word, other in NEGATED.items()}
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


class Line(Protocol):
    """The parts of an instruction that are parsed here: its opcode, and the text after the opcode and its flags."""

    @property
    def op(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def uses(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Parsed:
    """The parsed parts of an `Instruction`, which offers them under the same names."""

    type: str = "void"
    operands: tuple[Operand, ...] = ()
    labels: tuple[str, ...] = ()
    word: str = ""


def parsed(instruction: Line) -> Parsed:
    """The parsed parts of an instruction; for opcodes that no analysis needs, only the names it uses."""
    op, body = instruction.op, instruction.body
    if op in BINARY:
        kind, rest = split_type(body)
        first, second = split_commas(rest)
        return Parsed(kind, (Operand(kind, first), Operand(kind, second)))
    if op in CASTS:
        value, target = body.rsplit(" to ", 1)
        return Parsed(target.strip(), (_operand(value),))
    if op in _PARSERS:
        return _PARSERS[op](instruction, body)
    return Parsed(type="?", operands=tuple(Operand("?", name) for name in instruction.uses))


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


def _compare(instruction: Line, body: str) -> Parsed:
    predicate, rest = body.split(None, 1)
    kind, values = split_type(rest)
    first, second = split_commas(values)
    return Parsed("i1", (Operand(kind, first), Operand(kind, second)), word=predicate)


def _load(instruction: Line, body: str) -> Parsed:
    kind, pointer = split_commas(body)[:2]
    return Parsed(kind, (_operand(_ORDERING.sub("", pointer)),))


def _store(instruction: Line, body: str) -> Parsed:
    value, pointer = split_commas(body)[:2]
    return Parsed("void", (_operand(value), _operand(_ORDERING.sub("", pointer))))


def _gep(instruction: Line, body: str) -> Parsed:
    parts = split_commas(body)
    operands = tuple(_operand(part) for part in parts[1:])
    vector = next((operand.type for operand in operands if operand.type.startswith("<")), None)
    kind = "ptr" if vector is None else f"{vector[: vector.index(' x ')]} x ptr>"
    return Parsed(kind, operands, word=parts[0])


def _phi(instruction: Line, body: str) -> Parsed:
    kind, rest = split_type(body)
    operands, labels = [], []
    for pair in split_commas(rest):
        value, label = split_commas(pair.strip()[1:-1])
        operands.append(Operand(kind, value))
        labels.append(label.removeprefix("%"))
    return Parsed(kind, tuple(operands), tuple(labels))


def _select(instruction: Line, body: str) -> Parsed:
    condition, first, second = (_operand(part) for part in split_commas(body))
    return Parsed(first.type, (condition, first, second))


def _br(instruction: Line, body: str) -> Parsed:
    parts = split_commas(body)
    if len(parts) == 1:
        return Parsed(labels=(_label(parts[0]),))
    return Parsed(operands=(_operand(parts[0]),), labels=(_label(parts[1]), _label(parts[2])))


def _switch(instruction: Line, body: str) -> Parsed:
    start = body.index("[", body.index("label"))
    value, default = split_commas(body[:start])
    return Parsed(operands=(_operand(value),), labels=(_label(default), *_labels(body[start:])))


def _jump(instruction: Line, body: str) -> Parsed:
    """A terminator of which only the targets matter: indirectbr, catchswitch, cleanupret, catchret."""
    return Parsed(operands=tuple(Operand("?", name) for name in instruction.uses), labels=_labels(body))


def _ret(instruction: Line, body: str) -> Parsed:
    return Parsed() if body.strip() == "void" else Parsed(operands=(_operand(body),))


def _alloca(instruction: Line, body: str) -> Parsed:
    parts = split_commas(body)
    counts = tuple(_operand(part) for part in parts[1:] if not part.startswith(("align", "addrspace")))
    return Parsed("ptr", counts, word=parts[0])


def _call(instruction: Line, body: str) -> Parsed:
    labels = _labels(body) if instruction.op != "call" else ()
    start = _callee_start(body)
    if start is None:
        return Parsed("?", tuple(Operand("?", name) for name in instruction.uses), labels, word="asm")
    open_at = body.index("(", start)
    callee = body[start:open_at]
    close_at = matching(body, open_at)
    arguments = []
    for part in split_commas(body[open_at + 1 : close_at]):
        arguments.append(Operand("metadata", part) if part.startswith("metadata") else _operand(part))
    return Parsed(return_type(body[:start]), tuple(arguments), labels, word=callee)


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


def return_type(prefix: str) -> str:
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


def _atomicrmw(instruction: Line, body: str) -> Parsed:
    parts = split_commas(body)
    word, pointer = parts[0].split(None, 1)
    value = _operand(_ORDERING.sub("", parts[1]))
    return Parsed(value.type, (_operand(pointer), value), word=word)


def _cmpxchg(instruction: Line, body: str) -> Parsed:
    pointer, expected, new = split_commas(body)[:3]
    value = _operand(expected)
    new = re.sub(r'(?:\s+syncscope\("[^"]*"\))?\s+[a-z_]+\s+[a-z_]+$', "", new)
    return Parsed(f"{{ {value.type}, i1 }}", (_operand(pointer), value, _operand(new)))


def _va_arg(instruction: Line, body: str) -> Parsed:
    pointer, kind = split_commas(body)[:2]
    return Parsed(kind, (_operand(pointer),))


def _freeze(instruction: Line, body: str) -> Parsed:
    value = _operand(body)
    return Parsed(value.type, (value,))


def _fneg(instruction: Line, body: str) -> Parsed:
    value = _operand(body)
    return Parsed(value.type, (value,))


def _label(text: str) -> str:
    _, found, name = text.partition("%")
    if not found:
        raise ValueError(f"not a label: {text!r}")
    return name.strip()


def _labels(body: str) -> tuple[str, ...]:
    """Every `label %name` in a terminator."""
    return tuple(found[1:] for found in re.findall(rf"\blabel (%{NAME})", body))


_PARSERS = {
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    "load": _load,
    "store": _store,
    "getelementptr": _gep,
    "phi": _phi,
    "select": _select,
    "br": _br,
    "switch": _switch,
    "ret": _ret,
    "alloca": _alloca,
    **dict.fromkeys(("call", "invoke", "callbr"), _call),
    **dict.fromkeys(("indirectbr", "catchswitch", "cleanupret", "catchret"), _jump),
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
    "va_arg": _va_arg,
    "freeze": _freeze,
    "fneg": _fneg,
}
