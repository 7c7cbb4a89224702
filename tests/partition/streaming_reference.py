"""The streaming rules by sets and loops, from the text of `tracecut.partition.streaming` alone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from tracecut.ir import LocalityGraph


def slow_labels(
    graph: LocalityGraph,
    k: int,
    rule: str,
    *,
    weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    balance: float | None = None,
    order: npt.ArrayLike | None = None,
) -> list[int]:
    """Labels of the jobs; `rule` is "powergraph", "libra" or "simple", `balance` None leaves out the bound."""
    rows = [graph.data[a:b].tolist() for a, b in pairwise(graph.offsets)]
    weight = [1.0] * len(rows) if weights is None else np.asarray(weights, float).tolist()
    share = [1.0 / k] * k if targets is None else (np.asarray(targets) / np.sum(targets)).tolist()
    equal = min(share) == max(share)
    scale = [1.0 if equal else 1.0 / (k * s) for s in share]
    mean = sum(weight) / k
    limit = [
        float("inf") if balance is None else balance * mean * (1 + 1e-12) * (1.0 if equal else k * s) for s in share
    ]
    degree = Counter(datum for row in rows for datum in row)
    unplaced = Counter(degree)
    held: dict[int, set[int]] = {datum: set() for datum in range(graph.n_data)}
    loads = [0.0] * k
    labels = [-1] * len(rows)

    def least(clusters: set[int], job: int, *, any_load: bool = False) -> int | None:
        fits = [c for c in clusters if any_load or loads[c] + weight[job] <= limit[c]]
        return min(fits, key=lambda c: (loads[c] * scale[c], c), default=None)

    for job in range(len(rows)) if order is None else np.asarray(order).tolist():
        row = list(dict.fromkeys(rows[job]))
        sets = [held[datum] for datum in row if held[datum]]
        union: set[int] = set().union(*sets)
        candidates = set(range(k))
        if sets and rule == "simple":
            candidates = union
        elif sets:
            candidates = set.intersection(*sets)
            if not candidates:
                known = [datum for datum in row if held[datum]]
                candidates = held[
                    min(known, key=lambda d: degree[d]) if rule == "libra" else max(known, key=lambda d: unplaced[d])
                ]
        chosen = least(candidates, job, any_load=not sets)
        if chosen is None:
            chosen = least(union, job)
        if chosen is None:
            chosen = least(set(range(k)), job, any_load=True)
        assert chosen is not None
        labels[job] = chosen
        loads[chosen] += weight[job]
        for datum in rows[job]:
            unplaced[datum] -= 1
            held[datum].add(chosen)
    return labels
