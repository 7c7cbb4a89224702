"""A pointer that a loop keeps in a variable of its own, as values and phis."""

from __future__ import annotations

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.control_flow import ControlFlow, Loop


class KeptValue:
    """What the variable holds where, after M. Braun et al., "Simple and efficient construction of SSA form", 2013.

    Args:
        name: how the names of its phis begin. first: what it holds in front of the loop.
    """

    def __init__(self, flow: ControlFlow, loop: Loop, name: str, first: str) -> None:
        self.flow, self.loop, self.name, self.first = flow, loop, name, first
        self._set: dict[str, list[tuple[int, str]]] = {}  # block → (place of an instruction, what it holds from there)
        self._entries: dict[str, str] = {}
        self._phis: dict[str, tuple[str, list[tuple[str, str]]]] = {}  # phi → (block, (value, label))
        self._alike: dict[str, str] = {}
        self._open: list[str] = []  # phis of which is not known yet what comes to them

    def sets(self, block: str, place: int, value: str) -> None:
        """An instruction of a block, from which on it holds another value."""
        self._set.setdefault(block, []).append((place, value))

    def before(self, block: str, place: int) -> str:
        """What it holds in front of an instruction, by a name for `named`. O(blocks) in all."""
        earlier = [found for found in self._set.get(block, ()) if found[0] < place]
        return max(earlier)[1] if earlier else self._entry(block)

    def behind(self, block: str) -> str:
        """What it holds at the end of a block, by a name for `named`."""
        return max(self._set[block])[1] if block in self._set else self._entry(block)

    def named(self, value: str) -> str:
        """What a value is called once all is placed."""
        while value in self._alike:
            value = self._alike[value]
        return value

    def place(self) -> None:
        """Put its phis into the blocks. O(phis²)."""
        while self._open:
            block, come = self._phis[self._open.pop()]
            labels = self.flow.predecessors[block]
            come += [(self.behind(label) if label in self.loop else self.first, label) for label in labels]
        changed = True
        while changed:
            changed = False
            for phi, (_, come) in list(self._phis.items()):
                others = {self.named(value) for value, _ in come} - {phi}
                if len(others) == 1:
                    self._alike[phi] = others.pop()
                    del self._phis[phi]
                    changed = True
        for phi, (block, come) in self._phis.items():
            texts = ", ".join(f"[ {self.named(value)}, %{label} ]" for value, label in come)
            self.flow.blocks[block].instructions.insert(0, Instruction(f"{phi} = phi ptr {texts}"))

    def _entry(self, block: str) -> str:
        """What it holds where a block begins: a chain of blocks has what its first one has, ways that meet a phi."""
        chain = []
        while block not in self._entries:
            before = self.flow.predecessors[block]
            if len(before) != 1 or block == self.loop.header:
                self._meet(block)
            elif before[0] in self._set:
                self._entries[block] = self.behind(before[0])
            else:
                chain.append(block)
                block = before[0]
        self._entries |= dict.fromkeys(chain, self._entries[block])
        return self._entries[block]

    def _meet(self, block: str) -> None:
        phi = self._entries[block] = f"{self.name}.{len(self._entries)}"
        self._phis[phi] = (block, [])
        self._open.append(phi)
