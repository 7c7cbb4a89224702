"""Loads of one of two fields, as `x[v > 0 ? e.from : e.to]` makes them, become a choice between two loads.

LLVM chooses between distances, as here, or between pointers; no index array is read at a place that data choose:

```
%s = select i1 %c, i64 0, i64 4                     %a = load i32, ptr %e
%p = getelementptr i8, ptr %e, i64 %s          →    %p2 = getelementptr i8, ptr %e, i64 4
%v = load i32, ptr %p                               %b = load i32, ptr %p2
                                                    %v = select i1 %c, i32 %a, i32 %b
```

Both fields are read, so both have to be there: the block, which contains no call, reads them itself besides.
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Instruction, Module
from tracecut.ir.llvm.substitute import alignment

Place = tuple[str, int]  # a pointer, bytes behind it


def split_choices(module: Module) -> Module:
    """Replace such loads, in place. O(instructions)."""
    for function in module.functions.values():
        choices = {str(item.result): item for _, item in function.instructions() if _chooses(item)}
        for block in function.blocks if choices else ():
            _split(block, choices)
    return module


def _chooses(item: Instruction) -> bool:
    """Whether it chooses between pointers, or between distances."""
    if item.op != "select" or item.type not in ("ptr", "i64"):
        return False
    return item.type == "ptr" or all(part.text.isdigit() for part in item.operands[1:])


def _split(block: Block, choices: dict[str, Instruction]) -> None:
    places: dict[str, Place] = {}
    chosen: dict[str, tuple[str, list[Place]]] = {}  # pointer → condition, what it may be
    for item in block.instructions:
        name = str(item.result)
        if item.op == "getelementptr" and item.word == "i8" and len(item.operands) == 2:
            base, distance = (part.text for part in item.operands)
            if distance.isdigit():
                places[name] = base, int(distance)
            elif distance in choices:
                condition, *arms = choices[distance].operands
                chosen[name] = condition.text, [(base, int(arm.text)) for arm in arms]
        elif name in choices and item.type == "ptr":
            condition, *arms = item.operands
            chosen[name] = condition.text, [places.get(arm.text, (arm.text, 0)) for arm in arms]
    if not chosen or any(item.op in ("call", "invoke") for item in block.instructions if not _is_arithmetic(item)):
        return
    plain = [item for item in block.instructions if item.op == "load" and not item.flags]
    aligned = {(places.get(item.operands[0].text, (item.operands[0].text, 0)), item.type): item for item in plain}
    for load in plain:
        condition_text, fields = chosen.get(load.operands[0].text, ("", []))
        if fields and all((field, load.type) in aligned for field in fields):
            at = block.instructions.index(load)
            read = [(field, alignment(aligned[field, load.type])) for field in fields]
            block.instructions[at : at + 1] = _both(load, condition_text, read)


def _is_arithmetic(item: Instruction) -> bool:
    return item.op == "call" and item.word.startswith("@llvm.")


def _both(load: Instruction, condition: str, read: list[tuple[Place, str]]) -> list[Instruction]:
    """`read`: each field and its alignment."""
    meta = {kind: node for kind, node in load.meta.items() if kind == "dbg"}
    names = [f"{load.result}.tc.{word}" for word in ("yes", "no")]
    lines = []
    for name, ((base, distance), aligned) in zip(names, read, strict=True):
        lines.append(f"{name}.at = getelementptr i8, ptr {base}, i64 {distance}")
        lines.append(f"{name} = load {load.type}, ptr {name}.at{aligned}")
    lines.append(f"{load.result} = select i1 {condition}, {load.type} {names[0]}, {load.type} {names[1]}")
    return [Instruction(line, dict(meta)) for line in lines]
