"""Edits shared by instrumentation and weaving: argument arrays, and calls before and after a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .data_layout import TypeTable
from .instruction import Instruction
from .lexer import LOCAL
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


def sources(phi: Instruction) -> list[tuple[str, str]]:
    """(value, block) of a phi."""
    return [(value.text, label) for value, label in zip(phi.operands, phi.labels, strict=True)]


def with_sources(phi: Instruction, found: Sequence[tuple[str, str]]) -> str:
    """The text of a phi with other sources."""
    head = phi.text[: len(phi.text) - len(phi.body)]
    return f"{head}{phi.type} {', '.join(f'[ {value}, %{label} ]' for value, label in found)}"


def renamed(item: Instruction, names: Mapping[str, str]) -> Instruction:
    """An instruction with other names for some of its values, also for what it makes, and for its labels."""
    return Instruction(LOCAL.sub(lambda found: names.get(found.group(), found.group()), item.text), dict(item.meta))


def rename_sources(function: Function, targets: Sequence[str], old: str, new: Sequence[str]) -> None:
    """In the phis of blocks, what came from `old` comes from each of `new`."""
    blocks = function.by_name()
    for target in dict.fromkeys(targets):
        edit_phis(
            blocks[target],
            lambda phi: with_sources(
                phi, [(value, name) for value, label in sources(phi) for name in (new if label == old else [label])]
            ),
        )


def drop_unreached(function: Function) -> None:
    """Drop the blocks that nothing goes to any more, and what phis say of them. O(blocks)."""
    blocks = function.by_name()
    reached, stack = {function.entry.name}, [function.entry.name]
    before: dict[str, set[str]] = {name: set() for name in blocks}
    while stack:
        name = stack.pop()
        for after in blocks[name].terminator.labels:
            before[after].add(name)
            if after not in reached:
                reached.add(after)
                stack.append(after)
    function.blocks = [block for block in function.blocks if block.name in reached]
    for block in function.blocks:
        for place, phi in enumerate(block.phis):
            come = [source for source in sources(phi) if source[1] in before[block.name]]
            block.instructions[place] = Instruction(with_sources(phi, come), phi.meta)


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
