"""Memory that each iteration of a loop allocates and frees, of a size that may change, is kept from one to the next.

```
                                   loop:
                                     if (size > room) {             rarely: in the first iteration, say
loop:                                  free(kept); kept = malloc(size); room = size;
  %p = call ptr @malloc(i64 %size)   }
  …                            →     %p = kept
  call void @free(ptr %p)            …
                                   exits: free(kept); kept = null; room = 0;   where it is not in use
```

`kept` and `room` lie on the stack, so each call of the function, on each thread, has its own; where functions call
themselves, all of them would keep theirs, and nothing is done. What is asked: each iteration that goes on has freed the
memory. Memory of no bytes has an address, as in glibc. Where `new` throws for want of memory, no handler of the same
function is asked; what C is told by null it is still told so.
"""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import at_start, drop_unreached, edit_phis, rename_sources, renamed, sources, with_sources

from .allocation_states import Edge, exit_states, gives_up
from .allocation_uses import (
    CXX,
    Users,
    allocates,
    calls_any,
    declare,
    out_of_memory,
    recursive_functions,
    replaces_allocators,
    returns_twice,
    size_of,
    throwing_functions,
    users_in,
    uses_of,
)

_DEPTH = 16  # values that an index is computed of


def keep_allocations(module: Module) -> Module:
    """Keep the memory of loops around other loops, in place. O(allocations × instructions of a function)."""
    own = module.functions
    if replaces_allocators(module) or returns_twice(module):
        return module
    kept = 0
    throwing, recursive = throwing_functions(module), recursive_functions(module)
    for function in own.values():
        seen: tuple[ControlFlow, Users] | None = None  # as long as nothing is changed
        calls = [item for _, item in function.instructions() if allocates(item)]
        for call in calls if function.name not in recursive else ():
            seen = seen or (ControlFlow(function), users_in(function))
            if _keep(*seen, call, kept, throwing if function.name in throwing else set()):
                seen, kept = None, kept + 1
    if kept:
        declare(module)
    return module


def _keep(flow: ControlFlow, users: Users, call: Instruction, number: int, throwing: set[str]) -> bool:
    """Keep the memory of one allocation; whether that may be.

    `throwing`: functions whose exceptions would pass by what frees the memory behind the loop.
    """
    function = flow.function
    home = next(block for block in function.blocks if call in block.instructions)
    loop = flow.innermost(home.name)
    if loop is None or not loop.children or calls_any(flow, loop, throwing):
        return False
    use = uses_of(users, loop, str(call.result), shown=True)
    if use is None or _may_as_well_stay(flow, loop, users, call):
        return False
    states = exit_states(flow, loop, home, call, use.names, {name for name in use.frees if name in loop})
    if states is None:
        return False
    ways = {edge: there for edge, there in states.items() if edge not in {(home.name, at) for at in call.labels[1:]}}
    landed = _landed(flow, ways)
    going_on = [edge for edge in ways if not gives_up(flow, loop, edge[1])]
    if any(landed.get(outside, False) is None for _, outside in going_on):
        return False
    for name, freed in use.frees.items():
        if name in loop:
            flow.blocks[name].instructions.remove(freed)
    call = _throwing_nothing(flow, home, call)
    kept, room = f"%tracecut.kept.{number}", f"%tracecut.room.{number}"
    empty = [f"store ptr null, ptr {kept}, align 8", f"store i64 0, ptr {room}, align 8"]

    def given_back(place: int, there: bool | str) -> list[Instruction]:
        last = f"%tracecut.last.{number}.{place}"
        lines = [f"{last} = load ptr, ptr {kept}, align 8", f"call void @free(ptr {last})"]
        if isinstance(there, str):  # the program has it where that is not null
            none = [
                f"{last}.none = icmp eq ptr {there}, null",
                f"{last}.rest = select i1 {last}.none, ptr {last}, ptr null",
            ]
            lines[1:] = [*none, f"call void @free(ptr {last}.rest)"]
        return _lines(call, *([] if there is True else lines), *empty)

    for place, edge in enumerate(going_on):
        if edge[1] not in landed:
            _on_the_way(function, edge, f"tracecut.way.{number}.{place}", given_back(place, ways[edge]))
    for place, (name, there) in enumerate(landed.items(), len(going_on)):
        if there is not None:
            at_start(flow.blocks[name], given_back(place, there))
    _allocate(function, home, call, number)
    drop_unreached(function)
    slots = [f"{kept} = alloca ptr, align 8", f"{room} = alloca i64, align 8"]
    function.entry.instructions[:0] = _lines(call, *slots, *empty)
    return True


def _may_as_well_stay(flow: ControlFlow, loop: Loop, users: Users, call: Instruction) -> bool:
    """Whether memory is only walked, and is allocated in a loop beside others that gather.

    What these reach may move while it is allocated as before, which it may not where a loop beside them makes room
    (`tracer/loops/exits.py`).
    """
    made = {str(item.result): item for block in flow.blocks.values() for item in block.instructions}
    parent = loop.parent
    if call.word in CXX or parent is None or any(_gathers(made, item) for _, item in users(str(call.result))):
        return False
    blocks = set[str]().union(*(child.blocks for child in parent.children if child is not loop))
    return any(_gathers(made, item) for name in blocks for item in flow.blocks[name].instructions)


