"""Flags that a loop sets: `changed = 1` becomes `changed |= 1`, which is a reduction.

The loop carries the flag in a phi, and an iteration replaces it by a constant. Where the flag holds nothing but 0 and
that constant, or every bit of the constant is set, the bits of both are the same as the constant alone:

```
%changed = phi i32 [ 0, %entry ], [ %next, %latch ]           %set = or i32 %changed, 1
%next = select i1 %c, i32 1, i32 %changed                 →   %next = select i1 %c, i32 %set, i32 %changed
```

`sorted = 0` becomes `sorted &= 0` in the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tracecut.ir.llvm import Function, Instruction, Module, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow, Loop

_WORDS = {"true": 1, "false": 0}


@dataclass
class _Web:
    """Values that a header phi hands on, and where a constant comes into them: (block, instruction, operand)."""

    members: set[str]
    constants: dict[int, list[tuple[str, Instruction, int]]] = field(default_factory=dict)
    kept: bool = False  # the phi itself is among them: an iteration may leave the flag as it is
    others: bool = False


def join_flags(module: Module) -> Module:
    """Combine such constants with the flag, in place. O(instructions, and the flags of a loop by its depth)."""
    for function in module.functions.values():
        if any(_has_constant(item) for _, item in function.instructions()):
            _Flags(function).join()
    return module


def _has_constant(item: Instruction) -> bool:
    arms = item.operands if item.op == "phi" else item.operands[1:] if item.op == "select" else ()
    return any(_number(arm.text, arm.type) is not None for arm in arms) and len(arms) > 1


def _number(text: str, type: str) -> int | None:
    """The value of a whole number, without its sign."""
    bits = int_bits(type)
    if bits is None or not (text in _WORDS or re.fullmatch(r"-?\d+", text)):
        return None
    return _WORDS[text] if text in _WORDS else int(text) % (1 << bits)


class _Flags:
    def __init__(self, function: Function) -> None:
        self.flow = ControlFlow(function)
        self.made = {
            str(item.result): (block.name, item) for block, item in function.instructions() if item.result is not None
        }

    def join(self) -> None:
        for loop in self.flow.loops:
            for phi in self.flow.blocks[loop.header].phis if len(loop.latches) == 1 else ():
                if int_bits(phi.type) is not None:
                    self._join(loop, phi)

    def _join(self, loop: Loop, phi: Instruction) -> None:
        arms = list(zip(phi.operands, phi.labels, strict=True))
        starts = {_number(arm.text, arm.type) for arm, label in arms if label not in loop.blocks}
        web = self._web(loop, phi)
        if not web.kept or len(starts) != 1 or None in starts or len(web.constants) != 1:
            return
        (start,), (value,) = starts, web.constants
        bits = int_bits(phi.type) or 1
        whole = value == (1 << bits) - 1
        if value == start or not (whole or value == 0 or (start == 0 and not web.others)):
            return
        if any(block not in loop.blocks for block, _, _ in web.constants[value]):
            return  # what another phi of the header begins with
        for block, user, place in web.constants[value]:
            self._combine(web, block, user, place, "or" if value else "and")

    def _web(self, loop: Loop, phi: Instruction) -> _Web:
        """What leads to the next value of a header phi through phis and selects."""
        web = _Web({str(phi.result)})
        entered = [place for place, label in enumerate(phi.labels) if label in loop.blocks]
        ahead = [(loop.header, phi, place) for place in entered]
        while ahead:
            block, user, place = ahead.pop()
            arm = user.operands[place]
            if arm.text in web.members:
                web.kept |= arm.text == phi.result
                continue
            number = _number(arm.text, arm.type)
            if number is not None:
                at = user.labels[place] if user.op == "phi" else block
                web.constants.setdefault(number, []).append((at, user, place))
                continue
            inside, found = self.made.get(arm.text, ("", None))
            if found is None or found.op not in ("phi", "select") or inside not in loop.blocks:
                web.others = True
                continue
            web.members.add(arm.text)
            first = 0 if found.op == "phi" else 1
            ahead += [(inside, found, further) for further in range(first, len(found.operands))]
        return web

    def _combine(self, web: _Web, block: str, user: Instruction, place: int, word: str) -> None:
        """Put (flag `word` constant) in the place of a constant; `block`: where that is computed."""
        around = [loop for loop in self.flow.loops if block in loop.blocks]
        held = [
            str(phi.result)
            for loop in sorted(around, key=lambda one: -one.depth)
            for phi in self.flow.blocks[loop.header].phis
            if phi.result in web.members
        ]
        constant, body = user.operands[place], self.flow.blocks[block].instructions
        name = f"{user.result}.tc.set{place}"
        made = Instruction(f"{name} = {word} {constant.type} {held[0]}, {constant.text}", user.meta)
        body.insert(len(body) - 1 if user.op == "phi" else body.index(self._now(user)), made)
        arms = [name if n == place else arm.text for n, arm in enumerate(self._now(user).operands)]
        if user.op == "phi":
            joined = ", ".join(f"[ {arm}, %{label} ]" for arm, label in zip(arms, user.labels, strict=True))
            text = f"{user.result} = phi {user.type} {joined}"
        else:
            text = f"{user.result} = select i1 {arms[0]}, {user.type} {arms[1]}, {user.type} {arms[2]}"
        self._replace(user, Instruction(text, user.meta))

    def _now(self, user: Instruction) -> Instruction:
        """An instruction as it has become."""
        return self.made[str(user.result)][1]

    def _replace(self, user: Instruction, new: Instruction) -> None:
        block, old = self.made[str(user.result)]
        body = self.flow.blocks[block].instructions
        body[body.index(old)] = new
        self.made[str(user.result)] = block, new
