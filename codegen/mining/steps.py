"""One pass over the links and the nodes for a whole step of an iteration, block by block of rows.

Each kernel works on the blocks [first, last) and leaves a row of `sums` for each; the caller adds these up in order.
"""

from __future__ import annotations

from typing import Any

from tracecut.codegen.sparse.gather import gather
from tracecut.support.lazy_kernels import kept

L1, L2, LARGEST = range(3)


@kept
def change(norm: int, so_far: float, difference: float) -> float:
    """A norm carried on by one entry: the sum, the sum of squares, or the largest."""
    if norm == L1:
        return so_far + abs(difference)
    if norm == L2:
        return so_far + difference * difference
    return max(so_far, abs(difference))


@kept
def rank_step(
    first: int,
    last: int,
    cuts: Any,
    graph: Any,
    x: Any,
    shares: Any,
    fresh: Any,
    inverse: Any,
    jumps: Any,
    numbers: Any,
    sums: Any,
) -> None:
    """A step of PageRank: x = α (Aᵀ z + lost · d) + (1 − α) p, with z = x / out-weights.

    graph: offsets, sources and weights; no offsets where `fresh` holds Aᵀ z. x: old and then new scores. shares: z.
    fresh: the new z. inverse: 1 / out-weights, 0 of dangling nodes. jumps: p and d. numbers: α, lost, and the norm.
    sums: norm of the change, and the score of the dangling nodes.
    """
    offsets, sources, weights = graph
    p, d = jumps
    alpha, lost, norm = numbers
    for block in range(first, last):
        moved, dangling = 0.0, 0.0
        for v in range(cuts[block], cuts[block + 1]):
            total = gather(offsets, sources, weights, shares, v) if offsets.size else fresh[v]
            score = alpha * (total + lost * d[v]) + (1.0 - alpha) * p[v]
            moved = change(norm, moved, score - x[v])
            x[v] = score
            fresh[v] = score * inverse[v]
            if inverse[v] == 0.0:
                dangling += score
        sums[block, 0], sums[block, 1] = moved, dangling


@kept
def sum_step(first: int, last: int, cuts: Any, graph: Any, x: Any, factor: float, y: Any, sums: Any) -> None:
    """y = factor · A x and the sum of y; no offsets in `graph` where y holds A x."""
    offsets, sources, weights = graph
    for block in range(first, last):
        total = 0.0
        for v in range(cuts[block], cuts[block + 1]):
            y[v] = factor * (gather(offsets, sources, weights, x, v) if offsets.size else y[v])
            total += y[v]
        sums[block, 0] = total


@kept
def scale_step(first: int, last: int, cuts: Any, y: Any, factor: float, x: Any, norm: int, sums: Any) -> None:
    """y = factor · y, and the norm of its difference to x."""
    for block in range(first, last):
        moved = 0.0
        for v in range(cuts[block], cuts[block + 1]):
            y[v] *= factor
            moved = change(norm, moved, y[v] - x[v])
        sums[block, 0] = moved
