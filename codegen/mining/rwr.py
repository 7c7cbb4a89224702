"""Random walks with restart (TileSpMV, appendix F)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError

from .both_ways import both_ways
from .in_links import Gathered, cut, row_sums
from .iterations import NOWHERE, Bounds, check_bounds, inverses, operator_for, places_of, probability, run_step
from .links import Links, as_links
from .records import Scores, unless_converged
from .scales import by_largest
from .steps import TOGETHER, rank_step, walk_step

Step = Callable[[Floats, Floats, float, Floats], None]  # old and new z, c, norms of blocks
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

    Four queries share one sweep over the links, their scores side by side in memory.

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
    inverses(degrees)  # which none of the steps checks
    values = np.empty((links.size, queries.size))
    starts, most, worst = rank[queries].astype(np.int64), 0, 0.0
    for first in range(0, queries.size, TOGETHER):
        count = min(TOGETHER, queries.size - first)
        own = np.full(TOGETHER if count > 1 else 1, -1, np.int64)
        own[:count] = starts[first : first + count]
        step = _walks(graph, degrees, own, bounds) if count > 1 else _walk(graph, degrees, int(own[0]), bounds)
        found, iterations, residual = _iterate(step, graph.cuts.size - 1, degrees, own, c, bounds)
        values[:, first : first + count] = found[rank, :count]
        most, worst = max(most, iterations), max(worst, residual)
    return Scores(values, most, worst, links.nodes)


def _walks(graph: Gathered, degrees: Floats, starts: Places, bounds: Bounds) -> Step:
    def step(shares: Floats, fresh: Floats, c: float, sums: Floats) -> None:
        numbers = (c, bounds.norm)
        run_step(walk_step, graph, bounds.threads, graph.parts, shares, fresh, degrees, starts, numbers, sums)

    return step


def _walk(graph: Gathered, degrees: Floats, start: int, bounds: Bounds) -> Step:
    """One walk is PageRank with all jumps to its start."""
    jumps, walk = np.zeros(degrees.size), np.zeros(degrees.size)
    jumps[start] = walk[start] = 1.0
    inverse = inverses(degrees)

    def step(shares: Floats, fresh: Floats, c: float, sums: Floats) -> None:
        numbers, both = (c, 0.0, bounds.norm), np.zeros((sums.shape[0], 2))
        vectors = (walk, shares[:, 0], fresh[:, 0], inverse, (jumps, jumps))
        run_step(rank_step, graph, bounds.threads, graph.parts, *vectors, numbers, both)
        sums[:, 0] = both[:, 0]

    return step


def _operator_walks(links: Links, operator: Any, queries: Places, c: float, bounds: Bounds) -> Scores:
    rows = np.arange(links.size + 1, dtype=np.uint32)
    graph = cut(rows, rows[:-1], np.zeros(0))  # for its blocks
    degrees = np.asarray(operator @ np.ones(links.size))
    groups = -(-queries.size // TOGETHER)
    own = np.full(groups * TOGETHER, -1, np.int64)
    own[: queries.size] = queries

    def step(shares: Floats, fresh: Floats, c: float, sums: Floats) -> None:
        numbers, products = (c, bounds.norm), operator @ shares
        for group in range(groups):
            part = slice(group * TOGETHER, (group + 1) * TOGETHER)
            new = np.ascontiguousarray(products[:, part])
            old = np.ascontiguousarray(shares[:, part])
            own_sums = np.zeros((sums.shape[0], TOGETHER))
            run_step(walk_step, graph, bounds.threads, NOWHERE, old, new, degrees, own[part], numbers, own_sums)
            fresh[:, part], sums[:, part] = new, own_sums

    values, iterations, residual = _iterate(step, graph.cuts.size - 1, degrees, own, c, bounds)
    return Scores(np.ascontiguousarray(values[:, : queries.size]), iterations, residual, links.nodes)


def _iterate(
    step: Step, blocks: int, degrees: Floats, starts: Places, c: float, bounds: Bounds
) -> tuple[Floats, int, float]:
    """The scores of each column, -1 in `starts` being one without a walk; iterations; the largest residual."""
    walks = np.flatnonzero(starts >= 0)
    alone = walks[degrees[starts[walks]] == 0.0]  # at a node without links a walk stays
    shares, sums = np.zeros((degrees.size, starts.size)), np.zeros((blocks, starts.size))
    moving = np.setdiff1d(walks, alone)
    shares[starts[moving], moving] = 1.0 / degrees[starts[moving]]
    fresh = np.zeros_like(shares)
    iteration, residual = 0, np.inf if moving.size else 0.0
    while iteration < bounds.max_iter and not residual < bounds.tol:
        step(shares, fresh, c, sums)
        shares, fresh = fresh, shares
        residual = float(bounds.length(sums).max())
        iteration += 1
    shares *= degrees[:, None]
    shares[:, alone] = 0.0
    shares[starts[alone], alone] = 1.0
    return shares, iteration, residual