def _gathers(made: Mapping[str, Instruction], item: Instruction) -> bool:
    """Whether an address is computed with a number that is loaded."""
    stack = [operand.text for operand in item.operands[1:]] if item.op == "getelementptr" else []
    for _ in range(_DEPTH):
        found = made.get(stack.pop()) if stack else None
        if found is not None and found.op == "load":
            return True
        if found is not None and found.op in ("sext", "zext", "add", "sub", "mul", "shl", "or"):
            stack += [operand.text for operand in found.operands]
    return False


def _landed(flow: ControlFlow, ways: Mapping[Edge, bool | str]) -> dict[str, bool | str | None]:
    """Blocks that exceptions come to from a loop → whether the memory is there, None where that depends on the way."""
    found: dict[str, set[bool | str | None]] = {}
    for _, outside in ways:
        if any(item.op == "landingpad" for item in flow.blocks[outside].instructions):
            found[outside] = {ways.get((before, outside)) for before in flow.predecessors[outside]}
    return {name: there.pop() if len(there) == 1 else None for name, there in found.items()}


def _throwing_nothing(flow: ControlFlow, home: Block, call: Instruction) -> Instruction:
    """The allocation, which is no longer at the end of its block if it could throw there."""
    if call.op == "call":
        return call
    plain = Instruction(f"{call.result} = call ptr {call.word}(i64 {call.operands[0].text})", dict(call.meta))
    home.instructions[-1:] = [plain, Instruction(f"br label %{call.labels[0]}", dict(call.meta))]
    for label in call.labels[1:]:
        edit_phis(flow.blocks[label], lambda phi: with_sources(phi, [s for s in sources(phi) if s[1] != home.name]))
    return plain


def _on_the_way(function: Function, edge: Edge, name: str, lines: list[Instruction]) -> None:
    """Put instructions between two blocks, in a block of their own."""
    blocks = function.by_name()
    start, end = (blocks[block] for block in edge)
    jump = start.instructions[-1]
    start.instructions[-1] = renamed(jump, {f"%{end.name}": f"%{name}"})
    rename_sources(function, [end.name], start.name, [name])
    between = Block(name, [*lines, Instruction(f"br label %{end.name}", dict(lines[0].meta))])
    function.blocks.insert(function.blocks.index(start) + 1, between)


def _allocate(function: Function, home: Block, call: Instruction, number: int) -> None:
    """In the place of an allocation: more memory if what is there is too small."""
    kept, room = f"%tracecut.kept.{number}", f"%tracecut.room.{number}"
    grow, there, held, full = (f"tracecut.kept.{number}.{word}" for word in ("grow", "there", "held", "full"))
    sized, size = size_of(call, f"kept.{number}")
    want, has, old, new, made, got, cleared = (
        f"%tracecut.kept.{number}.{word}" for word in ("want", "has", "old", "new", "made", "got", "cleared")
    )
    place = home.instructions.index(call)
    after = home.instructions[place + 1 :]
    home.instructions[place:] = _lines(
        call,
        *sized,
        f"{want} = call i64 @llvm.umax.i64(i64 {size}, i64 1)",
        f"{has} = load i64, ptr {room}, align 8",
        f"{made}.more = icmp ugt i64 {want}, {has}",
        f"br i1 {made}.more, label %{grow}, label %{there}",
    )
    grown = _lines(
        call,
        f"{old} = load ptr, ptr {kept}, align 8",
        f"call void @free(ptr {old})",
        f"{new} = call noalias ptr @malloc(i64 {want})",
        f"{made} = icmp ne ptr {new}, null",
        f"{made}.room = select i1 {made}, i64 {want}, i64 0",
        f"store ptr {new}, ptr {kept}, align 8",
        f"store i64 {made}.room, ptr {room}, align 8",
        f"br label %{there}",
    )
    taken = _lines(call, f"{call.result} = load ptr, ptr {kept}, align 8")
    throws = call.word in CXX
    if throws or call.word == "@calloc":
        taken += _lines(call, f"{got} = icmp ne ptr {call.result}, null")
    if call.word == "@calloc":
        taken += _lines(
            call,
            f"{cleared} = select i1 {got}, i64 {size}, i64 0",
            f"call void @llvm.memset.p0.i64(ptr {call.result}, i8 0, i64 {cleared}, i1 false)",
        )
    rest = [Block(there, [*taken, *after])]
    if throws:  # where C has null, and the program looks at it or not
        stopped = Block(full, _lines(call, *out_of_memory(call)))
        taken += _lines(call, f"br i1 {got}, label %{held}, label %{full}")
        rest = [Block(there, taken), Block(held, after), stopped]
    rename_sources(function, after[-1].labels, home.name, [held if throws else there])
    where = function.blocks.index(home) + 1
    function.blocks[where:where] = [Block(grow, grown), *rest]


def _lines(call: Instruction, *texts: str) -> list[Instruction]:
    """Instructions at the source line of an allocation."""
    return [Instruction(text, {kind: node for kind, node in call.meta.items() if kind == "dbg"}) for text in texts]
