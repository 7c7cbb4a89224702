"""Pointers to memory that a loop allocates anew, and holds in members of a structure, are handed on as values too.

```
loop:                                          loop:
  %x = load ptr, ptr %member                     %x = phi ptr [ %first, … ], [ %y, … ]
  %y = call ptr @malloc(…)                 →     %y = call ptr @malloc(…)
  …                                              …
  store ptr %y, ptr %member                      store ptr %y, ptr %member
```

So it is with a vector that a function is given by reference. Only where nothing else in the loop may change the member;
`%first` is loaded in front of the loop, so the member has to be there even where the loop is left before it is reached.
`exchange_allocations.py` then sees what is freed in which iteration.
"""

from __future__ import annotations

import re

from tracecut.ir.llvm import Block, Instruction, Module
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.edit import before_end, renamed
from tracecut.ir.llvm.substitute import alignment

from ..known_sizes import SIZES
from .allocation_uses import Users, allocates, replaces_allocators
from .kept_value import KeptValue
from .unchanged_memory import Unchanged, constant_texts


def carry_members(module: Module) -> Module:
    """Hand such pointers on, in place. O(members · instructions of a function)."""
    own = module.functions
    if replaces_allocators(module):
        return module
    nodes, texts = module.metadata(), constant_texts(module)
    count = 0
    for function in own.values():
        tried = set[tuple[str, str]]()
        memory: Unchanged | None = None  # as long as nothing is changed
        calls = [item for _, item in function.instructions() if allocates(item)]
        for call in calls:
            while True:
                memory = memory or Unchanged(function, nodes, set(own), texts)
                loop = memory.flow.innermost(memory.homes[str(call.result)])
                members = _members(memory.users, str(call.result)) if loop is not None and loop.children else []
                fresh = [one for one in members if loop is not None and (loop.header, one) not in tried]
                if loop is None or not fresh:
                    break
                tried.add((loop.header, fresh[0]))
                if _carry(memory, loop, fresh[0], count):
                    memory, count = None, count + 1
    return module


def _members(users: Users, pointer: str) -> list[str]:
    """Where the program stores an address, or one that is computed from it: not where other passes hold it."""
    found, seen, stack = list[str](), {pointer}, [pointer]
    while stack:
        one = stack.pop()
        for _, item in users(one):
            if item.op == "store" and item.operands[0].text == one and item.is_simple_access:
                found += [item.operands[1].text] if not item.operands[1].text.startswith("%tracecut.") else []
            elif item.op in ("getelementptr", "phi") and item.type == "ptr" and item.result not in seen:
                seen.add(str(item.result))
                stack.append(str(item.result))
    return list(dict.fromkeys(found))


def _carry(memory: Unchanged, loop: Loop, member: str, number: int) -> bool:
    """Hand on what a loop finds in a member; whether it is known in all iterations."""
    flow, blocks = memory.flow, memory.flow.blocks
    if loop.preheader is None or len(loop.latches) != 1 or not flow.is_reducible or memory.homes.get(member) in loop:
        return False
    inside = [(blocks[name], item) for name in blocks if name in loop for item in blocks[name].instructions]
    own = [(block, item) for block, item in inside if _is_of(item, member)]
    loads = [(block, item) for block, item in own if item.op == "load"]
    stores = [(block, item) for block, item in own if item.op == "store"]
    always = [item.op for block, item in own if flow.dominates(block.name, loop.latches[0])]
    if not {"load", "store"} <= set(always):
        return False  # scratch space that is made anew where it has become too small is found where it lies
    if any(flow.innermost(block.name) is not loop for block, _ in stores):
        return False
    if not _is_there(memory, loop, member):
        return False
    if any(memory.changes(item, loads[0][1]) for _, item in inside if not any(item is store for _, store in stores)):
        return False
    like = loads[0][1]
    kept = KeptValue(flow, loop, f"%tracecut.member.{number}", f"%tracecut.found.{number}")
    for block, store in stores:
        kept.sets(block.name, block.instructions.index(store), store.operands[0].text)
    values = {str(load.result): kept.before(block.name, block.instructions.index(load)) for block, load in loads}
    kept.place()
    meta = {kind: node for kind, node in like.meta.items() if kind in ("dbg", "tbaa")}
    first = Instruction(f"%tracecut.found.{number} = load ptr, ptr {member}{alignment(like)}", meta)
    before_end(blocks[loop.preheader], [first])
    names = {name: kept.named(value) for name, value in values.items()}
    while any(value in names for value in names.values()):
        names = {name: names.get(value, value) for name, value in names.items()}
    for block in memory.function.blocks:
        _replace(block, names)
    return True


def _is_there(memory: Unchanged, loop: Loop, member: str) -> bool:
    """Whether a pointer can be loaded in front of a loop: from a variable, what a reference leads to, or what the
    program itself reaches before it may leave the loop.
    """
    flow, (start, distance) = memory.flow, memory.member(member)
    made = memory.made.get(start)
    if start.startswith("@") or (made is not None and made.op == "alloca"):
        return True
    known = re.search(rf"\bdereferenceable\((\d+)\) {re.escape(start)}(?![\w.$-])", memory.function.header)
    if known is not None and 0 <= distance <= int(known[1]) - SIZES["ptr"]:
        return True
    homes = [block.name for block, item in memory.function.instructions() if _is_of(item, member)]
    ends = {inside for inside, _ in loop.exits}
    return any(
        flow.dominates(home, str(loop.preheader)) or (home in loop and all(flow.dominates(home, end) for end in ends))
        for home in homes
    )


def _is_of(item: Instruction, member: str) -> bool:
    if item.op == "load":
        return item.is_simple_access and item.type == "ptr" and item.operands[0].text == member
    return (
        item.op == "store"
        and item.is_simple_access
        and item.operands[0].type == "ptr"
        and item.operands[1].text == member
    )


def _replace(block: Block, names: dict[str, str]) -> None:
    kept = [item for item in block.instructions if item.result not in names]
    block.instructions = [renamed(item, names) if names.keys() & set(item.uses) else item for item in kept]
