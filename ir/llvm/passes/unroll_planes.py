"""Short loops over planes become straight code: those that step by a number that is not known before the program runs.

```
for (k = 0; k < 4; k++)                     sum += w * u[near[i]];
    sum += w * u[near[i + k * n]];     →    sum += w * u[near[i + n]];
                                            …
```

What an iteration of a loop around reaches in one plane is then an access of its own, with records of its own. A
compiler would unroll these in the end; it was asked to leave loops whole, for these are looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping

from tracecut.ir.llvm import Block, Function, Instruction, Module, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import edit_phis, renamed, sources, with_sources

MOST_ROUNDS = 8
MOST_COPIED = 600  # instructions of all iterations
_COMPUTES = frozenset("add sub mul shl lshr ashr udiv sdiv and or sext zext trunc".split())
_COMPARED = {  # numbers that are not negative
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "ult": operator.lt,
    "sgt": operator.gt,
    "ugt": operator.gt,
}


def unroll_planes(module: Module) -> Module:
    """Unroll such loops, in place. O(instructions)."""
    for function in module.functions.values():
        if any(item.op == "phi" for _, item in function.instructions()):
            _unroll_all(function)
    return module


def _unroll_all(function: Function) -> None:
    flow = ControlFlow(function)
    for number, loop in enumerate(flow.loops):
        rounds = 0 if loop.children or loop.parent is None else _rounds(flow, loop)
        size = sum(len(flow.blocks[name].instructions) for name in loop.blocks)
        if rounds and rounds * size <= MOST_COPIED and _over_planes(flow, loop) and _known_at_the_end(flow, loop):
            _unroll(flow, loop, rounds, f"tracecut.plane{number}")


def _rounds(flow: ControlFlow, loop: Loop) -> int:
    """How often a loop runs in each entry; 0 where that is not known, or often."""
    if len(loop.latches) != 1 or loop.preheader is None or [name for name, _ in loop.exits] != [*loop.latches]:
        return 0
    end = flow.blocks[loop.latches[0]].terminator
    made = _made(flow, loop)
    test = made.get(end.operands[0].text) if end.op == "br" and end.operands else None
    if test is None or test.op != "icmp" or test.word not in _COMPARED:
        return 0
    for phi in flow.blocks[loop.header].phis:
        values = {label: value for value, label in sources(phi)}
        following, start = values[loop.latches[0]], values[loop.preheader]
        step = made.get(following)
        if step is None or step.op != "add" or step.operands[0].text != phi.result:
            continue
        sides = [one.text for one in test.operands]
        numbers = [start, step.operands[1].text, sides[1]]
        if sides[0] not in (phi.result, following) or not all(map(str.isdigit, numbers)):
            continue
        first, pace, bound = map(int, numbers)
        most = 1 << ((int_bits(phi.type) or 1) - 1)
        return _simulated(first, pace, bound, most, test.word, sides[0] == following, end.labels[0] == loop.header)
    return 0


def _simulated(start: int, step: int, bound: int, most: int, word: str, following: bool, where: bool) -> int:
    """How often a loop runs, 0 if that is often, or its counter grows to `most`, from which on it may be negative.

    `following`: the number of the next iteration is asked; `where`: for this it goes on.
    """
    for done in range(1, MOST_ROUNDS + 1):
        asked = start + step * (done - 1 + following)
        if max(start + step * done, bound) >= most:
            return 0
        if _COMPARED[word](asked, bound) != where:
            return done
    return 0


def _made(flow: ControlFlow, loop: Loop) -> dict[str, Instruction]:
    items = (item for name in loop.blocks for item in flow.blocks[name].instructions)
    return {str(item.result): item for item in items if item.result}


def _over_planes(flow: ControlFlow, loop: Loop) -> bool:
    """Whether it reaches memory in steps of a number that is made outside of it."""
    made = _made(flow, loop)
    counters: set[str] = set()
    steps = False
    for phi in flow.blocks[loop.header].phis:
        if int_bits(phi.type) is None:
            continue
        counters.add(str(phi.result))
        end = next((made.get(value) for value, label in sources(phi) if label == loop.latches[0]), None)
        if end is not None and end.op == "add" and phi.result in end.uses:
            steps |= any(_varies(value, made) for value in end.uses)
    for name in (name for name in flow.order if name in loop):
        for item in flow.blocks[name].instructions:
            if item.op in _COMPUTES and counters & set(item.uses):
                counters.add(str(item.result))
                steps |= item.op == "mul" and any(_varies(one.text, made) for one in item.operands)
    return steps and any(
        item.op in ("load", "store") for name in loop.blocks for item in flow.blocks[name].instructions
    )


def _varies(value: str, made: Mapping[str, Instruction]) -> bool:
    """Whether it is a value of outside of the loop, and no number."""
    return value.startswith("%") and value not in made


def _known_at_the_end(flow: ControlFlow, loop: Loop) -> bool:
    """Whether what the loop makes is used behind it in phis of the block that it leaves to, alone."""
    made, behind = _made(flow, loop), loop.exits[0][1]
    for name, block in flow.blocks.items():
        for item in block.instructions if name not in loop else ():
            used = any(value in made for value in item.uses)
            if used and not (name == behind and item.op == "phi"):
                return False
    names = (*made, *loop.blocks)
    return not any('"' in name for name in names) and flow.predecessors[behind] == [loop.latches[0]]


def _unroll(flow: ControlFlow, loop: Loop, rounds: int, prefix: str) -> None:
    blocks, function = flow.blocks, flow.function
    inside = [name for name in flow.order if name in loop]
    latch, behind = loop.latches[0], loop.exits[0][1]
    phis = blocks[loop.header].phis
    arms = {str(phi.result): {label: value for value, label in sources(phi)} for phi in phis}
    made = [str(item.result) for name in inside for item in blocks[name].instructions if item.result]
    whole = {name: list(blocks[name].instructions) for name in inside}

    names: dict[str, str] = {}  # what the values of the loop are in the last iteration
    added: list[Block] = []
    for done in range(rounds):
        own = f"{prefix}.{done}."
        last = {name: names.get(arm[latch], arm[latch]) for name, arm in arms.items()}
        fresh = {name: f"%{own}{name[1:]}" for name in made} | {f"%{name}": f"%{own}{name}" for name in inside}
        names = fresh | (last if done else {name: arm[str(loop.preheader)] for name, arm in arms.items()})
        for name in inside:
            lines = [renamed(item, names) for item in whole[name] if item not in phis]
            if name == latch:
                following = f"{prefix}.{done + 1}.{loop.header}" if done + 1 < rounds else behind
                meta = {key: value for key, value in whole[name][-1].meta.items() if key == "dbg"}
                lines[-1] = Instruction(f"br label %{following}", meta)
            added.append(Block(own + name, lines))
    start = blocks[str(loop.preheader)]
    start.instructions[-1] = renamed(start.terminator, {f"%{loop.header}": f"%{prefix}.0.{loop.header}"})
    edit_phis(
        blocks[behind],
        lambda phi: with_sources(
            phi,
            [
                (names.get(value, value), f"{own}{latch}") if label == latch else (value, label)
                for value, label in sources(phi)
            ],
        ),
    )
    where = min(function.blocks.index(blocks[name]) for name in inside)
    function.blocks[:] = [block for block in function.blocks if block.name not in loop]
    function.blocks[where:where] = added
