"""Copies and fills of known size as the loads and stores that a GPU makes of them."""

from __future__ import annotations

import re

from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.lexer import matching, split_commas

MOST = 128  # bytes; LLVM makes loops of longer ones
_CALL = re.compile(r"@llvm\.(memcpy|memmove|memset)\.")
_ALIGN = re.compile(r"\balign (\d+)")


def expand_copies(blocks: list[Block]) -> None:
    """Put loads and stores in the place of short copies and fills, in place. O(instructions)."""
    count = 0
    for block in blocks:
        made: list[Instruction] = []
        for instruction in block.instructions:
            lines = _expanded(instruction, count) if instruction.op == "call" else None
            if lines is None:
                made.append(instruction)
                continue
            count += 1
            made += [Instruction(line, dict(instruction.meta)) for line in lines]
        block.instructions = made


def is_copy(call: Instruction) -> bool:
    """Whether a call copies or fills memory, which no access stands for."""
    return call.op == "call" and _CALL.match(call.word) is not None


def _expanded(call: Instruction, number: int) -> list[str] | None:
    found = _CALL.match(call.word)
    if found is None or not call.operands[2].text.isdigit() or int(call.operands[2].text) > MOST:
        return None
    start = call.body.index("(", call.body.index(call.word))
    parts = split_commas(call.body[start + 1 : matching(call.body, start)])
    pointers = [one for one in call.operands[:2] if one.type.startswith("ptr")]
    aligns = [int(stated[1]) if (stated := _ALIGN.search(part)) else 1 for part in parts[: len(pointers)]]
    value = call.operands[1].text
    if found[1] == "memset" and not value.lstrip("-").isdigit():
        return None
    lines, stores = [], []
    offset, size = 0, int(call.operands[2].text)
    while offset < size:
        width = min(8, *aligns)
        while width > size - offset:
            width //= 2
        name = f"%emu.copy{number}.{offset}"
        type = f"i{8 * width}"
        target = f"{name}.to"
        kind, to = pointers[0].type, pointers[0].text
        lines.append(f"{target} = getelementptr i8, {kind} {to}, i64 {offset}")
        if found[1] == "memset":
            moved = str(int.from_bytes(bytes([int(value) & 255]) * width, "little"))
        else:
            kind, origin = pointers[1].type, pointers[1].text
            lines += [
                f"{name}.from = getelementptr i8, {kind} {origin}, i64 {offset}",
                f"{name} = load {type}, {kind} {name}.from, align {width}",
            ]
            moved = name
        stores.append(f"store {type} {moved}, {pointers[0].type} {target}, align {width}")
        offset += width
    return [*lines, *stores]  # all loads come first: the two may overlap
