"""PageRank by the power method (TileSpMV, appendix F)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tracecut.codegen.ranks.communicator import Communicator
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.support.arrays import Floats

from .in_links import BLOCKS, Gathered, blocks_alone, by_degree, cut, gathered, out_weights
from .iterations import (
    NOWHERE,
    Bounds,
    check_bounds,
    distribution,
    inverses,
    operator_for,
    probability,
    run_step,
)
from .links import Links, as_any_links, as_links
from .on_disk.disk_links import DiskLinks
from .on_disk.gathered_file import INTO, gathered_file
from .on_ranks import Problem, bounds_of, hold, incoming, joined, refuse_operator
from .records import Scores, unless_converged
from .scales import by_rows
from .steps import rank_step


def pagerank(
    graph: Any,
    *,
    alpha: float = 0.85,
    personalization: Any = None,
    dangling: Any = None,
    weight: str | None = "weight",
    start: Any = None,
    tol: float = 1e-6,
    norm: str = "l1",
    max_iter: int = 100,
    device: str | Ranks = "cpu",
    threads: int | None = None,
    operator: Any = None,
) -> Scores:
    """The PageRank of the nodes: x = α (Wᵀ x + lost · d) + (1 − α) p, W being the matrix scaled to rows of sum 1.

    Args:
        graph: a square scipy.sparse matrix (entry (u, v): a link from u to v), a tuple of arrays (u, v) or (u, v, w), a
            networkx graph (an undirected edge is a link both ways), the path of a file, or a matrix on disk
            (`tracecut.stream_matrix`), with which an iteration needs its vectors and a few rows in memory.
        alpha: the share that follows links, from 0 to 1; with 1 it need not converge.
        personalization: p, where jumps go: node → share, or an array (n); scaled to the sum 1. None: uniform.
        dangling: d, where those go that are at a node without links (`lost` is their sum); in the same form. None: p.
        weight: the edge attribute of a networkx graph, 1 where it is missing; None: every link of any graph weighs 1.
        start: the first iterate, in the form of `personalization`. None: uniform.
        tol: the iteration ends when the norm of a change is below it. networkx's `tol` is `tol / n` here.
        norm: "l1", "l2" or "max".
        max_iter: the most iterations.
        device: "cpu", or `tracecut.Ranks(…)`, which takes `graph` and vectors from the first of several ranks.
        threads: at most this many; None: one per usable core. The result does not depend on it.
        operator: a LinearOperator that stands for the graph's matrix in the products with its transpose; weights of
            nodes still come from the graph.

    Returns:
        Scores, which sum to 1, in the order of the nodes.

    Raises ArgumentError, naming the argument and the entry, for what cannot be used; ConvergenceError, with the last
    Scores, after `max_iter` iterations. O(links · iterations).
    """

    def prepared(take: Callable[..., Any]) -> tuple[Any, float, tuple[Floats, ...], Bounds]:
        bounds, share = check_bounds(tol, norm, max_iter, device, threads), probability("alpha", alpha)
        links = take(graph, weight)
        uniform = np.full(links.size, 1.0 / max(1, links.size))
        p = uniform if personalization is None else distribution("personalization", personalization, links)
        d = p if dangling is None else distribution("dangling", dangling, links)
        x = uniform.copy() if start is None else distribution("start", start, links)
        return links, share, (x, p, d), bounds

    if isinstance(device, Ranks):
        return device.run(lambda comm: _rank_ranks(comm, device, lambda: prepared(as_links), operator, threads))
    links, alpha, (x, p, d), bounds = prepared(as_any_links if operator is None else as_links)
    n = links.size
    if n == 0:
        return Scores(np.zeros(0), 0, 0.0, links.nodes)
    if isinstance(links, DiskLinks):
        found = _disk_ranks(links, alpha, (x, p, d), bounds)
    elif operator is None:
        found = _gathered_ranks(links, alpha, (x, p, d), bounds)
    else:
        found = _operator_ranks(links, operator_for(operator, n), alpha, (x, p, d), bounds)
    if not found.residual < bounds.tol:
        raise unless_converged("PageRank", found, bounds.tol)
    return found


def _gathered_ranks(links: Links, alpha: float, vectors: tuple[Floats, ...], bounds: Bounds) -> Scores:
    links = by_rows(links)
    order, rank = by_degree(links.degrees())
    graph = gathered(links, order)
    x, p, d = (vector[order] for vector in vectors)
    inverse = inverses(out_weights(links)[order])

    def step(shares: Floats, fresh: Floats, numbers: tuple[float, float, int], sums: Floats) -> None:
        run_step(rank_step, graph, bounds.threads, graph.parts, x, shares, fresh, inverse, (p, d), numbers, sums)

    iterations, residual = _iterate(step, graph, (x, inverse), alpha, bounds)
    return Scores(x[rank], iterations, residual, links.nodes)


def _disk_ranks(links: DiskLinks, alpha: float, vectors: tuple[Floats, ...], bounds: Bounds) -> Scores:
    """As in memory, with the products made before the steps: the same sums in the same order."""
    order, rank = by_degree(links.out)
    x, p, d = (vector[order] for vector in vectors)
    inverse = inverses(links.weights[order])
    with gathered_file(links, order, rank, INTO, BLOCKS) as file:
        blocks = blocks_alone(file.blocks)

        def step(shares: Floats, fresh: Floats, numbers: tuple[float, float, int], sums: Floats) -> None:
            file.product(shares, fresh, bounds.threads)
            run_step(rank_step, blocks, bounds.threads, NOWHERE, x, shares, fresh, inverse, (p, d), numbers, sums)

        iterations, residual = _iterate(step, blocks, (x, inverse), alpha, bounds)
    return Scores(x[rank], iterations, residual, None)


def _operator_ranks(links: Links, operator: Any, alpha: float, vectors: tuple[Floats, ...], bounds: Bounds) -> Scores:
    x, p, d = vectors
    inverse = inverses(out_weights(links))
    turned = operator.T
    rows = np.arange(links.size + 1, dtype=np.uint32)
    graph = cut(rows, rows[:-1], np.zeros(0))  # for its blocks

    def step(shares: Floats, fresh: Floats, numbers: tuple[float, float, int], sums: Floats) -> None:
        fresh[:] = turned @ shares
        run_step(rank_step, graph, bounds.threads, NOWHERE, x, shares, fresh, inverse, (p, d), numbers, sums)

    iterations, residual = _iterate(step, graph, (x, inverse), alpha, bounds)
    return Scores(x, iterations, residual, links.nodes)


def _rank_ranks(
    comm: Communicator, device: Ranks, prepared: Callable[[], Any], operator: Any, threads: int | None
) -> Scores:
    """On several ranks, each with the nodes that it owns."""

    def prepare() -> Problem:
        refuse_operator(operator)
        links, alpha, vectors, bounds = prepared()
        links = by_rows(links)
        inverse = inverses(out_weights(links))
        numbers = (alpha, bounds.tol, bounds.norm, bounds.max_iter)
        return Problem(incoming(links), [*vectors, inverse], numbers, by_degree(links.degrees())[1], links.nodes)

    held = hold(comm, device, prepare, threads, 4)
    x, p, d, inverse = held.vectors
    alpha, bounds = held.numbers[0], bounds_of(held.numbers[1:], held.threads)
    if not held.size:
        return Scores(np.zeros(0), 0, 0.0, held.nodes)
    product, before, blocks = held.product(), comm.sent.vectors, held.blocks

    def step(shares: Floats, fresh: Floats, numbers: tuple[float, float, int], sums: Floats) -> None:
        product.times(shares, fresh)
        run_step(rank_step, blocks, bounds.threads, NOWHERE, x, shares, fresh, inverse, (p, d), numbers, sums)

    iterations, residual = _iterate(step, blocks, (x, inverse), alpha, bounds, joined(held, bounds))
    told = held.communication([product], before)
    found = Scores(held.whole(x), iterations, residual, held.nodes, told)
    if not residual < bounds.tol:
        raise unless_converged("PageRank", found, bounds.tol)
    return found


def _iterate(
    step: Any,
    graph: Gathered,
    vectors: tuple[Floats, Floats],
    alpha: float,
    bounds: Bounds,
    join: Callable[[Floats], Floats] = lambda sums: sums,
) -> tuple[int, float]:
    """vectors: x, which is overwritten, and 1 / out-weights. join: puts the sums of several ranks together."""
    x, inverse = vectors
    sums = np.zeros((graph.cuts.size - 1, 2))
    shares, fresh = x * inverse, np.empty_like(x)
    first = np.array([[0.0, x[inverse == 0.0].sum()]])
    lost, iteration, residual = float(join(first)[:, 1].sum()), 0, np.inf
    while iteration < bounds.max_iter and not residual < bounds.tol:
        step(shares, fresh, (alpha, lost, bounds.norm), sums)
        shares, fresh = fresh, shares
        rows = join(sums)
        residual, lost = float(bounds.length(rows[:, 0])), float(rows[:, 1].sum())
        iteration += 1
    return iteration, residual
