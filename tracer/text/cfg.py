"""Control flow of a function: dominators and the natural loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from .module import Block, Function


@dataclass(eq=False)
class Loop:
    """A natural loop of a function in loop-simplify form.

    Attributes:
        header: name of the entry block. `latches`: blocks that jump back to it.
        blocks: names of all blocks, inner loops included.
        preheader: the one block outside that jumps to the header and nowhere else; None when there is none.
        exits: edges (inside, outside).
        parent, children: the nest.
    """

    header: str
    latches: tuple[str, ...]
    blocks: frozenset[str]
    preheader: str | None
    exits: tuple[tuple[str, str], ...]
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return 1 if self.parent is None else self.parent.depth + 1

    def __contains__(self, block: object) -> bool:
        return block in self.blocks

    def ancestors(self) -> list[Loop]:
        """Enclosing loops, innermost first."""
        found, loop = [], self.parent
        while loop is not None:
            found.append(loop)
            loop = loop.parent
        return found


class ControlFlow:
    """Predecessors, dominators and loops of one function; O(blocks × depth) to build."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.blocks: dict[str, Block] = {block.name: block for block in function.blocks}
        self.successors: dict[str, tuple[str, ...]] = {
            name: tuple(dict.fromkeys(block.terminator.labels)) for name, block in self.blocks.items()
        }
        self.predecessors: dict[str, list[str]] = {name: [] for name in self.blocks}
        for name, targets in self.successors.items():
            for target in targets:
                self.predecessors[target].append(name)
        self.order = self._reverse_postorder()
        self._rank = {name: place for place, name in enumerate(self.order)}

    def rank(self, block: str) -> int:
        """Place in reverse postorder."""
        return self._rank[block]

    @cached_property
    def idom(self) -> dict[str, str]:
        """Immediate dominators (Cooper, Harvey, Kennedy: iterate to a fixpoint in reverse postorder)."""
        entry = self.order[0]
        idom = {entry: entry}
        changed = True
        while changed:
            changed = False
            for name in self.order[1:]:
                known = [pred for pred in self.predecessors[name] if pred in idom]
                new = known[0]
                for pred in known[1:]:
                    new = self._meet(idom, pred, new)
                if idom.get(name) != new:
                    idom[name] = new
                    changed = True
        return idom

    def dominates(self, above: str, below: str) -> bool:
        """Whether every path from the entry to `below` passes `above`."""
        if below not in self._rank or above not in self._rank:
            return False
        while self._rank[below] > self._rank[above]:
            below = self.idom[below]
        return below == above

    @cached_property
    def loops(self) -> list[Loop]:
        """All natural loops, outer before inner, in program order."""
        latches: dict[str, list[str]] = {}
        for name in self.order:
            for target in self.successors[name]:
                if self.dominates(target, name):
                    latches.setdefault(target, []).append(name)
        loops = [self._natural_loop(header, tails) for header, tails in latches.items()]
        loops.sort(key=lambda loop: (-len(loop.blocks), self._rank[loop.header]))
        for place, loop in enumerate(loops):
            around = [other for other in loops[:place] if loop.header in other.blocks and loop.blocks < other.blocks]
            if around:
                loop.parent = min(around, key=lambda other: len(other.blocks))
                loop.parent.children.append(loop)
        loops.sort(key=lambda loop: self._rank[loop.header])
        return loops

    @cached_property
    def is_reducible(self) -> bool:
        """Whether every backward edge of the ordering leads to a dominator."""
        return all(
            self._rank[target] > self._rank[name] or self.dominates(target, name)
            for name in self.order
            for target in self.successors[name]
        )

    def innermost(self, block: str) -> Loop | None:
        """The innermost loop that holds `block`."""
        around = [loop for loop in self.loops if block in loop.blocks]
        return min(around, key=lambda loop: len(loop.blocks)) if around else None

    def _natural_loop(self, header: str, latches: list[str]) -> Loop:
        inside = {header}
        stack = list(latches)
        while stack:
            name = stack.pop()
            if name not in inside:
                inside.add(name)
                stack.extend(pred for pred in self.predecessors[name] if pred in self._rank)
        entries = [pred for pred in self.predecessors[header] if pred not in inside and pred in self._rank]
        preheader = entries[0] if len(entries) == 1 and len(self.successors[entries[0]]) == 1 else None
        exits = tuple(
            (name, target)
            for name in self.order
            if name in inside
            for target in self.successors[name]
            if target not in inside
        )
        return Loop(header, tuple(latches), frozenset(inside), preheader, exits)

    def _reverse_postorder(self) -> list[str]:
        entry = self.function.entry.name
        seen = {entry}
        order: list[str] = []
        stack = [(entry, iter(self.successors[entry]))]
        while stack:
            name, targets = stack[-1]
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(self.successors[target])))
                    break
            else:
                order.append(name)
                stack.pop()
        return order[::-1]

    def _meet(self, idom: dict[str, str], first: str, second: str) -> str:
        while first != second:
            while self._rank[first] > self._rank[second]:
                first = idom[first]
            while self._rank[second] > self._rank[first]:
                second = idom[second]
        return first
