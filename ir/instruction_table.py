"""The static instructions whose executions are the vertices of a dependence graph, with source positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Ints, frozen
from tracecut.support.errors import ArgumentError

NUMBERS = ("opcode", "function", "file", "line", "column")
NAMES = ("opcodes", "functions", "files")
PREFIX = "static_"  # of the members of a file


@dataclass(frozen=True, eq=False)
class Instructions:
    """Opcode, function and source position of I static instructions.

    Attributes:
        opcode, function, file: int32 (I), entries of `opcodes`, `functions` and `files`.
        line, column: int32 (I); 0 where there is none, and `files` has an empty name for that.
        opcodes, functions, files: the names. An instruction that was inlined has the position that it came from, and
            the function that it ran in.
    """

    opcode: Ints
    function: Ints
    file: Ints
    line: Ints
    column: Ints
    opcodes: tuple[str, ...]
    functions: tuple[str, ...]
    files: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in NUMBERS:
            object.__setattr__(self, name, frozen(name, getattr(self, name), np.int32))
        self.verify()

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, int, int]]) -> Instructions:
        """From (opcode, function, file, line, column) of each instruction; names in the order of their first use."""
        names: tuple[dict[str, int], ...] = ({}, {}, {})
        numbers = [
            (*(known.setdefault(word, len(known)) for known, word in zip(names, row[:3], strict=True)), *row[3:])
            for row in rows
        ]
        columns = np.array(numbers, np.int32).reshape(-1, 5).T
        return cls(*columns, *(tuple(known) for known in names))

    @property
    def size(self) -> int:
        """Number of instructions."""
        return self.opcode.size

    def verify(self) -> None:
        """Check the sizes, and that all numbers are entries of the names. Raises ArgumentError. O(I)."""
        for name in NUMBERS:
            values = getattr(self, name)
            most = len(getattr(self, f"{name}s")) if f"{name}s" in NAMES else 2**31
            if values.size != self.size:
                raise ArgumentError(f"{name} has {values.size} entries, {self.size} expected")
            if values.size and not (values.min() >= 0 and values.max() < most):
                raise ArgumentError(f"{name} has entries outside of 0 to {most - 1}")
        for name in NAMES:
            if any("\0" in word for word in getattr(self, name)):
                raise ArgumentError(f"{name} has a name with a NUL in it")

    def place(self, number: int) -> str:
        """`file:line` of an instruction, empty where it has none."""
        line = int(self.line[number])
        return f"{self.files[self.file[number]]}:{line}" if line else ""

    def label(self, number: int) -> str:
        """Opcode, function and `file:line` in one text."""
        parts = self.opcodes[self.opcode[number]], self.functions[self.function[number]], self.place(number)
        return " ".join(part for part in parts if part)

    def attributes(self, number: int) -> dict[str, Any]:
        """What is known of an instruction, by name: `opcode`, `function`, and `file` and `line` where it has them."""
        found = {"opcode": self.opcodes[self.opcode[number]], "function": self.functions[self.function[number]]}
        line = int(self.line[number])
        return found | ({"file": self.files[self.file[number]], "line": line} if line else {})

    def fields(self) -> dict[str, tuple[npt.NDArray[Any], Sequence[str] | None]]:
        """Values and, of a column of names, the names, by column."""
        return {
            name: (getattr(self, name), getattr(self, f"{name}s") if f"{name}s" in NAMES else None) for name in NUMBERS
        }

    def members(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays for a file; names stand in one text, each with a NUL behind it."""
        texts = {name: "".join(f"{word}\0" for word in getattr(self, name)) for name in NAMES}
        found: dict[str, npt.NDArray[Any]] = {PREFIX + name: getattr(self, name) for name in NUMBERS}
        return found | {
            PREFIX + name: np.frombuffer(text.encode(errors="surrogateescape"), np.uint8)
            for name, text in texts.items()
        }

    @classmethod
    def from_members(cls, members: Mapping[str, npt.NDArray[Any]]) -> Instructions | None:
        """What `members` made, None when there is nothing of it. Raises ArgumentError when it is damaged."""
        own = {name.removeprefix(PREFIX): values for name, values in members.items() if name.startswith(PREFIX)}
        if not own:
            return None
        if own.keys() != {*NUMBERS, *NAMES}:
            raise ArgumentError("the table of instructions is not complete")
        names = {name: own[name].tobytes().decode(errors="surrogateescape") for name in NAMES}
        if any(text and not text.endswith("\0") for text in names.values()):
            raise ArgumentError("a name of the table of instructions has no end")
        words = {name: tuple(text.split("\0")[:-1]) for name, text in names.items()}
        opcode, function, file, line, column = (own[name] for name in NUMBERS)
        return cls(opcode, function, file, line, column, words["opcodes"], words["functions"], words["files"])

    def __repr__(self) -> str:
        return f"<Instructions: {self.size} of {len(self.functions)} functions>"


def member_types() -> dict[str, str]:
    """dtypes of the members, as `files.read_arrays` takes them: all are optional."""
    return {f"{PREFIX}{name}?": "int32" for name in NUMBERS} | {f"{PREFIX}{name}?": "uint8" for name in NAMES}


__all__ = ["Instructions", "member_types"]
