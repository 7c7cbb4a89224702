"""Tables of distances, which LLVM makes of a switch over pointers in position-independent code, as plain loads.

```
%x = call ptr @llvm.load.relative.i64(ptr %table, i64 %offset)
```
reads the 32-bit distance at `%table` + `%offset`, and returns `%table` + distance.
"""

from __future__ import annotations

import re

from tracecut.ir.llvm import Block, Instruction, Module

_CALL = re.compile(r"@llvm\.load\.relative\.i\d+$")


def plain_relative_loads(module: Module) -> Module:
    """Replace the calls by what they do, in place. O(instructions)."""
    if not any(_CALL.match(name) for name in module.declarations):
        return module
    for function in module.functions.values():
        for block in function.blocks:
            if any(_is_relative(instruction) for instruction in block.instructions):
                _replace(block)
    return module


def _is_relative(instruction: Instruction) -> bool:
    return instruction.op == "call" and _CALL.match(instruction.word) is not None


def _replace(block: Block) -> None:
    lines: list[Instruction] = []
    for call in block.instructions:
        if not _is_relative(call):
            lines.append(call)
            continue
        table, offset = call.operands
        name = str(call.result)
        stem = name[:-1] if name.endswith('"') else name
        parts = [f"{stem}.{part}" + name[len(stem) :] for part in ("at", "distance", "wide")]
        lines += [
            Instruction(text, {kind: node for kind, node in call.meta.items() if kind == "dbg"})
            for text in (
                f"{parts[0]} = getelementptr i8, ptr {table.text}, {offset.type} {offset.text}",
                f"{parts[1]} = load i32, ptr {parts[0]}, align 4",
                f"{parts[2]} = sext i32 {parts[1]} to i64",
                f"{name} = getelementptr i8, ptr {table.text}, i64 {parts[2]}",
            )
        ]
    block.instructions[:] = lines
