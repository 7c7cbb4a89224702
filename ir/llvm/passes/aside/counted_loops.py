"""Loops that hold one other loop, as far as it matters for joining both: how they count, and what they do between."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import sources
from tracecut.ir.llvm.operands import BINARY, CASTS, NEGATED, SWAPPED

_COMPUTES = frozenset(BINARY | CASTS | {"store", "icmp", "fcmp", "select", "fneg", "freeze"})
MOST_COPIED = 2_000  # instructions of a loop nest that is kept beside the joined one


@dataclass(frozen=True)
class Counted:
    """A loop that counts by one: its phi, what that is next, its first value, and the next one that ends the loop.

    `below`: what it asks of the next one to go on, `slt` or `ult`; none where it only asks whether it is the end.
    `type`: that of the end; the next one is cut to it, where it is wider.
    """

    phi: Instruction
    following: str
    first: str
    end: str
    type: str
    below: str = ""


class Matcher:
    """Looks at a loop that holds one other: whether the iterations of both are those of one loop over all elements.

    Args:
        own: names of the functions that the module defines. outer: the loop.
    """

    def __init__(self, own: Collection[str], flow: ControlFlow, outer: Loop) -> None:
        self.own, self.flow, self.outer = own, flow, outer
        self.inner = outer.children[0]
        self.made = {
            str(item.result): (name, item) for name in outer.blocks for item in self._lines(name) if item.result
        }
        self.plain_names = not any('"' in name for name in (*self.made, *outer.blocks))

    @property
    def left_at_the_end(self) -> bool:
        """Whether each of both loops is left from its one latch alone."""
        return all([name for name, _ in loop.exits] == list(loop.latches) for loop in (self.outer, self.inner))

    @property
    def unknown_behind(self) -> bool:
        """Whether nothing behind the loops uses what they made."""
        blocks = (block for name, block in self.flow.blocks.items() if name not in self.outer)
        return not any(name in self.made for block in blocks for item in block.instructions for name in item.uses)

    @property
    def size(self) -> int:
        """Instructions in both loops."""
        return sum(len(self._lines(name)) for name in self.outer.blocks)

    def _lines(self, name: str) -> list[Instruction]:
        return self.flow.blocks[name].instructions

    def _between(self) -> Iterator[Instruction]:
        """What is done between the pieces."""
        return (item for name in self.outer.blocks - self.inner.blocks for item in self._lines(name))

    def _counted(self, loop: Loop) -> Counted | None:
        """How a loop counts, if it does so by one and carries nothing else."""
        phis = self.flow.blocks[loop.header].phis
        if len(phis) != 1:
            return None
        phi = phis[0]
        end = self.flow.blocks[loop.latches[0]].terminator
        if end.op != "br" or not end.operands or loop.preheader is None:
            return None
        values = {label: value for value, label in sources(phi)}
        following, first = values[loop.latches[0]], values[loop.preheader]
        step, test = (self.made.get(name, ("", None))[1] for name in (following, end.operands[0].text))
        if step is None or test is None or test.op != "icmp":
            return None
        if step.op != "add" or [one.text for one in step.operands] != [phi.result, "1"]:
            return None
        cut = {str(item.result) for _, item in self.made.values() if item.op == "trunc" and following in item.uses}
        sides, word = [one.text for one in test.operands], test.word
        if sides[0] not in (following, *cut):
            sides, word = sides[::-1], SWAPPED.get(word, word)
        if end.labels[0] != loop.header:
            word = NEGATED.get(word, "")
        if sides[0] not in (following, *cut) or word not in ("ne", "slt", "ult"):
            return None
        last, below = sides[1], word.replace("ne", "")
        changes = last in self.made and (loop is self.outer or self.made[last][0] in loop)
        return None if changes else Counted(phi, following, first, last, test.operands[0].type, below)

    def _plain(self, item: Instruction) -> bool:
        """Whether an instruction computes, or stores, and goes on to the next one."""
        if item.op == "call":
            return item.word not in self.own and effect_of(item).movable
        return item.op in _COMPUTES and not item.flags & {"volatile", "atomic"}

    def _knows_no_piece(self, piece: Counted) -> bool:
        """Whether the inner loop uses nothing of the outer one but where a piece begins and ends."""
        own = {name for name, (block, _) in self.made.items() if block not in self.inner}
        test = self.flow.blocks[self.inner.latches[0]].terminator.operands[0].text
        for name in self.inner.blocks:
            for item in self._lines(name):
                allowed = {piece.first} if item is piece.phi else {piece.end} if item.result == test else set()
                if (set(item.uses) & own) - allowed:
                    return False
        return True
