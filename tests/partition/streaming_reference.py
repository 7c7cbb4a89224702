"""The streaming rules by sets and loops, from the text of `tracecut.partition.streaming.vertex_cut` alone."""

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


def slow_again(
    graph: LocalityGraph, k: int, labels: list[int], *, order: npt.ArrayLike, weights: npt.ArrayLike, balance: float
) -> list[int]:
    """One more pass with equal targets: each job goes where most of its data are, by the text of `place_again`."""
    rows = [graph.data[a:b].tolist() for a, b in pairwise(graph.offsets)]
    weight = np.asarray(weights, float).tolist()
    degree = Counter(datum for row in rows for datum in row)
    pins = Counter((datum, labels[job]) for job, row in enumerate(rows) for datum in row)
    limit = balance * (sum(weight) / k) * (1 + 1e-12)
    loads = [0.0] * k
    for job, label in enumerate(labels):
        loads[label] += weight[job]
    found = list(labels)
    for job in np.asarray(order).tolist():
        here = found[job]
        loads[here] -= weight[job]
        for datum in rows[job]:
            pins[datum, here] -= 1
        row = list(dict.fromkeys(rows[job]))

        def worth(cluster: int, row: list[int] = row) -> tuple[int, float, float, int]:
            present = sum(pins[datum, cluster] > 0 for datum in row)
            share = 0.0
            for datum in row:
                share += pins[datum, cluster] * (1.0 / degree[datum])
            return present, share, -loads[cluster], -cluster

        held = [c for c in range(k) if worth(c)[0] and loads[c] + weight[job] <= limit]
        best = max({here, *held}, key=worth)
        found[job] = best
        loads[best] += weight[job]
        for datum in rows[job]:
            pins[datum, best] += 1
    return found
