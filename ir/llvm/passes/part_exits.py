"""The end of a loop that is left early or counted out, by one branch, becomes two branches: one for each.

Where both go to the same place, LLVM joins what they ask:

```
  %left = select i1 %early, i1 true, i1 %last               br i1 %early, label %out, label %latch.counts
  br i1 %left, label %out, label %body              →     latch.counts:
                                                            br i1 %last, label %out, label %body
```

Joined, it would not be known how often the loop runs if it is not left early.
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import edit_phis, rename_sources, sources, with_sources

COUNTS = ".counts"
STEPS = ("add", "sub", "getelementptr")


def part_exits(module: Module) -> Module:
    """Part such ends, in place. O(instructions)."""
    for function in module.functions.values():
        if any(_joined(item, by_or=each) for _, item in function.instructions() for each in (True, False)):
            flow = ControlFlow(function)
            for loop in flow.loops:
                _part(flow, loop)
    return module


def _joined(item: Instruction, *, by_or: bool) -> tuple[str, str] | None:
    """The two values that a truth value is true by, if it is where either is (`or`) or both are (`and`); else None."""
    if item.type != "i1":
        return None
    decided = 1 if by_or else 2  # the operand of a `select` that says so without asking the second value
    if item.op == "select" and item.operands[decided].text == ("true" if by_or else "false"):
        return item.operands[0].text, item.operands[3 - decided].text
    if item.op == ("or" if by_or else "and"):
        return item.operands[0].text, item.operands[1].text
    return None


def _part(flow: ControlFlow, loop: Loop) -> None:
    if len(loop.latches) != 1:
        return
    latch = flow.blocks[loop.latches[0]]
    end, function = latch.terminator, flow.function
    if end.op != "br" or sorted(label == loop.header for label in end.labels) != [False, True]:
        return
    leaves = end.labels[1] == loop.header  # where what is asked is true
    out = end.labels[0] if leaves else end.labels[1]
    made = next((item for item in latch.instructions if item.result == end.operands[0].text), None)
    asked = None if made is None else _joined(made, by_or=leaves)
    if asked is None or not all(text.startswith("%") for text in asked) or '"' in latch.name:
        return
    counts = [text for text in asked if _counts(flow, loop, latch, text)]
    if len(counts) != 1 or made is None or _is_used(function, made, end):
        return
    second, first = counts[0], asked[asked[0] == counts[0]]
    name = f"{latch.name}{COUNTS}"
    early = f"label %{out}, label %{name}" if leaves else f"label %{name}, label %{out}"
    latch.instructions[-1] = Instruction(f"br i1 {first}, {early}", dict(end.meta))
    latch.instructions.remove(made)
    last = f"label %{out}, label %{loop.header}" if leaves else f"label %{loop.header}, label %{out}"
    place = function.blocks.index(latch)
    function.blocks.insert(place + 1, Block(name, [Instruction(f"br i1 {second}, {last}", dict(end.meta))]))
    rename_sources(function, [loop.header], latch.name, [name])
    rename_sources(function, [out], latch.name, [latch.name, name])
    known = {(first, name): "false" if leaves else "true", (first, latch.name): "true" if leaves else "false"}
    edit_phis(
        flow.blocks[out],
        lambda phi: with_sources(phi, [(known.get(source, source[0]), source[1]) for source in sources(phi)]),
    )


def _counts(flow: ControlFlow, loop: Loop, latch: Block, text: str) -> bool:
    """Whether a test compares a number that the loop counts with one from outside: `++i == n`."""
    made = {str(item.result): item for item in latch.instructions if item.result}
    handed_on = {str(phi.result) for phi in flow.blocks[loop.header].phis}
    test = made.get(text)
    if test is None or test.op != "icmp":
        return False
    return any(use in handed_on or (use in made and made[use].op in STEPS) for use in test.uses)


def _is_used(function: Function, made: Instruction, end: Instruction) -> bool:
    return any(made.result in item.uses and item is not end and item is not made for _, item in function.instructions())
