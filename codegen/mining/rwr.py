"""Random walks with restart (TileSpMV, appendix F)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.ranks.communicator import Communicator
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.sparse.orders import inverse_order
from tracecut.partition.inputs.on_disk.disk_matrix import check_room
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError

from .both_ways import both_ways
from .in_links import BLOCKS, by_degree, renumbered, row_sums
from .iterations import NORMS, Bounds, check_bounds, inverses, operator_for, places_of, probability
from .links import Links, as_any_links, as_links
from .on_disk.disk_links import DiskLinks
from .on_disk.gathered_file import both_ways_file
from .on_ranks import Held, Problem, bounds_of, entries_of, hold, refuse_operator
from .records import Scores, unless_converged
from .scales import by_largest
from .walks import WIDTHS, Walks, run_walks

Places = npt.NDArray[np.int64]
VECTOR_BYTES = 8 * 2 * WIDTHS[-1] + 48  # of each node: the walks under way, what is counted, numbers


def rwr(
    graph: Any,
    queries: Any,
    *,
    c: float = 0.9,
    weight: str | None = "weight",
    tol: float = 1e-6,
    norm: str = "l1",
    max_iter: int = 200,
    device: str | Ranks = "cpu",
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

    def prepared(take: Callable[..., Any]) -> tuple[Any, Places, float, Bounds]:
        bounds, share = check_bounds(tol, norm, max_iter, device, threads), probability("c", c)
        links = take(graph, weight)
        return links, _query_places(queries, links), share, bounds

    if isinstance(device, Ranks):
        return device.run(lambda comm: _rank_walks(comm, device, lambda: prepared(as_links), operator, threads))
    links, wanted, c, bounds = prepared(as_any_links if operator is None else as_links)
    if isinstance(links, DiskLinks):
        found = _disk_walks(links, wanted, c, bounds)
    elif operator is None:
        found = _gathered_walks(links, wanted, c, bounds)
    else:
        found = _operator_walks(links, operator_for(operator, links.size), wanted, c, bounds)
    if wanted.size and not found.residual < bounds.tol:
        raise unless_converged("the random walk", found, bounds.tol)
    return found


def _query_places(queries: Any, links: Links | DiskLinks) -> Places:
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


def _disk_walks(links: DiskLinks, queries: Places, c: float, bounds: Bounds) -> Scores:
    needed = links.size * (8 * queries.size + VECTOR_BYTES) + 32 * links.matrix.most
    check_room(f"random walks from {queries.size} of {links.size} nodes on disk", needed, links.matrix.memory)
    order, rank = by_degree(links.out + links.into)
    with both_ways_file(links, order, rank, BLOCKS) as file:
        degrees = np.zeros(links.size)
        for piece in file.pieces():
            values = np.zeros(0) if piece.values is None else piece.values
            degrees[piece.low : piece.high] = row_sums(piece.offsets, values)
        inverses(degrees)  # which the steps do not check
        walks = Walks(file, degrees, order, c, bounds)
        values, iterations, residual = run_walks(walks, rank[queries].astype(np.int64))
    return Scores(values.T, iterations, residual, None)


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


def _rank_walks(
    comm: Communicator, device: Ranks, prepared: Callable[[], Any], operator: Any, threads: int | None
) -> Scores:
    """On several ranks, each with the nodes that it owns; eight walks side by side."""

    def prepare() -> Problem:
        refuse_operator(operator)
        links, queries, c, bounds = prepared()
        graph, rank = both_ways(by_largest(links))
        graph = renumbered(Links(graph.offsets, graph.sources, graph.weights, None), rank, inverse_order(rank))
        degrees = row_sums(graph.offsets, graph.weights)
        numbers = (c, bounds.tol, bounds.norm, bounds.max_iter, *queries)
        return Problem(entries_of(graph), [degrees, inverses(degrees)], numbers, rank, links.nodes)

    held = hold(comm, device, prepare, threads, 2)
    bounds = bounds_of(held.numbers[1:4], held.threads)
    starts = np.array(held.numbers[4:], np.int64)
    scores, iterations, residual = np.zeros((held.share.own, starts.size)), 0, 0.0
    product, before = held.product(), comm.sent.vectors
    for first in range(0, starts.size, WIDTHS[-1]):
        walks = slice(first, first + WIDTHS[-1])
        most, worst = _walk(held, product, starts[walks], bounds, scores[:, walks])
        iterations, residual = max(iterations, most), max(residual, worst)
    told = held.communication([product], before)
    found = Scores(held.whole(scores), iterations, residual, held.nodes, told)
    if starts.size and not residual < bounds.tol:
        raise unless_converged("the random walk", found, bounds.tol)
    return found


def _walk(held: Held, product: Any, starts: Places, bounds: Bounds, scores: Floats) -> tuple[int, float]:
    """Some walks, each to its own end; scores: zeros (own, walks). The most steps, and the largest residual."""
    degrees, inverse = held.vectors
    c, owned = held.numbers[0], held.share.owned
    places, here = owned.local(starts), np.flatnonzero(owned.owners[starts] == held.comm.rank)  # that begin here
    scores[places[here], here] = 1.0
    seats = np.zeros(starts.size)
    seats[here] = degrees[places[here]]
    walks = np.flatnonzero(held.comm.rows(seats).sum(axis=0) > 0)  # at a node without links a walk stays
    before, worst, step = scores[:, walks], 0.0, 0
    while walks.size and step < bounds.max_iter:
        fresh = np.empty_like(before)
        product.times(np.ascontiguousarray(before * inverse[:, None]), fresh)
        fresh *= c
        mine = np.flatnonzero(np.isin(walks, here))
        fresh[places[walks[mine]], mine] += 1.0 - c
        change = np.abs(fresh - before)
        change = change if bounds.norm != NORMS["l2"] else change * change
        part = change.max(axis=0, initial=0.0) if bounds.norm == NORMS["max"] else change.sum(axis=0)
        residuals = bounds.length(held.comm.rows(part))
        step += 1
        ended = (residuals < bounds.tol) | (step == bounds.max_iter)
        scores[:, walks[ended]] = fresh[:, ended]
        worst = max(worst, float(residuals[ended].max(initial=0.0)))
        walks, before = walks[~ended], np.ascontiguousarray(fresh[:, ~ended])
    return step, worst
