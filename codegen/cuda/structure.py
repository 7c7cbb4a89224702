"""Branches as `if`, loops, `break` and `continue`; what is left over as `goto` (Ramsey 2022).

The blocks that a block dominates stand behind it: those that several branches lead to after what is nested in it,
those behind a loop after the loop. A branch to what stands next in the text needs no words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.support.errors import UnsupportedError

from .arithmetic import negated
from .expressions import Expr, cast, extended
from .function_text import FunctionText
from .phases import phase
from .statements import Assign, Comment, If, Jump, Label, Statement
from .statements import Loop as LoopText
from .types import C_TYPES

_CASE = re.compile(r"i\d+ (-?\d+), label %(\S+)")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Around:
    """What stands around a statement: the block that follows it, and those that `continue` and `break` lead to."""

    follow: str | None
    head: str | None = None
    behind: str | None = None


class Structure:
    """The statements of a whole function, from those of its blocks. `gotos`: blocks that have labels."""

    def __init__(self, function: Function, flow: ControlFlow, writer: FunctionText) -> None:
        if not flow.is_reducible:
            raise UnsupportedError("a loop that is entered in two places cannot be written in CUDA C")
        self.flow, self.writer = flow, writer
        self.blocks = function.by_name()
        self.gotos: set[str] = set()
        self._within: dict[str, list[str]] = {}
        self._after: dict[str, list[str]] = {}
        self._placed: set[str] = set()
        self._place_blocks()

    def statements(self) -> list[Statement]:
        return self._tree(self.flow.order[0], Around(None))

    def _place_blocks(self) -> None:
        entering: dict[str, int] = {}
        for name in self.flow.order:
            for target in self.blocks[name].terminator.labels:
                if self.flow.rank(target) > self.flow.rank(name):
                    entering[target] = entering.get(target, 0) + 1
        for name in self.flow.order[1:]:
            above = self.flow.idom[name]
            left = [loop for loop in self._loops(above) if name not in loop.blocks]
            if left:
                self._after.setdefault(left[-1].header, []).append(name)
            elif entering.get(name, 0) > 1:
                self._within.setdefault(above, []).append(name)
            else:
                continue
            self._placed.add(name)

    def _loops(self, block: str) -> list[Loop]:
        """The loops that a block is in, from the innermost one."""
        found = []
        loop = self.flow.innermost(block)
        while loop is not None:
            found.append(loop)
            loop = loop.parent
        return found

    def _tree(self, name: str, around: Around) -> list[Statement]:
        """A block and what it dominates."""
        found: list[Statement] = [Comment(text)] if (text := phase(name)) else []
        mark = len(found)
        if name in self.flow.headed:
            behind = self._after.get(name, [])
            follow = behind[0] if behind else around.follow
            body = self._with_followers(name, self._within.get(name, []), Around(name, name, follow))
            found.append(LoopText(body))
            found += self._followers(behind, around)
        else:
            found += self._with_followers(name, self._within.get(name, []), around)
        if name in self.gotos:
            found.insert(mark, Label(self.writer.names.of(f"block {name}")))
        return found

    def _with_followers(self, name: str, followers: list[str], around: Around) -> list[Statement]:
        inner = Around(followers[0], around.head, around.behind) if followers else around
        block = self.blocks[name]
        found = list(self.writer.block(block))
        rest = self._branches(block, inner)
        return [*found, *rest, *self._followers(followers, around)]

    def _followers(self, names: list[str], around: Around) -> list[Statement]:
        found: list[Statement] = []
        for place, name in enumerate(names):
            follow = names[place + 1] if place + 1 < len(names) else around.follow
            found += self._tree(name, Around(follow, around.head, around.behind))
        return found

    def _branches(self, block: Block, around: Around) -> list[Statement]:
        made = block.terminator
        found: list[Statement] = []
        self.writer.out = found
        if made.op == "ret":
            value = self.writer.expr(made.operands[0]) if made.operands else None
            self.writer.finish(set())
            if value is not None:
                found.append(Jump(f"return {value.text}"))
            elif around.follow is not None or around.head is not None:
                found.append(Jump("return"))
            return found
        if made.op == "unreachable":
            self.writer.finish(set())
            found.append(Jump("__trap()"))
            return found
        if made.op == "switch":
            return self._switch(block, made, around)
        if made.op != "br":
            raise UnsupportedError(f"the instruction {made.op} cannot be written in CUDA C")
        targets = made.labels
        condition = self.writer.expr(made.operands[0]) if len(set(targets)) > 1 else None
        # What a branch takes along may be read on the way, unless there is another way to go.
        self.writer.finish(set(self._sources(block.name, targets[0])) if condition is None else set())
        if condition is None:
            return [*found, *self._go(block.name, targets[0], around)]
        return [*found, *self._choice(condition, block.name, targets[0], targets[1], around)]

    def _choice(self, condition: Expr, name: str, yes: str, no: str, around: Around) -> list[Statement]:
        then, otherwise = self._go(name, yes, around), self._go(name, no, around)
        if not then and not otherwise:
            return []
        if not then or (len(otherwise) == 1 and isinstance(otherwise[0], Jump)):
            condition, then, otherwise = negated(condition), otherwise, then
        against = negated(condition).text
        if otherwise and isinstance(then[-1], Jump):
            return [If(condition.text, then, opposite=against), *otherwise]  # nothing comes behind a jump
        return [If(condition.text, then, otherwise, against)]

    def _switch(self, block: Block, made: Instruction, around: Around) -> list[Statement]:
        found = self.writer.out
        value = self.writer.atom(made.operands[0])
        self.writer.finish(set())
        bits = int(made.operands[0].type[1:])
        cases = [(int(number), label) for number, label in _CASE.findall(made.text[made.text.index("[") :])]
        rest = self._go(block.name, made.labels[0], around)
        shown = extended(value, bits, signed=True)
        for number, label in reversed(cases):
            then = self._go(block.name, label, around)
            condition = f"{shown.text} == {number}" if number >= 0 else f"{shown.text} == ({number})"
            if (then and rest) or then:
                rest = [If(condition, then, rest)]
            elif rest:
                rest = [If(f"!({condition})", rest)]
        return [*found, *rest]

    def _go(self, name: str, target: str, around: Around) -> list[Statement]:
        """A branch: what the phis of its target take from here, and the way there."""
        found = self._copies(name, target)
        if target == around.follow:
            return found
        if target == around.head:
            return [*found, Jump("continue")]
        if target == around.behind and target is not None:
            return [*found, Jump("break")]
        if target in self._placed or self.flow.rank(target) <= self.flow.rank(name):
            self.gotos.add(target)
            return [*found, Jump(f"goto {self.writer.names.of(f'block {target}')}")]
        return [*found, *self._tree(target, around)]

    # Phis

    def _sources(self, name: str, target: str) -> list[str]:
        return [
            operand.text
            for phi in self.blocks[target].phis
            for operand, label in zip(phi.operands, phi.labels, strict=True)
            if label == name
        ]

    def _copies(self, name: str, target: str) -> list[Statement]:
        before, self.writer.out = self.writer.out, []
        pairs: list[tuple[str, str]] = []
        for phi in self.blocks[target].phis:
            if phi.result in self.writer.uses.dead:
                continue
            variable = self.writer.phi(phi)
            operand = next(o for o, label in zip(phi.operands, phi.labels, strict=True) if label == name)
            value = self.writer.expr(operand)
            if value.type != variable.type and (value.literal is None or variable.type[0] in "fb"):
                value = cast(value, variable.type) if variable.bits in (8, 16) else value
            if value.literal is not None and variable.type[0] in "iu":
                value = cast(value, variable.type)
                text = str(value.literal) if abs(value.literal or 0) < 1 << 31 else value.text
            else:
                text = value.text
            if text != variable.text:
                pairs.append((variable.text, text))
        found, self.writer.out = list(self.writer.out), before
        names = [variable for variable, _ in pairs]
        for place, (_, text) in enumerate(pairs):
            if set(_WORD.findall(text)) & set(names[:place]):
                return [*found, *self._at_once(pairs)]
        return [*found, *(Assign(variable, text) for variable, text in pairs)]

    def _at_once(self, pairs: list[tuple[str, str]]) -> list[Statement]:
        """All sources are read before the first of them is overwritten."""
        kept: list[Statement] = []
        given: list[Statement] = []
        for variable, text in pairs:
            word = self.writer.names.fresh(f"next_{variable}")
            self.writer.variables[word] = self.writer.variables.get(variable, C_TYPES["u64"])
            kept.append(Assign(word, text))
            given.append(Assign(variable, word))
        return [*kept, *given]
