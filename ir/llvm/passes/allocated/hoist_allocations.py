"""Memory that each iteration of a loop allocates and frees is allocated once, in front of the loop.

```
                                          %p = call ptr @malloc(i64 %size)
loop:                                     loop:
  %p = call ptr @_Znwm(i64 %size)     →     …
  …                                         …
  call void @_ZdlPv(ptr %p)
exits:                                    exits: call void @free(ptr %p)
```

Temporaries of a time step, as `std::vector` and `calloc` make them, then are arrays like all others. What is asked: the
size is the same in all iterations, each iteration that goes on has freed the memory, and nobody keeps its address.
Where `new` throws for want of memory, no handler of the same function is asked; what C is told by null it is still told
so.
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import at_start, before_end, drop_unreached, edit_phis, rename_sources, sources, with_sources

from ..known_sizes import computed_before
from .allocation_states import Edge, exit_states
from .allocation_uses import (
    CXX,
    Use,
    allocates,
    calls_any,
    declare,
    out_of_memory,
    replaces_allocators,
    size_of,
    throwing_functions,
    users_in,
    uses_of,
)


def hoist_allocations(module: Module) -> Module:
    """Hoist them, in place, out of as many loops as possible. O(allocations × instructions of a function)."""
    own = module.functions
    if replaces_allocators(module):
        return module
    hoisted = 0
    throwing = throwing_functions(module)
    for function in own.values():
        calls = [item for _, item in function.instructions() if allocates(item)]
        while calls:
            call = calls.pop()
            found = _hoist(function, call, hoisted, throwing if function.name in throwing else set())
            if found is not None:
                calls.append(found)
                hoisted += 1
    if hoisted:
        declare(module)
    return module


def _hoist(function: Function, call: Instruction, number: int, throwing: set[str]) -> Instruction | None:
    """Hoist one allocation out of the loop around it; the call in front, None when that may not be.

    `throwing`: functions whose exceptions would pass by what frees the memory behind the loop.
    """
    flow = ControlFlow(function)
    home = next(block for block in function.blocks if call in block.instructions)
    loop = max((loop for loop in flow.loops if home.name in loop), key=lambda loop: loop.depth, default=None)
    if loop is None or loop.preheader is None:
        return None
    if calls_any(flow, loop, throwing):
        return None
    chain = computed_before(flow, loop, [operand.text for operand in call.operands])
    if chain is None:
        return None
    use = uses_of(users_in(function), loop, str(call.result))
    if use is None:
        return None
    freed = {name for name in use.frees if name in loop}
    states = exit_states(flow, loop, home, call, use.names, freed)
    if states is None:
        return None
    for block in function.blocks if chain else ():
        block.instructions = [item for item in block.instructions if item not in chain]
    return _apply(function, flow, loop, home, call, chain, use, states, number)


def _apply(
    function: Function,
    flow: ControlFlow,
    loop: Loop,
    home: Block,
    call: Instruction,
    chain: list[Instruction],
    use: Use,
    states: dict[Edge, bool | str],
    number: int,
) -> Instruction:
    """Allocate in front of the loop, and free on each way out of it on which the memory was free, or not there yet.

    `chain`: what computes the size, taken out of the loop.
    """
    name = str(call.result)
    meta = {kind: node for kind, node in call.meta.items() if kind == "dbg"}

    def lines(*texts: str) -> list[Instruction]:
        return [Instruction(text, dict(meta)) for text in texts]

    sized, size = size_of(call, str(number))
    full, held, got = f"tracecut.full.{number}", f"tracecut.held.{number}", f"%tracecut.got.{number}"
    throws = call.word in CXX  # where C has null, and the program looks at it or not
    place = home.instructions.index(call)
    after = home.instructions[place + 1 :]
    del home.instructions[place:]
    if call.op == "invoke":
        after = lines(f"br label %{call.labels[0]}")
        for label in call.labels[1:]:
            edit_phis(flow.blocks[label], lambda phi: with_sources(phi, [s for s in sources(phi) if s[1] != home.name]))
    if call.word == "@calloc":
        cleared = f"%tracecut.cleared.{number}"
        home.instructions += lines(
            f"{cleared} = select i1 {got}, i64 {size}, i64 0",
            f"call void @llvm.memset.p0.i64(ptr {name}, i8 0, i64 {cleared}, i1 false)",
        )
    home.instructions += after
    for block in function.blocks:
        freed = use.frees.get(block.name)
        if freed is not None:
            at = block.instructions.index(freed)
            block.instructions[at : at + 1] = (
                [] if block.name in loop else lines(f"call void @free(ptr {freed.operands[0].text})")
            )
    failed = {(home.name, label) for label in call.labels[1:]}
    exits = [edge for edge, there in states.items() if there is not True and edge not in failed]
    for k, outside in enumerate(dict.fromkeys(after for _, after in exits)):
        block, rest = flow.blocks[outside], f"%tracecut.rest.{number}.{k}"
        come = []
        for place, inner in enumerate(flow.predecessors[outside]):
            there, freed_here = states.get((inner, outside), True), f"{rest}.{place}"
            if isinstance(there, str):  # not there where that is null
                test = f"{freed_here}.none = icmp eq ptr {there}, null"
                before_end(
                    flow.blocks[inner], lines(test, f"{freed_here} = select i1 {test.split()[0]}, ptr {name}, ptr null")
                )
            if (inner, outside) not in failed:
                value = freed_here if isinstance(there, str) else "null" if there else name
                come.append(f"[ {value}, %{inner} ]")
        at_start(block, lines(f"call void @free(ptr {rest})"))
        block.instructions[:0] = lines(f"{rest} = phi ptr {', '.join(come)}")
    made = Instruction(f"{name} = call noalias ptr @malloc(i64 {size})", dict(meta))
    assert loop.preheader is not None
    tested = lines(f"{got} = icmp ne ptr {name}, null") if throws or call.word == "@calloc" else []
    before_end(flow.blocks[loop.preheader], [*chain, *lines(*sized), made, *tested])
    if throws:
        place = len(home.instructions) - len(after)
        rename_sources(function, home.terminator.labels, home.name, [held])
        home.instructions[place:] = lines(f"br i1 {got}, label %{held}, label %{full}")
        where = function.blocks.index(home) + 1
        stopped = Block(full, lines(*out_of_memory(call)))
        function.blocks[where:where] = [Block(held, after), stopped]
    drop_unreached(function)
    return made
