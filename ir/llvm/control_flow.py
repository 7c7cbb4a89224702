"""Control flow of a function: dominators and the natural loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from .dominators import immediate_dominators, tree_intervals
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
    """Predecessors, dominators and loops of one function; O(blocks × depth of loops) to build."""

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
        self._innermost: dict[str, Loop] = {}  # what `loops` finds

    def rank(self, block: str) -> int:
        """Place in reverse postorder."""
        return self._rank[block]

    @cached_property
    def idom(self) -> dict[str, str]:
        """Immediate dominators of the reachable blocks; the entry is its own."""
        order = self.order
        targets = [[self._rank[target] for target in self.successors[name]] for name in order]
        return {order[node]: order[above] for node, above in enumerate(immediate_dominators(targets))}

    @cached_property
    def _intervals(self) -> tuple[list[int], list[int]]:
        """Of each rank: the first and the last place in preorder of what the block dominates."""
        return tree_intervals([self._rank[self.idom[name]] for name in self.order])

    def dominates(self, above: str, below: str) -> bool:
        """Whether every path from the entry to `below` passes `above`. O(1)."""
        if below not in self._rank or above not in self._rank:
            return False
        first, last = self._intervals
        return first[self._rank[above]] <= first[self._rank[below]] <= last[self._rank[above]]

    @cached_property
    def loops(self) -> list[Loop]:
        """All natural loops, outer before inner, in program order."""
        latches: dict[str, list[str]] = {}
        for name in self.order:
            for target in self.successors[name]:
                if self._rank[target] <= self._rank[name] and self.dominates(target, name):
                    latches.setdefault(target, []).append(name)
        loops = [self._natural_loop(header, tails) for header, tails in latches.items()]
        # Loops of two headers lie in each other or have nothing in common: the last to take a block is its innermost.
        loops.sort(key=lambda loop: (-len(loop.blocks), self._rank[loop.header]))
        for loop in loops:
            loop.parent = self._innermost.get(loop.header)
            if loop.parent is not None:
                loop.parent.children.append(loop)
            self._innermost.update(dict.fromkeys(loop.blocks, loop))
        loops.sort(key=lambda loop: self._rank[loop.header])
        return loops

    @cached_property
    def headed(self) -> dict[str, Loop]:
        """The loop of each block that is the header of one."""
        return {loop.header: loop for loop in self.loops}

    def inside(self, root: Loop) -> list[Loop]:
        """A loop and all loops in it, outer before inner, in program order."""
        found = [root]
        for loop in found:
            found.extend(loop.children)
        return sorted(found, key=lambda loop: self._rank[loop.header])

    @cached_property
    def is_reducible(self) -> bool:
        """Whether every backward edge of the ordering leads to a dominator."""
        return all(
            self._rank[target] > self._rank[name] or self.dominates(target, name)
            for name in self.order
            for target in self.successors[name]
        )

    def behind(self, loop: Loop, start: str) -> frozenset[str]:
        """Blocks of a loop that the same iteration may come to from one, itself among them."""
        found, stack = {start}, [start]
        while stack:
            for name in self.successors[stack.pop()]:
                if name in loop and name != loop.header and name not in found:
                    found.add(name)
                    stack.append(name)
        return frozenset(found)

    def innermost(self, block: str) -> Loop | None:
        """The innermost loop that holds `block`. O(1)."""
        return self._innermost.get(block) if self.loops else None

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
            for name in sorted(inside, key=self._rank.__getitem__)
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
