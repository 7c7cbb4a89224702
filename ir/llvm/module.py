"""A module of textual LLVM IR: parsed once, edited as text, printed back.

llvmlite cannot insert instructions into a parsed module, so every rewriting works on this form. Anything that
is not a function body is kept word for word. Debug records (`#dbg_…`) are dropped: rewriting would leave them
pointing at values that are gone; the `!dbg` locations of instructions stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .data_layout import TypeTable
from .instruction import Instruction
from .lexer import GLOBAL, LOCAL, NAME, marks, matching, split_commas, split_type

_DEFINE = re.compile(rf"define\b.*?(@{NAME})\(", re.DOTALL)
_LABEL = re.compile(rf"({NAME}):(?:\s*;.*)?$")
_GLOBAL_LINE = re.compile(rf"(@{NAME})\s*=\s*(.*)$")
_UNNAMED = re.compile(r"(?:\s*(?:local_)?unnamed_addr)?(?:\s*addrspace\(\d+\))?")
_CONTINUED = " " * 10  # how LLVM indents the further lines of invoke, callbr and landingpad
_PLAIN = tuple(f"  {letter}" for letter in "%abcdefghijklmnopqrstuvwxyz")  # an instruction in its first line
_TYPE_LINE = re.compile(rf"(%{NAME})\s*=\s*type\s+(.*)$")


@dataclass(eq=False)
class Block:
    """A basic block. `name` has no `%`; the last instruction is the terminator."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, lines: Iterable[str]) -> Block:
        """A block of instructions without attachments."""
        return cls(name, [Instruction(line) for line in lines])

    @property
    def terminator(self) -> Instruction:
        return self.instructions[-1]

    @property
    def phis(self) -> list[Instruction]:
        return [instruction for instruction in self.instructions if instruction.op == "phi"]


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    text: str


@dataclass(eq=False)
class Function:
    """A function definition; `header` is its first line up to and including `{`.

    `shape`: what `control_flow.py` last found of its blocks, and what it goes by.
    """

    name: str
    header: str
    blocks: list[Block]
    shape: object = field(default=None, repr=False)

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    @property
    def signature_end(self) -> int:
        """Where the parameter list of the header ends, its bracket included."""
        return matching(self.header, self._signature) + 1

    @property
    def _signature(self) -> int:
        return self.header.index(self.name + "(") + len(self.name)

    @property
    def parameters(self) -> list[Parameter]:
        inside = self.header[self._signature + 1 : self.signature_end - 1]
        result = []
        for place, part in enumerate(split_commas(inside) if inside.strip() else []):
            if part == "...":
                continue
            kind, rest = split_type(part)
            names = LOCAL.findall(rest)
            result.append(Parameter(kind, names[-1] if names else f"%{place}", part))
        return result

    @property
    def attribute_groups(self) -> list[str]:
        return re.findall(r"#\d+", self.header)

    def block(self, name: str) -> Block:
        """The block of a name. O(blocks): where many are wanted, take `by_name`."""
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(name)

    def add_attributes(self, words: str) -> None:
        """Put attributes behind the parameters, and what has to stand there before them. `words`: not there yet."""
        end = self.signature_end
        front = _UNNAMED.match(self.header, end)
        end = front.end() if front else end
        self.header = f"{self.header[:end]} {words}{self.header[end:]}"

    def by_name(self) -> dict[str, Block]:
        return {block.name: block for block in self.blocks}

    def instructions(self) -> Iterator[tuple[Block, Instruction]]:
        for block in self.blocks:
            for instruction in block.instructions:
                yield block, instruction

    def copy(self) -> Function:
        """One with blocks of its own. The instructions are shared: an edit puts another one in the place of one."""
        blocks = [Block(item.name, list(item.instructions)) for item in self.blocks]
        return Function(self.name, self.header, blocks, self.shape)

    def __str__(self) -> str:
        lines = [self.header]
        for place, block in enumerate(self.blocks):
            if place:
                lines.append("")
            if place or not block.name.isdigit():
                lines.append(f"{block.name}:")
            lines.extend(f"  {instruction}" for instruction in block.instructions)
        lines.append("}")
        return "\n".join(lines)


@dataclass(frozen=True)
class GlobalVariable:
    """A global: its value type, and whether this module defines it."""

    name: str
    type: str
    defined: bool
    constant: bool
    thread_local: bool


