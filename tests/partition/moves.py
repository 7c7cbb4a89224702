"""The rule of greedy moves in words, for the tests of every place that follows it."""

from __future__ import annotations

import numpy as np


def moved(rows: list[dict[int, int]], loads: np.ndarray, limits: np.ndarray, labels: list[int], v: int) -> int:
    """Where a vertex goes, by the rule in words."""
    own, k = labels[v], limits.size
    held, sizes = np.bincount(labels, loads, k), np.bincount(labels, minlength=k)
    links: dict[int, int] = {}
    for u, weight in rows[v].items():
        links[labels[u]] = links.get(labels[u], 0) + weight
    fullness = {part: (held[part] + loads[v]) / limits[part] for part in links if part != own}
    here = held[own] / limits[own]
    if sizes[own] == 1 or not fullness:
        return own
    fitting = [part for part in fullness if held[part] + loads[v] <= limits[part]]
    best = max(fitting, key=lambda part: (links[part], -fullness[part]), default=own)
    if held[own] > limits[own]:
        refuge = min(fullness, key=lambda part: fullness[part])
        return best if fitting else (refuge if fullness[refuge] < here else own)
    if fitting and (links[best], -fullness[best]) > (links.get(own, 0), -here):
        return best
    return own
