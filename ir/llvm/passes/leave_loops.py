"""Innermost loops are left at some of their blocks, never to come back: a copy of the loop goes on in their place.

```
loop: … block → (rest of the iteration: a copy of what comes behind `block`) → (copy of the whole loop) → exits
```

What is done at `block` is then no part of the loop, and need not be understood to reorder it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import at_start, drop_unreached, edit_phis, sources, with_sources
from tracecut.ir.llvm.lexer import LOCAL

from .promote_calls import through_pointer

COPIED = "tracecut.copy"  # how the names of copied blocks begin
_SCALAR = re.compile(r"ptr|i8|i16|i32|i64|float|double")
MOST_COPIED = 2_000  # instructions of a loop, all of its copies together


@dataclass(frozen=True)
class _Copy:
    """Blocks to copy, and the new names of them and of their values."""

    blocks: frozenset[str]
    names: dict[str, str]

    def of(self, text: str) -> str:
        return LOCAL.sub(lambda found: self.names.get(found.group(), found.group()), text)

    def label(self, name: str) -> str:
        return self.names["%" + name][1:]

    def of_sources(self, found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """What comes from copied blocks, of (value, block) of a phi."""
        return [(self.of(value), self.label(at)) for value, at in found if at in self.blocks]


def leave_loops(module: Module) -> set[str]:
    """Leave innermost loops where they call through a pointer, in place; the functions in which that was done.

    Calls that each iteration makes stay where they are, and loops that are too large. Values of a loop are used outside
    of it in phis of its exits alone (LLVM's `lcssa`). O(instructions).
    """
    changed = set()
    for function in module.functions.values():
        calling = [block.name for block, item in function.instructions() if through_pointer(item)]
        if calling and _leave_all(function, set(calling)):
            changed.add(function.name)
    return changed


def _leave_all(function: Function, calling: set[str]) -> bool:
    flow = ControlFlow(function)
    done = 0
    for loop in [loop for loop in flow.loops if not loop.children]:
        inside = [name for name in flow.blocks if name in loop]
        left = [name for name in inside if name in calling and not _always(flow, loop, name)]
        size = sum(len(flow.blocks[name].instructions) for name in inside)
        assembly = any(item.word == "asm" for name in inside for item in flow.blocks[name].instructions)
        if left and not assembly and size * (1 + len(left)) <= MOST_COPIED:
            _leave(flow, loop, inside, left, f"{COPIED}.{done}")
            done += 1
    if done:
        drop_unreached(function)
    return done > 0


def _always(flow: ControlFlow, loop: Loop, name: str) -> bool:
    return any(flow.dominates(name, latch) for latch in loop.latches)


def _leave(flow: ControlFlow, loop: Loop, inside: Sequence[str], left: list[str], prefix: str) -> None:
    function = flow.function
    rests = [_copy(flow, flow.behind(loop, name), f"{prefix}.{k}") for k, name in enumerate(left)]
    again = any(latch in rest.blocks for rest in rests for latch in loop.latches)
    whole = _copy(flow, frozenset(inside), f"{prefix}.all")
    copies = [*rests, whole] if again else rests
    entered: list[list[Instruction]] = [[] for _ in rests]
    for name, (type, user) in _temporaries(flow, loop, left).items():
        own = _prefixed(name, prefix)
        function.entry.instructions.insert(0, Instruction(f"{own} = alloca {type}, align 8"))
        whole.names[name] = own
        for k, rest in enumerate(rests):
            if user in rest.blocks:  # nobody has its address yet, so a copy of it is as good
                rest.names[name], held = own, _prefixed(name, f"{prefix}.{k}")
                entered[k].append(Instruction(f"{held} = load {type}, ptr {name}, align 1"))
                entered[k].append(Instruction(f"store {type} {held}, ptr {own}, align 8"))
    added = [
        block for name, rest in zip(left, rests, strict=True) for block in _rest_blocks(flow, loop, name, rest, whole)
    ]
    for name, rest, lines in zip(left, rests, entered, strict=True):
        at_start(next(block for block in added if block.name == rest.label(name)), lines)
    for name in inside if again else ():
        lines = [Instruction(whole.of(item.text), dict(item.meta)) for item in flow.blocks[name].instructions]
        if name == loop.header:  # it is entered from iterations that have come to their end, not from before
            for place, phi in enumerate(flow.blocks[name].phis):
                back = [(value, at) for value, at in sources(phi) if at in loop]
                lines[place] = Instruction(whole.of(with_sources(phi, back)), lines[place].meta)
                text = with_sources(lines[place], [source for copy in copies for source in copy.of_sources(back)])
                lines[place] = Instruction(text, lines[place].meta)
        added.append(Block(whole.label(name), lines))
    for outside in dict.fromkeys(name for _, name in loop.exits):
        edit_phis(flow.blocks[outside], lambda phi: with_sources(phi, _with_copies(phi, copies)))
    where = max(function.blocks.index(flow.blocks[name]) for name in inside) + 1
    function.blocks[where:where] = added
    away = {f"%{name}": "%" + rest.label(name) for name, rest in zip(left, rests, strict=True)}
    for name in inside:
        end = flow.blocks[name].instructions[-1]
        if any("%" + label in away for label in end.labels):
            text = LOCAL.sub(lambda name: away.get(name.group(), name.group()), end.text)
            flow.blocks[name].instructions[-1] = Instruction(text, end.meta)


def _temporaries(flow: ControlFlow, loop: Loop, left: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Numbers on the stack of which the loop gives the address to one call, at a block that it is left at, and which
    live for an iteration at most: name → (type, that block). C++ passes arguments of `std::function` so.
    """
    entry = flow.function.entry.instructions
    found = {str(item.result): item.word for item in entry if item.op == "alloca" and _SCALAR.fullmatch(item.word)}
    users: dict[str, set[str]] = {name: set() for name in found}
    begun = set()
    for block, item in flow.function.instructions():
        for name in users.keys() & set(item.uses):
            if block.name not in loop or (item.op == "store" and item.operands[0].text == name):
                del users[name]
            elif item.word.startswith("@llvm.lifetime."):
                begun |= {name} if item.word.startswith("@llvm.lifetime.start") else set()
            elif item.op in ("call", "invoke") and block.name in left:
                users[name].add(block.name)
            elif item.op not in ("load", "store"):
                del users[name]
    return {name: (found[name], at.pop()) for name, at in users.items() if len(at) == 1 and name in begun}


def _rest_blocks(flow: ControlFlow, loop: Loop, start: str, rest: _Copy, whole: _Copy) -> list[Block]:
    """The copied rest of an iteration, which goes on in the copied loop."""
    goes_on = {f"%{loop.header}": "%" + whole.label(loop.header)}
    found = []
    for name in (name for name in flow.blocks if name in rest.blocks):
        lines = []
        for item in flow.blocks[name].instructions:
            text = item.text
            if item.op == "phi":
                before = [source for source in sources(item) if name == start or source[1] in rest.blocks]
                if not before:
                    continue
                text = with_sources(item, before)
            text = rest.of(text)
            if item.is_terminator:
                text = LOCAL.sub(lambda name: goes_on.get(name.group(), name.group()), text)
            lines.append(Instruction(text, dict(item.meta)))
        found.append(Block(rest.label(name), lines))
    return found


def _with_copies(phi: Instruction, copies: Sequence[_Copy]) -> list[tuple[str, str]]:
    found = sources(phi)
    return [*found, *(source for copy in copies for source in copy.of_sources(found))]


def _copy(flow: ControlFlow, blocks: frozenset[str], prefix: str) -> _Copy:
    made = [f"%{name}" for name in blocks]
    made += [item.result for name in blocks for item in flow.blocks[name].instructions if item.result is not None]
    return _Copy(blocks, {name: _prefixed(name, prefix) for name in made})


def _prefixed(name: str, prefix: str) -> str:
    return f'%"{prefix}.{name[2:-1]}"' if name.startswith('%"') else f"%{prefix}.{name[1:]}"
