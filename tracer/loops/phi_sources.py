"""Which way each value of a phi comes: once in front of a loop, again from its latch, or on one side of a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.def_use import FunctionView

LEFT_BEHIND = "a value that a loop leaves behind"
LEFT_OUT = "made where the layout is not in force"


def incoming(phi: Instruction, loop: Loop) -> tuple[Operand, Operand] | None:
    """(value on entry, value from the latch) of a header phi; None when there are several of either."""
    arms = zip(phi.operands, phi.labels, strict=True)
    sides: dict[bool, set[Operand]] = {False: set(), True: set()}
    for operand, label in arms:
        sides[label in loop.blocks].add(operand)
    if len(sides[False]) != 1 or len(sides[True]) != 1:
        return None
    return sides[False].pop(), sides[True].pop()


def entry_and_latch(phi: Instruction, loop: Loop) -> tuple[str, str]:
    """(value on entry, value from the latch) of a header phi of a loop with a preheader and one latch."""
    sides = incoming(phi, loop)
    assert sides is not None, phi.text
    return sides[0].text, sides[1].text


def runs_twice(view: FunctionView, loop: Loop) -> bool:
    """Whether a loop ends after two iterations, if it is not left before."""
    if len(loop.latches) != 1 or all(inside != loop.latches[0] for inside, _ in loop.exits):
        return False
    end = view.flow.blocks[loop.latches[0]].terminator
    found = view.definitions.get(end.operands[0].text) if end.op == "br" and end.operands else None
    if found is None or found.instruction.op != "phi" or found.block != loop.header:
        return False
    values = incoming(found.instruction, loop)
    words = ("true", "false") if end.labels[0] in loop.blocks else ("false", "true")
    return values is not None and (values[0].text, values[1].text) == words


def decided_by(flow: ControlFlow, phi: Instruction, block: str) -> tuple[Operand, int] | None:
    """(condition, place of the phi's value if it is true) of a phi of two values that one branch decides on."""
    above = flow.idom[block]
    end = flow.blocks[above].terminator
    if len(phi.operands) != 2 or end.op != "br" or len(end.labels) != 2:
        return None
    sides = [
        {place for place, target in enumerate(end.labels) if _comes_through(flow, above, target, label, block)}
        for label in phi.labels
    ]
    if sides[0] | sides[1] != {0, 1} or sides[0] & sides[1]:
        return None
    return end.operands[0], 0 if 0 in sides[0] else 1


def _comes_through(flow: ControlFlow, above: str, target: str, label: str, block: str) -> bool:
    """Whether `block` is entered through its predecessor `label` exactly after the edge above → target.

    Not so where another way leads into the target: of `if (a || b)` the second test does.
    """
    if target == block:
        return label == above
    others = (pred for pred in flow.predecessors[target] if pred != above)
    return flow.dominates(target, label) and all(flow.dominates(target, other) for other in others)


def permuted(
    view: FunctionView,
    made: Instruction,
    invariant: Callable[[str], bool],
    arms: Callable[[Instruction], Iterable[Operand]],
) -> list[Operand]:
    """Loop-invariant values that a web of phis and selects permutes (two buffers that swap); none if there is more.

    `arms`: the values that a phi may have. O(values of the web).
    """
    leaves: dict[Operand, None] = {}
    seen: set[str] = set()
    stack = [made]
    while stack:
        current = stack.pop()
        if current.result in seen:
            continue
        seen.add(str(current.result))
        for operand in current.operands[1:] if current.op == "select" else arms(current):
            found = view.definitions.get(operand.text)
            if invariant(operand.text):
                leaves[operand] = None
            elif found is not None and found.instruction.op in ("phi", "select"):
                stack.append(found.instruction)
            else:
                return []
    return list(leaves)


def pointer_sources(view: FunctionView, pointers: Iterable[Operand], ends: Callable[[str], bool]) -> Iterator[Operand]:
    """What pointers are made from by sums and merges alone, each once. `ends`: where else the walk ends.

    O(values on the way).
    """
    seen: set[str] = set()
    stack = list(pointers)
    while stack:
        operand = stack.pop()
        if operand.text in seen:
            continue
        seen.add(operand.text)
        found = None if ends(operand.text) else view.definitions.get(operand.text)
        made = None if found is None else found.instruction
        if made is not None and made.op in ("phi", "freeze"):
            stack.extend(made.operands)
        elif made is not None and made.op == "select":
            stack.extend(made.operands[1:])
        elif made is not None and made.op == "getelementptr" and made.type == "ptr":
            stack.append(made.operands[0])
        else:
            yield operand


def walked_base(view: FunctionView, phi: Instruction, invariant: Callable[[str], bool]) -> Operand | None:
    """The one pointer from outside of a loop that a pointer inside is made from by sums and merges alone.

    None when there are several, or when some value on the way is loaded, computed or null. O(values on the way).
    """
    bases: set[Operand] = set()
    for source in pointer_sources(view, phi.operands, invariant):
        if not invariant(source.text):
            return None
        bases.add(source)
    base = bases.pop() if len(bases) == 1 else None
    return base if base is not None and base.text.startswith(("%", "@")) else None
