"""The first iteration of a loop around loops stands in front of it, where it makes memory that then changes places.

```
for (step = 0; step < n; step++) {                 if (0 < n) {
    if (step == 0)                                     the first iteration, as it was
        next = malloc(…);                              for (step = 1; step < n; step++) {
    sweep(x, next);                        →               … the same, with the `next` that there is now
    swap(&x, &next);                                   }
}                                                  }
```

Before, one of the two was null where the loop begins; a layout of what they lead to could not be in force from there.
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import edit_phis, renamed, sources, with_sources

from ..allocated.allocation_uses import returns_twice
from ..allocated.hold_carried import CALLS, NOTHING, Made, carried_pointer
from ..leave_loops import COPIED
from .copied_loop import CopiedLoop, can_be_copied
from .side_by_side import at_place_of

FIRST = f"{COPIED}.first"  # how the names of blocks begin that are of a first iteration
MOST = 2  # loops of a function


def part_first_steps(module: Module) -> set[str]:
    """Put such iterations in front of their loops, in place; the functions in which that was done.

    Values of a loop are used outside of it in phis of its exits alone (LLVM's `lcssa`). O(instructions).
    """
    if returns_twice(module):
        return set()
    return {name for name, function in module.functions.items() if _part_all(function)}


def may_part_first_steps(module: Module) -> bool:
    """Whether there may be such iterations. O(instructions)."""
    return any(_starts_without(block) for function in module.functions.values() for block in function.blocks)


def _part_all(function: Function) -> bool:
    if not any(map(_starts_without, function.blocks)):
        return False
    for number in range(MOST):
        flow = ControlFlow(function)
        found = next((loop for loop in flow.loops if _begins_apart(flow, loop)), None)
        if found is None:
            return number > 0
        _part(flow, found, f"{FIRST}{number}")
    return True


def _starts_without(header: Block) -> bool:
    return any(phi.type == "ptr" and any(value in NOTHING for value, _ in sources(phi)) for phi in header.phis)


def _begins_apart(flow: ControlFlow, loop: Loop) -> bool:
    """Whether a loop around loops has no memory when it begins, and one of its iterations makes what others hand on.

    Where it is always the same pointer that is made, that lies on the stack instead (`hold_carried.py`).
    """
    header = flow.blocks[loop.header]
    if not loop.children or len(loop.latches) != 1 or loop.preheader is None or not _starts_without(header):
        return False
    if any(name.startswith(FIRST) for name in (loop.preheader, loop.header)) or not can_be_copied(flow, loop):
        return False
    made = {str(item.result): (name, item) for name in loop.blocks for item in flow.blocks[name].instructions}
    for phi in header.phis:
        values = {label: value for value, label in sources(phi)}
        if phi.type == "ptr" and values[loop.preheader] in NOTHING:
            ends = _ends(made, loop, values[loop.latches[0]])
            seldom = any(_made_seldom(flow, loop, made, end) for end in ends)
            if seldom and carried_pointer(flow, made, loop, phi) is None:
                return True
    return False


def _ends(made: Made, loop: Loop, value: str) -> set[str]:
    """What a value may be, behind the phis of a loop; with what pointers were that change places with it."""
    found, seen, stack = set[str](), set[str](), [value]
    while stack:
        one = stack.pop()
        _, item = made.get(one, ("", None))
        if item is None or item.op != "phi":
            found.add(one)
        elif one not in seen:
            seen.add(one)
            stack += [text for text, label in sources(item) if label in loop]
    return found


def _made_seldom(flow: ControlFlow, loop: Loop, made: Made, value: str) -> bool:
    """Whether a pointer is one that something is called for where not every iteration comes to."""
    name, item = made.get(value, ("", None))
    while item is not None and item.op == "getelementptr":
        name, item = made.get(item.operands[0].text, ("", None))
    return item is not None and item.op in CALLS and not flow.dominates(name, loop.latches[0])


def _part(flow: ControlFlow, loop: Loop, prefix: str) -> None:
    function, start, header = flow.function, flow.blocks[str(loop.preheader)], flow.blocks[loop.header]
    again, line = f"{prefix}.again", at_place_of(header)
    copy = CopiedLoop(flow, loop, prefix)
    first = copy.put(lambda place, edge: f"{prefix}.{place}.behind")
    blocks = {block.name: block for block in first}
    own_header, own_latch = (blocks[copy.names[f"%{name}"][1:]] for name in (loop.header, *loop.latches))
    edit_phis(own_header, lambda phi: with_sources(phi, [one for one in sources(phi) if one[1] == prefix]))
    own_latch.instructions[-1] = renamed(own_latch.terminator, {f"%{own_header.name}": f"%{again}"})
    for place, phi in enumerate(header.phis):
        values = {label: value for value, label in sources(phi)}
        back = values[loop.latches[0]]
        arms = [(copy.names.get(back, back), again), (back, loop.latches[0])]
        header.instructions[place] = Instruction(with_sources(phi, arms), dict(phi.meta))
    start.instructions[-1] = renamed(start.terminator, {f"%{loop.header}": f"%{prefix}"})
    place = function.blocks.index(header)
    function.blocks[place:place] = [*first, Block(again, [line(f"br label %{loop.header}")])]
