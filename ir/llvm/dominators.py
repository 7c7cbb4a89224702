"""Immediate dominators of a graph, in almost linear time (Lengauer and Tarjan 1979, the simple version)."""

from __future__ import annotations

from collections.abc import Sequence


def immediate_dominators(successors: Sequence[Sequence[int]]) -> list[int]:
    """The immediate dominator of each node of a graph whose node 0 is the entry; −1 where no path leads to.

    The entry is its own. O(edges · log nodes), also for chains of blocks that all leave to one, and for goto webs.
    """
    order, parent, number = _depth_first(successors)
    count = len(order)
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for place, node in enumerate(order):
        for target in successors[node]:
            predecessors[number[target]].append(place)
    # From here on nodes are their numbers in depth-first order.
    semi = list(range(count))
    best = list(range(count))  # on the compressed path above a node: the one with the smallest semidominator
    above = [-1] * count  # the forest of what is done
    idom = [0] * count
    waiting: list[list[int]] = [[] for _ in range(count)]

    def smallest(node: int) -> int:
        """The node with the smallest semidominator between a node and the root of its tree; shortens the path."""
        if above[node] < 0:
            return node
        path = []
        while above[above[node]] >= 0:
            path.append(node)
            node = above[node]
        for inner in reversed(path):
            upper = above[inner]
            if semi[best[upper]] < semi[best[inner]]:
                best[inner] = best[upper]
            above[inner] = above[upper]
        return best[path[0] if path else node]

    for node in range(count - 1, 0, -1):
        for source in predecessors[node]:
            semi[node] = min(semi[node], semi[smallest(source)])
        waiting[semi[node]].append(node)
        up = parent[node]
        above[node] = up
        for done in waiting[up]:
            low = smallest(done)
            idom[done] = low if semi[low] < up else up
        waiting[up].clear()
    for node in range(1, count):
        if idom[node] != semi[node]:
            idom[node] = idom[idom[node]]
    found = [-1] * len(successors)
    for node, here in enumerate(order):
        found[here] = order[idom[node]]
    return found


def _depth_first(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[int], list[int]]:
    """Nodes in depth-first order from node 0; of each place in it the place of the parent; of each node its place."""
    number = [-1] * len(successors)
    number[0] = 0
    order, parent = [0], [0]
    stack = [(0, iter(successors[0]))]
    while stack:
        place, targets = stack[-1]
        for target in targets:
            if number[target] < 0:
                number[target] = len(order)
                order.append(target)
                parent.append(place)
                stack.append((number[target], iter(successors[target])))
                break
        else:
            stack.pop()
    return order, parent, number


def tree_intervals(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """(first, last) of each node of a tree in preorder: node a lies above b when first[a] ≤ first[b] ≤ last[a].

    `parents`: of each node, the root its own, −1 of what is not in it (and gets −1).
    """
    children: list[list[int]] = [[] for _ in parents]
    root = -1
    for node, parent in enumerate(parents):
        if parent == node:
            root = node
        elif parent >= 0:
            children[parent].append(node)
    first, last = [-1] * len(parents), [-1] * len(parents)
    count = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node < 0:
            last[~node] = count - 1
            continue
        first[node] = count
        count += 1
        stack.append(~node)
        stack.extend(children[node])
    return first, last
