"""Random walks with restart (TileSpMV, appendix F)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.orders import inverse_order
from tracecut.support.errors import ArgumentError

from .both_ways import both_ways
from .in_links import row_sums
from .iterations import Bounds, check_bounds, inverses, operator_for, places_of, probability
from .links import Links, as_links
from .records import Scores, unless_converged
from .scales import by_largest
from .walks import Walks, run_walks

Places = npt.NDArray[np.int64]


def rwr(
    graph: Any,
    queries: Any,
    *,
    c: float = 0.9,
    weight: str | None = "weight",
    tol: float = 1e-6,
    norm: str = "l1",
    max_iter: int = 200,
    device: str = "cpu",
    threads: int | None = None,
    operator: Any = None,
) -> Scores:
    """Relevance of all nodes to each query: r = c W r + (1 − c) e, W being the matrix scaled to columns of sum 1.

    Links count both ways: between two nodes there is one, with the larger of the weights of both directions. The scores
    are networkx's PageRank of the undirected graph with alpha = c and all of the personalization at the query.

    Args:
        queries: a list or array of nodes, or one node.
        c: the share that follows links, from 0 to 1; with 1 − c the walk restarts at the query.
        operator: a LinearOperator that stands for the symmetric matrix of the undirected graph; it gets all queries at
            a time.
        The others as of `pagerank`.

    Returns:
        Scores with values of the shape (n, queries), each column of the sum 1.

    Eight queries share one sweep over the links, their scores side by side in memory; where one has converged, the next
    begins. Scores of a query have the same bits whatever the others are.

    Raises ArgumentError, naming the argument and the entry, for what cannot be used; ConvergenceError, with the last
    Scores, after `max_iter` iterations. O(links · iterations · queries).
    """
    bounds = check_bounds(tol, norm, max_iter, device, threads)
    c = probability("c", c)
    links = as_links(graph, weight)
    wanted = _query_places(queries, links)
    if operator is None:
        found = _gathered_walks(links, wanted, c, bounds)
    else:
        found = _operator_walks(links, operator_for(operator, links.size), wanted, c, bounds)
    if wanted.size and not found.residual < bounds.tol:
        raise unless_converged("the random walk", found, bounds.tol)
    return found


def _query_places(queries: Any, links: Links) -> Places:
    if isinstance(queries, np.ndarray):
        if queries.ndim > 1:
            raise ArgumentError(f"queries has the shape {queries.shape}, a list of nodes was expected")
        queries = queries.tolist()
    if isinstance(queries, list | range):
        return places_of("queries", list(queries), links)
    return places_of("queries", [queries], links)


def _gathered_walks(links: Links, queries: Places, c: float, bounds: Bounds) -> Scores:
    graph, rank = both_ways(by_largest(links))
    degrees = row_sums(graph.offsets, graph.weights)
    inverses(degrees)  # which the steps do not check
    walks = Walks(graph, degrees, inverse_order(rank), c, bounds)
    values, iterations, residual = run_walks(walks, rank[queries].astype(np.int64))
    return Scores(values.T, iterations, residual, links.nodes)


def _operator_walks(links: Links, operator: Any, queries: Places, c: float, bounds: Bounds) -> Scores:
    degrees = np.asarray(operator @ np.ones(links.size))
    inverse, walks = inverses(degrees), np.arange(queries.size)
    values = np.zeros((links.size, queries.size))
    values[queries, walks] = 1.0
    alone = degrees[queries] == 0.0  # at a node without links a walk stays
    shares, moving = values * inverse[:, None], walks[~alone]
    iteration, residual = 0, np.inf if moving.size else 0.0
    while iteration < bounds.max_iter and not residual < bounds.tol:
        scores = c * (operator @ shares)
        scores[queries[moving], moving] += 1.0 - c
        change = scores - (shares * degrees[:, None])
        residual = float(bounds.norm_of(change).max())
        shares = scores * inverse[:, None]
        iteration += 1
    values[:, moving] = shares[:, moving] * degrees[:, None]
    return Scores(values, iteration, residual, links.nodes)
