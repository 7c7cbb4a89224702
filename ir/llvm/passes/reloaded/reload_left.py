"""What a loop loaded last and leaves to the code behind it is loaded again there.

`for (i = 0; i < mesh.n; i++) y[i] = …;` loads `mesh.n` in each iteration where a store might change it, and what it has
loaded last says whether the next loop is entered at all:

```
%next = load i32, ptr %n                       %next = load i32, ptr %n
br i1 %goes_on, label %loop, label %exit       br i1 %goes_on, label %loop, label %exit
exit:                                      →   exit:
  %left = phi i32 [ %next, %loop ]               %left = load i32, ptr %n
```

Nothing writes memory between the load and the end of the loop, and the place is the same in all iterations: so is the
number. What is seen of it is a load behind the loop, not a number of its last iteration.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.substitute import alignment

from .reload_carried import Made, lasts, with_phis


def reload_left(module: Module) -> Module:
    """Load such numbers behind the loops, in place. O(instructions + exits · blocks between a load and an exit)."""
    for flow, made in with_phis(module):
        _reload(flow, made)
    return module


def _reload(flow: ControlFlow, made: Made) -> None:
    for loop in flow.loops:
        for inside, outside in loop.exits:
            block = flow.blocks[outside]
            if any(item.op == "landingpad" for item in block.instructions):
                continue
            fresh = {phi: line for phi in block.phis if (line := _loaded(flow, loop, made, phi, inside)) is not None}
            if fresh:
                kept = [item for item in block.phis if item not in fresh]
                block.instructions[:] = [*kept, *fresh.values(), *block.instructions[len(block.phis) :]]


def _loaded(flow: ControlFlow, loop: Loop, made: Made, phi: Instruction, inside: str) -> Instruction | None:
    """What takes the place of a phi behind an exit of a loop; None where it is no such number."""
    if phi.labels != (inside,):
        return None
    block, load = made.get(phi.operands[0].text, ("", None))
    if load is None or block not in loop.blocks or load.op != "load" or not load.is_simple_access:
        return None
    pointer = load.operands[0].text
    if made.get(pointer, ("", load))[0] in loop.blocks or not flow.dominates(block, inside):
        return None
    if not lasts(flow, block, load, inside):
        return None
    dbg = {kind: node for kind, node in load.meta.items() if kind == "dbg"}
    return Instruction(f"{phi.result} = load {phi.type}, ptr {pointer}{alignment(load)}", dbg)