@dataclass(eq=False)
class Module:
    """Items in the order of the file: plain lines and functions. `nodes`: the lines of its metadata, behind them."""

    items: list[str | Function]
    nodes: list[str] = field(default_factory=list)

    @property
    def functions(self) -> dict[str, Function]:
        return {item.name: item for item in self.items if isinstance(item, Function)}

    @property
    def declarations(self) -> dict[str, str]:
        """Name → line of every declared function."""
        found = {}
        for item in self.items:
            if isinstance(item, str) and item.startswith("declare"):
                name = GLOBAL.search(item)
                if name:
                    found[name.group()] = item
        return found

    @property
    def globals(self) -> dict[str, GlobalVariable]:
        found = {}
        for item in self.items:
            if isinstance(item, str) and item.startswith("@"):
                line = _GLOBAL_LINE.match(item)
                parsed = _parse_global(line.group(1), line.group(2)) if line else None
                if parsed is not None:
                    found[parsed.name] = parsed
        return found

    def types(self) -> TypeTable:
        named = {}
        for item in self.items:
            if isinstance(item, str) and item.startswith("%"):
                line = _TYPE_LINE.match(item)
                if line:
                    named[line.group(1)] = line.group(2)
        return TypeTable(named)

    def metadata(self) -> dict[str, str]:
        """`!7` → text of the node."""
        found = {}
        for line in self.nodes:
            name, _, text = line.partition(" = ")
            found[name] = text
        return found

    def attribute_groups(self) -> dict[str, str]:
        """`#3` → the words between its braces."""
        found = {}
        for item in self.items:
            if isinstance(item, str) and item.startswith("attributes #"):
                name = item.split()[1]
                found[name] = item[item.index("{") + 1 : item.rindex("}")]
        return found

    def naked(self) -> set[str]:
        """Names of the functions that are assembly alone: the compiler puts nothing around their body."""
        groups = self.attribute_groups()
        return {
            name
            for name, function in self.functions.items()
            if "naked" in " ".join([function.header, *(groups.get(g, "") for g in function.attribute_groups)]).split()
        }

    def append(self, text: str) -> None:
        """Add one top-level item, given as text."""
        (self.nodes if text.startswith("!") else self.items).append(text)

    def copy(self) -> Module:
        """One that can be edited by itself, see `Function.copy`. O(instructions)."""
        return Module([item if isinstance(item, str) else item.copy() for item in self.items], list(self.nodes))

    def __str__(self) -> str:
        return "\n".join([*map(str, self.items), *self.nodes]) + "\n"


def parse_module(text: str) -> Module:
    """Parse the printed form of a module (as LLVM prints it: one item a line, functions between braces).

    Raises ValueError on text that does not look so; run it through LLVM's own parser first. O(length).
    """
    items: list[str | Function] = []
    nodes: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith("!"):
            nodes.append(line)
        elif line.startswith("define"):
            items.append(_parse_function(line, lines))
        elif line.strip() and not line.startswith(";"):
            items.append(line)
    return Module(items, nodes)


def _parse_function(header: str, lines: Iterator[str]) -> Function:
    found = _DEFINE.match(header)
    if found is None:
        raise ValueError(f"not a function: {header!r}")
    function = Function(found.group(1), header, [])
    block: Block | None = None
    for line in lines:
        if block is not None and line.startswith(_PLAIN) and not line.startswith("switch ", 2):
            block.instructions.append(Instruction.from_line(line))  # as nearly all are
            continue
        if line == "}":
            return function
        stripped = line.strip()
        if not stripped or stripped.startswith((";", "#dbg_")):
            continue
        label = None if line[0] == " " else _LABEL.match(line)
        if label:
            block = Block(label.group(1))
            function.blocks.append(block)
            continue
        if block is None:  # an entry without a label has the next number after the unnamed parameters
            unnamed = sum(parameter.name[1:].isdigit() for parameter in function.parameters)
            block = Block(str(unnamed))
            function.blocks.append(block)
        if line.startswith(_CONTINUED) and block.instructions:
            block.instructions[-1] = Instruction.from_line(f"{block.instructions[-1]} {stripped}")
        else:
            block.instructions.append(Instruction.from_line(_joined(stripped, lines)))
    raise ValueError(f"function {function.name} has no end")


def _joined(line: str, lines: Iterator[str]) -> str:
    """Join the lines of a switch, which LLVM prints one case a line. O(length)."""
    if not line.startswith("switch "):
        return line
    parts, depth = [line], _open_brackets(line)
    while depth:
        following = next(lines, None)
        if following is None:
            raise ValueError(f"a switch has no end: {line!r}")
        parts.append(following.strip())
        depth += _open_brackets(following)
    return " ".join(parts)


def _open_brackets(line: str) -> int:
    return sum({"[": 1, "]": -1}.get(mark, 0) for _, mark in marks(line))


def _parse_global(name: str, rest: str) -> GlobalVariable | None:
    found = re.search(r"\b(global|constant)\s+", rest)
    if found is None:
        return None
    words = rest[: found.start()].split()
    try:
        kind, _ = split_type(rest[found.end() :])
    except ValueError:
        return None
    external = "external" in words or "extern_weak" in words
    return GlobalVariable(
        name,
        kind,
        defined=not external,
        constant=found.group(1) == "constant",
        thread_local=any(word.startswith("thread_local") for word in words),
    )
