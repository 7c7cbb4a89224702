"""Slow dense versions of the iterations, and graphs to compare on."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Dense = npt.NDArray[np.float64]


def transition(dense: Dense) -> tuple[Dense, npt.NDArray[np.bool_]]:
    """Rows scaled to the sum 1, and which nodes have no links."""
    sums = dense.sum(axis=1)
    return dense / np.where(sums > 0, sums, 1.0)[:, None], sums == 0


def exact_pagerank(dense: Dense, alpha: float, p: Dense, d: Dense) -> Dense:
    """The fixed point, by solving its linear system."""
    walk, lost = transition(dense)
    walk = walk + lost[:, None] * d
    return np.asarray(np.linalg.solve(np.eye(len(dense)) - alpha * walk.T, (1 - alpha) * p))


def random_graph(n: int, links: int, seed: int, *, weighted: bool = True) -> sp.csr_array[Any]:
    """A directed graph with hubs, self-loops, parallel links and nodes without links."""
    draw = np.random.default_rng(seed)
    u, v = (np.minimum((n * draw.random(links) ** 2).astype(np.int64), n - 1) for _ in range(2))
    u, v = draw.permutation(n)[u], draw.permutation(n)[v]
    values = draw.integers(1, 5, links).astype(float) if weighted else np.ones(links)
    return sp.csr_array((values, (u, v)), shape=(n, n))


def as_networkx(matrix: sp.csr_array[Any]) -> nx.DiGraph[Any]:
    return nx.from_scipy_sparse_array(matrix, create_using=nx.DiGraph)
