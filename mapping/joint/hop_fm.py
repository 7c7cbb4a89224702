"""Local searches with hop gains: from each vertex of a border, a sequence of best moves, of which the best part stays.

The search of Fiduccia and Mattheyses with many starts, as multilevel partitioners have it, for the cost of a mapping.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats

from .core_regions import Layout
from .cost_rows import Rows, best_in_row, cost_rows, moved_in_rows
from .moves import Scratch, best_move
from .vertex_heap import Heap, put, take

HUB = 256  # neighbours of a vertex from which on its moves do not call the neighbours, nor theirs call it


@njit(cache=True, nogil=True)
def search(
    graph: Weighted,
    labels: Words,
    layout: Layout,
    held: Floats,
    order: Words,
    patience: int,
    work: Scratch,
    found: Heap,
) -> Any:
    """One round; what the cost falls by.

    Args:
        graph: the level.
        labels: uint32 (vertices), changed in place; held: float64 (regions), the load of each, kept up to date.
        layout: the regions. No move exceeds a limit.
        order: uint32, vertices to start from.
        patience: moves without a new best after which a search ends.
        work, found: room; `found` is empty, before and after.

    Each vertex is moved at most once. O(edges · r + moves · degree · r) for few regions r, else
    O(moves · degree · (degree + (regions around)²)).
    """
    offsets, near, _, loads = graph
    rows = cost_rows(graph, labels, layout.table)
    moved, seen = np.zeros(loads.size, np.bool_), np.zeros(loads.size, np.bool_)
    trail, froms = np.empty(loads.size, np.uint32), np.empty(loads.size, np.uint32)
    total = np.int64(0)
    for start in order:
        if seen[start]:
            continue
        to, gain = _best(graph, labels, start, layout, held, work, rows)
        if to == NONE:
            continue
        put(found, start, gain)
        now, best, count, kept, idle = np.int64(0), np.int64(0), 0, 0, 0
        while found.size[0] > 0 and idle < patience:
            v = found.vertices[0]
            to, gain = _best(graph, labels, v, layout, held, work, rows)
            if to == NONE:
                take(found, v)
                continue
            if gain < found.gains[v]:
                put(found, v, gain)
                if found.vertices[0] != v:
                    continue
            take(found, v)
            trail[count], froms[count] = v, labels[v]
            count += 1
            held[labels[v]] -= loads[v]
            held[to] += loads[v]
            if rows.size:
                moved_in_rows(graph, v, labels[v], to, layout.table, rows)
            labels[v] = to
            moved[v], seen[v] = True, True
            now += gain
            idle += 1
            if now > best:
                best, kept, idle = now, count, 0
            begin, end = offsets[v], offsets[v + np.uint32(1)]
            if end - begin > HUB:
                continue
            for i in range(begin, end):
                u = near[i]
                if moved[u] or offsets[u + np.uint32(1)] - offsets[u] > HUB:
                    continue
                its, value = _best(graph, labels, u, layout, held, work, rows)
                if its == NONE:
                    take(found, u)
                else:
                    put(found, u, value)
        for step in range(count - 1, kept - 1, -1):
            v = trail[step]
            held[labels[v]] -= loads[v]
            held[froms[step]] += loads[v]
            if rows.size:
                moved_in_rows(graph, v, labels[v], froms[step], layout.table, rows)
            labels[v] = froms[step]
            moved[v] = False
        total += best
        while found.size[0] > 0:
            found.size[0] -= 1
            found.places[found.vertices[found.size[0]]] = NONE
    return total


@njit(cache=True, nogil=True)
def _best(
    graph: Weighted, labels: Words, v: Any, layout: Layout, held: Floats, work: Scratch, rows: Rows
) -> tuple[np.uint32, np.int64]:
    """The best move of a vertex, from its row where there are rows."""
    if rows.size:
        return best_in_row(v, labels[v], graph.loads[v], layout, held, rows)
    return best_move(graph, labels, np.int64(v), layout, held, work, False)


@njit(cache=True, nogil=True)
def border(graph: Weighted, labels: Words) -> Words:
    """Vertices with a neighbour in another region. O(edges)."""
    found = np.empty(graph.loads.size, np.uint32)
    count = 0
    for v in range(graph.loads.size):
        for i in range(graph.offsets[v], graph.offsets[v + 1]):
            if labels[graph.near[i]] != labels[v]:
                found[count] = v
                count += 1
                break
    return found[:count]
