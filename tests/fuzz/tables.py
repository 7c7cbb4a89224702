"""Contents of index tables."""

from __future__ import annotations

import random

INDEX_TYPES = {"int": 60, "unsigned": 10, "long": 10, "short": 10, "unsigned char": 10}
TABLES = {"random": 40, "permutation": 25, "injective": 15, "near": 12, "constant": 3, "sorted": 5}
DISTINCT = ("permutation", "injective")


def table_values(draw: random.Random, kind: str, size: int, nodes: int) -> list[int]:
    """`size` numbers of nodes. Kinds without duplicates need at least as many nodes, and are random otherwise."""
    if kind in DISTINCT and nodes < size:
        kind = "random"
    if kind == "constant":
        return [draw.randrange(nodes)] * size
    if kind == "permutation":
        return draw.sample(range(size), size)
    if kind == "injective":
        return draw.sample(range(nodes), size)
    if kind == "near":
        return [min(nodes - 1, max(0, place * nodes // size + draw.randint(-2, 2))) for place in range(size)]
    found = [draw.randrange(nodes) for _ in range(size)]
    return sorted(found) if kind == "sorted" else found
