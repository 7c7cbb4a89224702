"""PTX text as instructions, registers, parameters and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
_REGISTER = re.compile(r"\.reg\s+\.(\w+)\s+(.+)")
_PARAMETER = re.compile(r"\.param\s+\.[subf](\d+)(?:\s+\.ptr)?(?:\s+\.(?:global|align\s+\d+))*\s+(\w+)\s*$")
_VARIABLE = re.compile(
    r"(?:\.extern\s+|\.visible\s+)?\.(global|const|shared|local)\s+(?:\.align\s+(\d+)\s+)?\.[subf](\d+)\s+"
    r"([$\w]+)\s*(?:\[(\d*)\])?\s*(?:=\s*\{?(.*?)\}?)?\s*;"
)


class PtxError(Exception):
    """The text has something that the interpreter does not know, or the kernel does something that PTX leaves open."""


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        line: in the text, from 1 on. op: its parts between the dots. operands: as written.
        guard: predicate that has to hold; "!%p" if it must not; empty if there is none.
    """

    line: int
    op: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str
    text: str

    @property
    def type(self) -> str:
        return self.op[-1]

    def unknown(self, what: str = "") -> PtxError:
        return PtxError(f"line {self.line}: {what or 'the interpreter does not know'} {self.text!r}")


@dataclass(frozen=True)
class Variable:
    """A variable of the module. `size` is 0 where the launch states it."""

    name: str
    space: str
    align: int
    size: int
    data: bytes


@dataclass(frozen=True)
class Program:
    """A kernel. `registers`: name → bits, 1 of a predicate. `labels`: name → place of an instruction."""

    name: str
    code: tuple[Instruction, ...]
    registers: Mapping[str, int]
    labels: Mapping[str, int]
    parameters: tuple[tuple[str, int], ...]
    variables: tuple[Variable, ...]


def parse(text: str) -> Program:
    """The only kernel of a PTX module. Raises PtxError for what is none of its statements."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", "", found.group()), text, flags=re.S)
    head = re.search(r"\.entry\s+([$\w]+)\s*\((.*?)\)([^{]*)\{", text, re.S)
    if head is None or text.count(".entry") != 1:
        raise PtxError("one .entry was expected")
    if re.search(r"^\s*\.(?:visible|extern|weak)?\s*\.?func\b", text, re.M):
        raise PtxError("the module has functions, which the interpreter does not know")
    variables = [_variable(found) for found in _VARIABLE.finditer(text)]
    parameters = [_parameter(part) for part in head.group(2).split(",") if part.strip()]
    code: list[Instruction] = []
    registers: dict[str, int] = {}
    labels: dict[str, int] = {}
    number, depth = text[: head.end()].count("\n") + 1, 1
    for line in text[head.end() :].split("\n"):
        for word in _statements(line):
            if depth == 0:
                raise PtxError(f"line {number}: {word!r} behind the kernel")
            if word in ("{", "}"):
                depth += 1 if word == "{" else -1
            elif word.endswith(":"):
                labels[word[:-1]] = len(code)
            elif word.startswith("."):
                _declare(word, number, registers)
            else:
                code.append(_instruction(word, number))
        number += 1
    if depth:
        raise PtxError("the kernel has no end")
    return Program(head.group(1), tuple(code), registers, labels, tuple(parameters), tuple(variables))


def _statements(line: str) -> list[str]:
    """Statements of a line: every one of LLVM's stands in one, vectors have their braces inside."""
    found: list[str] = []
    line = line.strip()
    label = re.match(r"[$\w]+:", line)
    if label is not None:
        found.append(label.group())
        line = line[label.end() :].strip()
    while line:
        if line[0] in "{}":
            found.append(line[0])
            line = line[1:].strip()
            continue
        word, mark, line = line.partition(";")
        if not mark:
            raise PtxError(f"{word!r} has no end")
        found.append(word.strip())
        line = line.strip()
    return found


def _declare(word: str, number: int, registers: dict[str, int]) -> None:
    if word.startswith((".loc", ".pragma", ".file")) or re.match(r"\.(?:shared|local)\b", word):
        return  # variables were found already
    found = _REGISTER.fullmatch(word)
    if found is None:
        raise PtxError(f"line {number}: the interpreter does not know {word!r}")
    bits = 1 if found.group(1) == "pred" else int(found.group(1)[1:])
    for part in found.group(2).split(","):
        name, _, count = part.strip().partition("<")
        names = [f"{name}{place}" for place in range(int(count[:-1]))] if count else [name]
        for each in names:
            if registers.setdefault(each, bits) != bits:
                raise PtxError(f"line {number}: {each} is declared with another width")


def _instruction(word: str, number: int) -> Instruction:
    guard, rest = "", word
    if word.startswith("@"):
        guard, _, rest = word[1:].partition(" ")
        if "\t" in guard:
            guard, _, rest = word[1:].partition("\t")
    op, _, operands = rest.strip().replace("\t", " ").partition(" ")
    parts = re.findall(r"[^,\[{(]*(?:\[[^\]]*\]|\{[^}]*\}|\([^)]*\))|[^,]+", operands)
    return Instruction(
        number, tuple(op.split(".")), tuple(part.strip() for part in parts), guard, " ".join(word.split())
    )


def _parameter(part: str) -> tuple[str, int]:
    found = _PARAMETER.fullmatch(" ".join(part.split()))
    if found is None:
        raise PtxError(f"the interpreter does not know the parameter {part.strip()!r}")
    return found.group(2), _BYTES[found.group(1)]


def _variable(found: re.Match[str]) -> Variable:
    space, align, bits, name, count, values = found.groups()
    width = _BYTES[bits]
    size = width * (int(count) if count else 0 if count == "" else 1)
    data = b"".join((int(value, 0) % (1 << 8 * width)).to_bytes(width, "little") for value in _list(values))
    return Variable(name, space, int(align or width), size, data.ljust(size, b"\0"))


def _list(values: str | None) -> list[str]:
    return [] if not values else [part.strip() for part in values.split(",")]
