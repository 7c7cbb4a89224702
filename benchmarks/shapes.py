"""Graphs of extreme shapes, by name: each a function of m that gives one of about 2 m pins."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from tracecut.ir import LocalityGraph

EDGES = LocalityGraph.from_edges


def ids(size: int) -> npt.NDArray[np.int32]:
    return np.arange(size, dtype=np.int32)


def random_graph(m: int, n: int | None = None) -> LocalityGraph:
    """What the others are compared with: m edges among n vertices, a third as many by itself."""
    size = m // 3 if n is None else n
    return EDGES(*np.random.default_rng(0).integers(0, size, (2, m), dtype=np.int32), size)


def clique(m: int) -> LocalityGraph:
    u, v = np.triu_indices(math.isqrt(2 * m), 1)
    return EDGES(u.astype(np.int32), v.astype(np.int32))


def dense(m: int) -> LocalityGraph:
    """Every job touches every datum."""
    side = math.isqrt(2 * m)
    return LocalityGraph(side * np.arange(side + 1), np.tile(ids(side), side), side)


def job_beside(m: int) -> LocalityGraph:
    """A random graph, and one job of all its data."""
    pairs = random_graph(m - m // 7)
    offsets = np.append(pairs.offsets, pairs.n_pins + pairs.n_data)
    return LocalityGraph(offsets, np.append(pairs.data, ids(pairs.n_data)), pairs.n_data)


def datum_beside(m: int) -> LocalityGraph:
    """A random graph, and an edge from one datum more to each of its own as often as it has edges."""
    pairs = random_graph(m // 2)
    hub = np.full(m // 2, pairs.n_data, np.int32)
    u, v = pairs.data[0::2], pairs.data[1::2]
    return EDGES(np.concatenate([u, hub]), np.concatenate([v, ids(m // 2) % pairs.n_data]))


SHAPES: dict[str, Callable[[int], LocalityGraph]] = {
    "star": lambda m: EDGES(0 * ids(m), ids(m) + 1),
    "double star": lambda m: EDGES(ids(m) % 2, ids(m) + 2),
    "hubs": lambda m: EDGES(ids(m) % math.isqrt(m), ids(m) + math.isqrt(m)),
    "path": lambda m: EDGES(ids(m), ids(m) + 1),
    "caterpillar": lambda m: EDGES(np.maximum(ids(m) // 2 * 2 - 2 * (ids(m) % 2 == 0), 0), ids(m) + 1),
    "clique": clique,
    "dense": dense,
    "one job": lambda m: LocalityGraph([0, 2 * m], ids(2 * m), 2 * m),
    "one job beside": job_beside,
    "one datum": lambda m: LocalityGraph(np.arange(2 * m + 1), 0 * ids(2 * m), 1),
    "one datum beside": datum_beside,
    "isolated": lambda m: EDGES(ids(100), ids(100) + 1, 2 * m),
    "few": lambda m: EDGES(ids(5), ids(5) + 1),
}
