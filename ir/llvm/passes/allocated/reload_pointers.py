"""Pointers to memory that a loop allocates now and then lie in memory, and are loaded in each iteration.

```
loop: %p = phi ptr [ %new, %allocates ], [ %old, %goes_on ]   →   %p = load ptr, ptr %place
```

Where the program holds them in a variable of its own (`static double *w; if (!w) w = malloc(…)`) they are loaded from
there, else (`if (step == 0) w = malloc(…)`) from a place on the stack that is added. What allocates is then apart from
what follows: it runs seldom, and a layout can be in force again behind it (`tracer/loops/exits.py`).
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Instruction, Module
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.edit import at_start, before_end, sources
from tracecut.ir.llvm.substitute import alignment

from .allocation_uses import FREE, NEW, allocates, replaces_allocators
from .unchanged_memory import Unchanged, constant_texts

PLACE = "%tracecut.pointer."  # how the names of places begin


def reload_pointers(module: Module) -> Module:
    """Load such pointers, in place. O(phis × instructions of a function)."""
    own = module.functions
    if replaces_allocators(module):
        return module
    nodes, texts = module.metadata(), constant_texts(module)
    count = 0
    for function in own.values():
        allocated = {str(item.result) for _, item in function.instructions() if allocates(item)}
        memory: Unchanged | None = None  # as long as nothing is changed
        for block in function.blocks if allocated else ():
            for phi in list(block.phis):
                memory = memory or Unchanged(function, nodes, set(own), texts)
                if phi.type == "ptr" and any(value.text in allocated for value in phi.operands):
                    changed = _from_variable(memory, block, phi) or _from_stack(memory, block, phi, count)
                    count += changed
                else:
                    changed = _is_handed_on(memory, block, phi) and _from_variable(memory, block, phi)
                memory = None if changed else memory
    return module


def _is_handed_on(memory: Unchanged, block: Block, phi: Instruction) -> bool:
    """Whether a loop around others, which frees or allocates, hands a number on that it has loaded."""
    loop = memory.flow.headed.get(block.name)
    if loop is None or not loop.children or not any(value in memory.made for value, _ in sources(phi)):
        return False
    known = (memory.made.get(value) for value, label in sources(phi) if label in loop)
    blocks = (memory.flow.blocks[name].instructions for name in loop.blocks)
    return all(item is not None and item.op == "load" for item in known) and any(
        item.word in (*NEW, *FREE) for items in blocks for item in items if item.op == "call"
    )


def _from_variable(memory: Unchanged, block: Block, phi: Instruction) -> bool:
    """Load a number from the variable that it was stored to, or loaded from, on each way."""
    flow = memory.flow
    loop = flow.innermost(block.name)
    loads = [item for item in (memory.made.get(value) for value, _ in sources(phi)) if item is not None]
    loads = [item for item in loads if item.op == "load" and item.is_simple_access]
    if loop is None or not loads:
        return False
    load, address = loads[0], loads[0].operands[0].text
    if memory.homes.get(address) in loop.blocks:
        return False
    for value, label in sources(phi):
        start = _left_at(memory, value, address)
        if start is None or not memory.is_unchanged(start, flow.blocks[label], load):
            return False
    _replace(block, phi, address, load)
    return True


def _left_at(memory: Unchanged, value: str, address: str) -> Instruction | None:
    """The load of a value from an address, or the store of it there."""
    made = memory.made.get(value)
    if made is not None and made.op == "load" and made.is_simple_access and made.operands[0].text == address:
        return made
    stores = [item for _, item in memory.users(value) if item.op == "store" and item.is_simple_access]
    found = [item for item in stores if [part.text for part in item.operands] == [value, address]]
    return found[0] if len(found) == 1 else None


def _from_stack(memory: Unchanged, block: Block, phi: Instruction, number: int) -> bool:
    """Load a pointer that iterations hand on, and some of them allocate, from a place on the stack."""
    flow, name = memory.flow, str(phi.result)
    loop = flow.innermost(block.name)
    if loop is None or loop.header == block.name or loop.preheader is None or len(loop.latches) != 1:
        return False
    before = [other for other in flow.blocks[loop.header].phis if (name, loop.latches[0]) in sources(other)]
    if len(before) != 1 or before[0].type != "ptr":
        return False
    head = before[0]
    first = [value for value, label in sources(head) if label == loop.preheader]
    made = [value for value, _ in sources(phi) if value != head.result]
    if len(first) != 1 or len(head.operands) != 2 or not made:
        return False
    for value, label in sources(phi):
        if value != head.result and not _comes_from(memory, loop, value, label):
            return False
    for value in made:  # nothing goes on without what it has allocated
        reached = flow.behind(loop, memory.homes[value])
        if any(label in reached for other, label in sources(phi) if other != value):
            return False
    place = f"{PLACE}{number}"
    start = "null" if first[0] in ("undef", "poison") else first[0]
    for value in made:
        home = flow.blocks[memory.homes[value]]
        where = home.instructions.index(memory.made[value]) + 1
        home.instructions.insert(where, Instruction(f"store ptr {value}, ptr {place}, align 8", {}))
    before_end(flow.blocks[loop.preheader], [Instruction(f"store ptr {start}, ptr {place}, align 8", {})])
    _replace(flow.blocks[loop.header], head, place, None)
    _replace(block, phi, place, None)
    memory.function.entry.instructions.insert(0, Instruction(f"{place} = alloca ptr, align 8", {}))
    return True


def _comes_from(memory: Unchanged, loop: Loop, value: str, label: str) -> bool:
    """Whether a value is allocated by a call in the loop itself that always runs on the way to a block."""
    made = memory.made.get(value)
    if made is None or made.op != "call" or not allocates(made):
        return False
    home = memory.homes[value]
    return memory.flow.innermost(home) is loop and memory.flow.dominates(home, label)


def _replace(block: Block, phi: Instruction, address: str, like: Instruction | None) -> None:
    """A load in the place of a phi. `like`: a load of the same type, of which C says the same."""
    meta = {kind: node for kind, node in phi.meta.items() if kind == "dbg"}
    if like is not None:
        meta |= {kind: node for kind, node in like.meta.items() if kind in ("dbg", "tbaa")}
    alike = alignment(like) if like is not None else ", align 8"
    block.instructions.remove(phi)
    at_start(block, [Instruction(f"{phi.result} = load {phi.type}, ptr {address}{alike}", meta)])
