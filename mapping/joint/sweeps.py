"""Sweeps over a border: each vertex goes where it costs least, if that gains; then those around what has moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

from .core_regions import Layout
from .moves import Scratch, best_move

HUB = 256  # neighbours of a vertex from which on its moves do not call the neighbours


@kept
def sweep(graph: Weighted, labels: Words, layout: Layout, held: Floats, work: Scratch, rounds: int, seed: Any) -> Any:
    """At most so many sweeps; what the cost falls by.

    Args:
        graph: the level.
        labels: uint32 (vertices), changed in place; held: float64 (regions), the load of each, kept up to date.
        layout: the regions. No move exceeds a limit.
        work: room. rounds: sweeps at most; the first sees the border, each later one what lies around the moves of
            the one before.
        seed: of the order of each sweep.

    A vertex waits at most once, in this sweep or for the next. A move that gains nothing is made where it evens out the
    loads. O(edges + rounds · moves · degree · (degree + (regions around)²)).
    """
    order, waits = border(graph, labels), np.zeros(labels.size, np.bool_)
    for v in order:
        waits[v] = True
    total = np.int64(0)
    for turn in range(rounds):
        shuffle(order, seed + 31 * turn)
        following = np.empty(labels.size, np.uint32)
        count = 0
        for v in order:
            waits[v] = False
            to, gain = best_move(graph, labels, np.int64(v), layout, held, work, False)
            if to == NONE or gain < 0:
                continue
            own, load = labels[v], graph.loads[v]
            if gain == 0 and held[to] + load >= held[own]:
                continue
            held[own] -= load
            held[to] += load
            labels[v] = to
            total += gain
            begin, end = graph.offsets[v], graph.offsets[v + np.uint32(1)]
            if end - begin > HUB:
                continue
            for i in range(begin, end):
                u = graph.near[i]
                if not waits[u]:
                    waits[u] = True
                    following[count] = u
                    count += 1
        if count == 0:
            break
        order = following[:count]
    return total


@kept
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
