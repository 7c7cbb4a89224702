"""Union-find with shifts: members of one class are the same numbers up to constants."""

from __future__ import annotations

from collections.abc import Hashable, Iterable


class Shifts:
    """Classes of nodes with `value(a) = value(b) + shift`. Near-constant time per operation."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._shift: dict[Hashable, int] = {}  # value(node) = value(parent) + shift

    def find(self, node: Hashable) -> tuple[Hashable, int]:
        """(representative, shift): value(node) = value(representative) + shift."""
        if node not in self._parent:
            self._parent[node], self._shift[node] = node, 0
        path = []
        while self._parent[node] != node:
            path.append(node)
            node = self._parent[node]
        total = 0
        for member in reversed(path):
            total += self._shift[member]
            self._parent[member], self._shift[member] = node, total
        return node, self._shift[path[0]] if path else 0

    def relate(self, a: Hashable, b: Hashable, shift: int) -> bool:
        """Note that value(a) = value(b) + shift. False when that contradicts what is known; nothing changes then."""
        root_a, shift_a = self.find(a)
        root_b, shift_b = self.find(b)
        if root_a == root_b:
            return shift_a == shift_b + shift
        # value(root_a) = value(a) − shift_a = value(b) + shift − shift_a = value(root_b) + shift_b + shift − shift_a
        self._parent[root_a] = root_b
        self._shift[root_a] = shift_b + shift - shift_a
        return True

    def classes(self, nodes: Iterable[Hashable]) -> dict[Hashable, list[tuple[Hashable, int]]]:
        """Representative → (member, shift) of the given nodes, in their order."""
        found: dict[Hashable, list[tuple[Hashable, int]]] = {}
        for node in nodes:
            root, shift = self.find(node)
            found.setdefault(root, []).append((node, shift))
        return found
