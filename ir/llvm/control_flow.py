"""Control flow of a function: dominators and the natural loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from .dominators import immediate_dominators, tree_intervals
from .instruction import Instruction
from .lazy_attributes import once
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


class _Shape:
    """What the blocks of a function and their terminators say: its edges, and what follows from them.

    One for all that ask for it as long as no block comes, goes or ends otherwise: most passes leave most functions as
    they are, and each wants to know the loops.
    """

    def __init__(self, names: list[str], ends: list[Instruction]) -> None:
        self.names, self.ends = names, ends
        self.successors: dict[str, tuple[str, ...]] = {
            name: tuple(dict.fromkeys(end.labels)) for name, end in zip(names, ends, strict=True)
        }
        self.predecessors: dict[str, list[str]] = {name: [] for name in names}
        for name, targets in self.successors.items():
            for target in targets:
                self.predecessors[target].append(name)
        self.order = self._reverse_postorder()
        self.rank = {name: place for place, name in enumerate(self.order)}
        self.innermost: dict[str, Loop] = {}  # what `loops` finds

    @classmethod
    def of(cls, function: Function) -> _Shape:
        """The shape of a function as it is now."""
        names = [block.name for block in function.blocks]
        ends = [block.instructions[-1] for block in function.blocks]
        known = function.shape
        if isinstance(known, cls) and known.names == names and known.ends == ends:  # instructions: the very same
            return known
        function.shape = made = cls(names, ends)
        return made

    @once
    def idom(self) -> dict[str, str]:
        """Immediate dominators of the reachable blocks; the entry is its own."""
        order = self.order
        targets = [[self.rank[target] for target in self.successors[name]] for name in order]
        return {order[node]: order[above] for node, above in enumerate(immediate_dominators(targets))}

    @once
    def intervals(self) -> tuple[list[int], list[int]]:
        """Of each rank: the first and the last place in preorder of what the block dominates."""
        return tree_intervals([self.rank[self.idom[name]] for name in self.order])

    def dominates(self, above: str, below: str) -> bool:
        """Whether every path from the entry to `below` passes `above`. O(1)."""
        if below not in self.rank or above not in self.rank:
            return False
        first, last = self.intervals
        return first[self.rank[above]] <= first[self.rank[below]] <= last[self.rank[above]]

    @once
    def loops(self) -> list[Loop]:
        """All natural loops, outer before inner, in program order."""
        latches: dict[str, list[str]] = {}
        for name in self.order:
            for target in self.successors[name]:
                if self.rank[target] <= self.rank[name] and self.dominates(target, name):
                    latches.setdefault(target, []).append(name)
        loops = [self._natural_loop(header, tails) for header, tails in latches.items()]
        # Loops of two headers lie in each other or have nothing in common: the last to take a block is its innermost.
        loops.sort(key=lambda loop: (-len(loop.blocks), self.rank[loop.header]))
        for loop in loops:
            loop.parent = self.innermost.get(loop.header)
            if loop.parent is not None:
                loop.parent.children.append(loop)
            self.innermost.update(dict.fromkeys(loop.blocks, loop))
        loops.sort(key=lambda loop: self.rank[loop.header])
        return loops

    def _natural_loop(self, header: str, latches: list[str]) -> Loop:
        inside = {header}
        stack = list(latches)
        while stack:
            name = stack.pop()
            if name not in inside:
                inside.add(name)
                stack.extend(pred for pred in self.predecessors[name] if pred in self.rank)
        entries = [pred for pred in self.predecessors[header] if pred not in inside and pred in self.rank]
        preheader = entries[0] if len(entries) == 1 and len(self.successors[entries[0]]) == 1 else None
        exits = tuple(
            (name, target)
            for name in sorted(inside, key=self.rank.__getitem__)
            for target in self.successors[name]
            if target not in inside
        )
        return Loop(header, tuple(latches), frozenset(inside), preheader, exits)

    def _reverse_postorder(self) -> list[str]:
        entry = self.names[0]
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


class ControlFlow:
    """Predecessors, dominators and loops of one function as it is now; O(blocks × depth of loops) to build, O(blocks)
    where the blocks and their ends are as they were for the last one."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.blocks: dict[str, Block] = {block.name: block for block in function.blocks}
        self._shape = _Shape.of(function)
        self.successors, self.predecessors = self._shape.successors, self._shape.predecessors
        self.order, self._rank = self._shape.order, self._shape.rank

    def rank(self, block: str) -> int:
        """Place in reverse postorder."""
        return self._rank[block]

    @property
    def idom(self) -> dict[str, str]:
        """Immediate dominators of the reachable blocks; the entry is its own."""
        return self._shape.idom

    def dominates(self, above: str, below: str) -> bool:
        """Whether every path from the entry to `below` passes `above`. O(1)."""
        return self._shape.dominates(above, below)

    @property
    def loops(self) -> list[Loop]:
        """All natural loops, outer before inner, in program order."""
        return self._shape.loops

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
        return self._shape.innermost.get(block) if self.loops else None
