"""What a loop loads over and over from one place, where only copies of structures keep LLVM from doing it once.

`for (i = 0; i < mesh.points.size(); i++) next[i] = mesh.points[i];` copies a point, which could be the members of
`mesh` for all that LLVM knows. So it loads them again behind each copy, and hands them on to the next iteration. C's
types say that no member of a point is a pointer (`!tbaa.struct`):

```
%p = phi ptr [ %first, %before ], [ %next, %loop ]
call void @llvm.memcpy(ptr %to, …, i64 24, …)         →   call void @llvm.memcpy(ptr %to, …, i64 24, …)
%next = load ptr, ptr %mesh                                `%first` in the place of both
```

`%first` lies at `%mesh` where the loop begins: it was loaded from there, or stored there, on each way to it. Where
nothing is known to lie there it is loaded in front of the loop.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction, Module
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.edit import before_end, renamed, sources

from ..allocated.allocation_uses import FREE, NEW
from ..allocated.unchanged_memory import Unchanged, constant_texts

STEADY = ".tc.steady"  # behind the name of a number: what is loaded in front of the loop
COPY = "tbaa.struct"


def steady_loads(module: Module) -> Module:
    """Load such numbers once, in place. O(loops with copies · (phis + loads) · instructions of a function)."""
    own, nodes, texts = set(module.functions), module.metadata(), constant_texts(module)
    for function in module.functions.values():
        copying = {block.name for block, item in function.instructions() if item.op == "call" and COPY in item.meta}
        if copying:
            memory = Unchanged(function, nodes, own, texts)
            for loop in [loop for loop in memory.flow.loops if copying & loop.blocks and loop.preheader is not None]:
                if _steady(memory, loop):
                    memory = Unchanged(function, nodes, own, texts)
    return module


def _steady(memory: Unchanged, loop: Loop) -> bool:
    """Load once what a loop always loads and nothing in it changes. Returns whether there is anything."""
    flow, before = memory.flow, memory.flow.blocks[str(loop.preheader)]
    inside = [item for name in sorted(loop.blocks) for item in flow.blocks[name].instructions]
    heap = any(item.word in (*NEW, *FREE) for item in inside if item.op in ("call", "invoke"))
    places: dict[tuple[str, str], list[Instruction]] = {}
    for item in inside:
        if item.op == "load" and item.is_simple_access and memory.homes.get(item.operands[0].text) not in loop:
            places.setdefault((item.operands[0].text, item.type), []).append(item)
    names: dict[str, str] = {}
    for loads in places.values():
        always = next((load for load in loads if _always_runs(memory, loop, load)), None)
        if always is None or any(memory.changes(item, load) for load in loads for item in inside):
            continue
        value = _there(memory, loop, always)
        if value is None and heap:
            continue  # an allocation may end the loop before the first of these loads
        if value is None:
            value = f"{always.result}{STEADY}"
            meta = {kind: node for kind, node in always.meta.items() if kind in ("dbg", "tbaa")}
            before_end(before, [Instruction(always.text.replace(str(always.result), value, 1), meta)])
        names |= {str(load.result): value for load in loads}
    if names:
        _put(memory, names)
    return bool(names)


def _always_runs(memory: Unchanged, loop: Loop, load: Instruction) -> bool:
    """Whether an iteration does not go on, nor end the loop, without a load."""
    home = memory.homes[str(load.result)]
    return all(memory.flow.dominates(home, name) for name in (*loop.latches, *(inside for inside, _ in loop.exits)))


def _there(memory: Unchanged, loop: Loop, load: Instruction) -> str | None:
    """What lies where a load finds it, where the loop begins: a value that is there by then; None if none is known."""
    flow, end = memory.flow, str(loop.preheader)
    address = load.operands[0].text
    known = [item for _, item in memory.function.instructions() if item.op in ("load", "store")]
    known = [item for item in known if item.is_simple_access and item.operands[-1].text == address]
    values = dict.fromkeys(str(item.result) if item.op == "load" else item.operands[0].text for item in known)
    phis = [phi for block in flow.blocks.values() for phi in block.phis if phi.type == load.type]
    values |= dict.fromkeys(str(phi.result) for phi in phis if any(value in values for value, _ in sources(phi)))
    for value in values:
        home = memory.homes.get(value)
        if home is None or home in loop or not flow.dominates(home, end) or not _is_seen(memory, value, end):
            continue
        if _lies(memory, value, end, load, frozenset()):
            return value
    return None


def _is_seen(memory: Unchanged, value: str, block: str) -> bool:
    """Whether a block may use a value without a phi: no loop that makes it has been left by then."""
    loop = memory.flow.innermost(memory.homes[value])
    return loop is None or block in loop


def _lies(memory: Unchanged, value: str, end: str, load: Instruction, seen: frozenset[str]) -> bool:
    """Whether a value lies where a load finds it, at the end of a block.

    It was loaded from there or stored there, and nothing has changed it since; or it was so on each way to a phi.
    `seen`: phis that are asked about: what a loop hands on lies there if it does in front of it, and in each iteration.
    """
    made, address = memory.made.get(value), load.operands[0].text
    starts = [made, *(item for _, item in memory.users(value) if item.op == "store")]
    for start in starts:
        if start is None or start.op not in ("load", "store") or not start.is_simple_access:
            continue
        stored = start.op == "load" or start.operands[0].text == value
        kind = start.type if start.op == "load" else start.operands[0].type
        if stored and kind == load.type and start.operands[-1].text == address and _since(memory, start, end, load):
            return True
    if made is None or made.op != "phi" or made.type != load.type or not _since(memory, made, end, load):
        return False
    if value in seen:
        return True
    return all(_lies(memory, other, label, load, seen | {value}) for other, label in sources(made))


def _since(memory: Unchanged, start: Instruction, end: str, load: Instruction) -> bool:
    """Whether nothing changes what a load finds, from an instruction to the end of a block that it always comes to."""
    return memory.is_unchanged(start, memory.flow.blocks[end], load)


def _put(memory: Unchanged, names: dict[str, str]) -> None:
    """Put values in the places of others, and of the phis that have nothing else to choose from then."""
    put = set(names.values())
    while names:
        for block in memory.function.blocks:
            kept = [item for item in block.instructions if item.result not in names]
            block.instructions = [renamed(item, names) if names.keys() & set(item.uses) else item for item in kept]
        names = {}
        for block in memory.function.blocks:
            for phi in block.phis:
                values = {value for value, _ in sources(phi)} - {str(phi.result)}
                value = values.pop() if len(values) == 1 else ""
                if value in put and (value not in memory.homes or _is_seen(memory, value, block.name)):
                    names[str(phi.result)] = value
