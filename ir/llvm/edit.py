"""Edits shared by instrumentation and weaving: argument arrays, and calls before and after a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .data_layout import TypeTable
from .instruction import Instruction
from .module import Block, Function


def add_array(function: Function, name: str, slots: int) -> str:
    """A stack array of `slots` 8-byte slots, made once at the function's entry. Returns its `%name`."""
    line = Instruction(f"{name} = alloca [{max(1, slots)} x i64], align 8")
    function.entry.instructions.insert(_after_phis(function.entry), line)
    return name


def store_values(values: Sequence[tuple[str, str]], array: str, prefix: str) -> list[Instruction]:
    """Store typed values into consecutive slots of an array."""
    lines = []
    for place, (text, type) in enumerate(values):
        lines.append(Instruction(f"{prefix}{place} = getelementptr i8, ptr {array}, i64 {8 * place}"))
        lines.append(Instruction(f"store {type} {text}, ptr {prefix}{place}, align 8"))
    return lines


def before_end(block: Block, lines: Sequence[Instruction]) -> None:
    """Insert in front of the terminator."""
    block.instructions[-1:-1] = lines


def at_start(block: Block, lines: Sequence[Instruction]) -> None:
    """Insert after the phis and a landing pad, which have to come first."""
    place = _after_phis(block)
    block.instructions[place:place] = lines


def edit_phis(block: Block, edit: Callable[[Instruction], str]) -> None:
    """Give every phi of a block another text."""
    block.instructions = [
        Instruction(edit(item), item.meta) if item.op == "phi" else item for item in block.instructions
    ]


def fits_slots(values: Sequence[tuple[str, str]], types: TypeTable) -> str | None:
    """Name of the first value that is wider than an 8-byte slot, None when all fit."""
    for text, type in values:
        try:
            if types.size(type) > 8:
                return text
        except ValueError:
            return text
    return None


def _after_phis(block: Block) -> int:
    return sum(1 for instruction in block.instructions if instruction.op in ("phi", "landingpad"))
