"""An element that is updated twice in one iteration is loaded again for the second update, so that each is one.

`y[j] += a; y[j] -= b` adds to one register, which is stored twice where something between may read it:

```
%v = load double, ptr %p                     %v = load double, ptr %p
%s = fadd double %v, %a                      %s = fadd double %v, %a
store double %s, ptr %p                      store double %s, ptr %p
                                        →    %s.tc.again = load double, ptr %p
%t = fsub double %s, %b                      %t = fsub double %s.tc.again, %b
store double %t, ptr %p                      store double %t, ptr %p
```

The load stands right behind the store of what it loads, so it changes nothing; LLVM takes it away again when the
machine code is made. What is seen of the loop are two updates by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.associative import combined
from tracecut.ir.llvm.substitute import alignment, replaced

AGAIN = ".tc.again"  # behind the name of a value: the same, loaded
DEPTH = 40
_WIDTHS = ("sext", "zext", "trunc", "fpext", "fptrunc")


def reload_updates(module: Module) -> Module:
    """Load such elements again, in place. O(instructions)."""
    for function in module.functions.values():
        blocks = [block for block in function.blocks if len(_stores(block)) > 1]
        if blocks:
            users = _users(function)
            for block in blocks:
                _reload(block, users)
    return module


def _stores(block: Block) -> list[Instruction]:
    return [item for item in block.instructions if item.op == "store" and item.is_simple_access]


def _users(function: Function) -> dict[str, list[Instruction]]:
    found: dict[str, list[Instruction]] = {}
    for _, item in function.instructions():
        for name in set(item.uses):
            found.setdefault(name, []).append(item)
    return found


def _reload(block: Block, users: Mapping[str, Sequence[Instruction]]) -> None:
    again: dict[str, Instruction] = {}  # value → the store behind which it is loaded
    made = {str(item.result): item for item in block.instructions if item.result is not None}
    last: dict[str, Instruction] = {}
    for store in _stores(block):
        value, pointer = store.operands
        before = last.get(pointer.text)
        last[pointer.text] = store
        name = before.operands[0].text if before is not None else ""
        if before is None or before.operands[0].type != value.type or name not in made or name in again:
            continue
        behind = {id(item) for item in block.instructions[block.instructions.index(before) + 1 :]}
        mine = all(user is before or id(user) in behind for user in users.get(name, ()))
        if mine and combined(made[name]) is not None and value.text != name and _leads_to(made, value.text, name):
            again[name] = before
    if not again:
        return
    stores = {id(store): name for name, store in again.items()}
    names: dict[str, str] = {}
    lines: list[Instruction] = []
    for item in block.instructions:
        lines.append(Instruction(replaced(item, names), item.meta) if names.keys() & set(item.uses) else item)
        loaded = stores.get(id(item))
        if loaded is not None:
            value, pointer = item.operands
            dbg = {kind: node for kind, node in item.meta.items() if kind == "dbg"}
            text = f"{loaded}{AGAIN} = load {value.type}, ptr {pointer.text}{alignment(item)}"
            lines.append(Instruction(text, dbg))
            names[loaded] = f"{loaded}{AGAIN}"
    block.instructions[:] = lines


def _leads_to(made: Mapping[str, Instruction], text: str, target: str, depth: int = 0) -> bool:
    """Whether a value is another one to which something was added, or the like, in the same block."""
    if text == target:
        return True
    item = made.get(text)
    if item is None or depth > DEPTH:
        return False
    link = combined(item)
    operands = item.operands[:1] if item.op in _WIDTHS else item.operands[1:] if item.op == "select" else ()
    return any(_leads_to(made, operand.text, target, depth + 1) for operand in (link[1] if link else operands))
