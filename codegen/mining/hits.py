"""HITS by the power method (TileSpMV, appendix F)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tracecut.codegen.ranks.communicator import Communicator
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.sparse.row_threads import usable
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError

from .both_products import both_products, piece_count
from .in_links import BLOCKS, Gathered, blocks_alone, by_degree, cut, gathered, renumbered
from .iterations import NOWHERE, Bounds, check_bounds, distribution, operator_for, run_step
from .lanczos import top_vector
from .links import Links, as_any_links, as_links
from .on_disk.disk_links import DiskLinks
from .on_disk.gathered_file import INTO, OUT, GatheredFile, gathered_file
from .on_ranks import Problem, bounds_of, hold, incoming, joined, refuse_operator
from .records import Communication, Scores, unless_converged
from .scales import by_largest
from .steps import scale_step, sum_step

ROUNDED = 1e-15  # what rounding leaves of a relative residual
LEAST = 1e-300  # of a sum of scores that is divided by


def hits(
    graph: Any,
    *,
    weight: str | None = "weight",
    start: Any = None,
    tol: float = 1e-8,
    norm: str = "l1",
    max_iter: int = 1000,
    device: str | Ranks = "cpu",
    threads: int | None = None,
    operator: Any = None,
) -> tuple[Scores, Scores]:
    """Hubs and authorities: h = A a and a = Aᵀ h, each scaled to the sum 1.

    One iteration makes both products, each from the newest scores of the other. That gives the scores of two iterations
    on the stacked matrix of the seed, in which both are computed side by side, for the same number of products. Where
    there are at least eight links for each node, both come from one sweep over the links, which are not turned.

    Args:
        start: the first hub scores: node → score, or an array (n). None: uniform.
        tol: the iteration ends when the norm of a change of the hub scores is below it.
        operator: a LinearOperator that stands for the graph's matrix in products with it and with its transpose.
        The others as of `pagerank`.

    Returns:
        The Scores of hubs and of authorities.

    Where the largest singular value belongs to several vectors (equal components of the graph, say) the result depends
    on `start`, and may differ from networkx's.

    Raises ArgumentError, naming the argument and the entry, for what cannot be used, among it a graph without links and
    a `start` that follows none; ConvergenceError, with both Scores, after `max_iter` iterations.
    O(links · iterations).
    """

    def prepared(take: Callable[..., Any]) -> tuple[Any, Floats, Bounds]:
        bounds, links = check_bounds(tol, norm, max_iter, device, threads), take(graph, weight)
        if links.size and not _any_link(links):
            raise ArgumentError("the graph has no links, from which hubs and authorities could follow")
        uniform = np.full(links.size, 1.0 / max(1, links.size))
        return links, uniform if start is None else distribution("start", start, links), bounds

    if isinstance(device, Ranks):
        return device.run(lambda comm: _rank_scores(comm, device, lambda: prepared(as_links), operator, threads))
    links, hubs, bounds = prepared(as_any_links if operator is None else as_links)
    n = links.size
    if n == 0:
        return Scores(np.zeros(0), 0, 0.0, links.nodes), Scores(np.zeros(0), 0, 0.0, links.nodes)
    if isinstance(links, DiskLinks):
        return _disk_scores(links, hubs, bounds)
    if operator is None:
        pieces = piece_count(links)
        return _gathered_scores(links, hubs, bounds) if pieces < 2 else _both_scores(links, hubs, bounds, pieces)
    return _operator_scores(links, operator_for(operator, n), hubs, bounds)


def _any_link(links: Links | DiskLinks) -> bool:
    if isinstance(links, DiskLinks):
        return links.count > 0
    return bool(links.targets.size) and (not links.weights.size or bool(links.weights.any()))


def _both_scores(links: Links, hubs: Floats, bounds: Bounds, pieces: int) -> tuple[Scores, Scores]:
    """One sweep over the links an iteration: its products are A x and what Aᵀ makes of it, for the next one."""
    both = both_products(by_largest(links), pieces)
    scale, threads, fresh = _scaling(both.graph, bounds), bounds.threads, np.empty_like(hubs)
    both.begin(hubs, threads)
    total = both.join(1.0, threads)
    iteration, residual = 0, np.inf
    while True:
        weight = both.sweep(1.0 / total, fresh, threads) if LEAST < total < np.inf else 0.0
        _check_weight(weight, "start")
        residual = scale(fresh, 1.0 / weight, hubs)
        hubs, fresh = fresh, hubs
        iteration += 1
        if residual < bounds.tol or iteration == bounds.max_iter:
            return _found(links.nodes, hubs, both.x() * (1.0 / total), (iteration, residual), bounds)
        total = both.join(1.0 / weight, threads)


def _gathered_scores(links: Links, hubs: Floats, bounds: Bounds) -> tuple[Scores, Scores]:
    links = by_largest(links)
    order, rank = by_degree(links.degrees())
    into, out = gathered(links, order), renumbered(links, order, rank)
    product = _products(into, out, bounds.threads)
    hubs, authorities, last = _iterate(product, _scaling(out, bounds), hubs[order], bounds, "start")
    return _found(links.nodes, hubs[rank], authorities[rank], last, bounds)


def _disk_scores(links: DiskLinks, hubs: Floats, bounds: Bounds) -> tuple[Scores, Scores]:
    """As `_gathered_scores`, with the links of each direction on disk."""
    order, rank = by_degree(links.out)
    with (
        gathered_file(links, order, rank, INTO, BLOCKS) as into,
        gathered_file(links, order, rank, OUT, BLOCKS) as out,
    ):
        blocks = [blocks_alone(file.blocks) for file in (out, into)]
        product = _file_products((out, into), blocks, bounds.threads)
        hubs, authorities, last = _iterate(product, _scaling(blocks[0], bounds), hubs[order], bounds, "start")
    return _found(None, hubs[rank], authorities[rank], last, bounds)


def _file_products(
    files: tuple[GatheredFile, GatheredFile], blocks: Sequence[Gathered], threads: int
) -> Callable[[bool, Floats, float, Floats], float]:
    """As `_products`, of A and of Aᵀ on disk."""

    def product(backward: bool, x: Floats, factor: float, y: Floats) -> float:
        files[backward].product(x, y, threads)
        sums = np.zeros((blocks[backward].cuts.size - 1, 1))
        run_step(sum_step, blocks[backward], threads, NOWHERE, x, factor, y, sums)
        return float(sums.sum())

    return product


def _rank_scores(
    comm: Communicator, device: Ranks, prepared: Callable[[], Any], operator: Any, threads: int | None
) -> tuple[Scores, Scores]:
    """On several ranks, each with the nodes that it owns; the transposed product takes the messages back."""

    def prepare() -> Problem:
        refuse_operator(operator)
        links, hubs, bounds = prepared()
        links = by_largest(links)
        numbers = (bounds.tol, bounds.norm, bounds.max_iter)
        return Problem(incoming(links), [hubs], numbers, by_degree(links.degrees())[1], links.nodes)

    held = hold(comm, device, prepare, threads, 1)
    bounds, nodes = bounds_of(held.numbers, held.threads), held.nodes
    if not held.size:
        return Scores(np.zeros(0), 0, 0.0, nodes), Scores(np.zeros(0), 0, 0.0, nodes)
    both, before, join = (held.product(turned=True), held.product()), comm.sent.vectors, joined(held, bounds)

    def product(backward: bool, x: Floats, factor: float, y: Floats) -> float:
        both[backward].times(x, y)
        y *= factor
        return held.sum(y.sum())

    scale = _scaling(held.blocks, bounds, join)
    hubs, authorities, last = _iterate(product, scale, held.vectors[0], bounds, "start")
    told = held.communication(both, before)
    return _found(nodes, held.whole(hubs), held.whole(authorities), last, bounds, told)


def _products(
    into: Gathered, out: Gathered, threads: int, multiply: Callable[[bool, Floats], Floats] | None = None
) -> Callable[[bool, Floats, float, Floats], float]:
    """y = factor · Aᵀ x if `backward`, else factor · A x; returns the sum of y.

    multiply: gives Aᵀ x or A x in place of the links of `into` and `out`.
    """
    sums = np.zeros((max(into.cuts.size, out.cuts.size) - 1, 1))

    def product(backward: bool, x: Floats, factor: float, y: Floats) -> float:
        graph = into if backward else out
        parts = graph.parts if multiply is None else NOWHERE
        if multiply is not None:
            y[:] = multiply(backward, x * factor)  # products of two weights may be out of range
            factor = 1.0
        run_step(sum_step, graph, threads, parts, x, factor, y, sums)
        return float(sums[: graph.cuts.size - 1].sum())

    return product


def _scaling(
    graph: Gathered, bounds: Bounds, join: Callable[[Floats], Floats] = lambda sums: sums
) -> Callable[[Floats, float, Floats], float]:
    """y = factor · y; returns the norm of its difference to x. join: puts the norms of several ranks together."""
    sums = np.zeros((graph.cuts.size - 1, 1))

    def scale(y: Floats, factor: float, x: Floats) -> float:
        run_step(scale_step, graph, bounds.threads, y, factor, x, bounds.norm, sums)
        return float(bounds.length(join(sums)[:, 0]))

    return scale


def lanczos_hits(links: Links, start: Floats, tol: float, restarts: int) -> tuple[Scores, Scores]:
    """As `hits`, whose last hub scores are `start`, for graphs on which its iteration takes too long.

    tol: of the singular vectors; as scipy's `svds` has it, its square bounds the residual of A Aᵀ h = σ² h.

    Raises ConvergenceError, with both Scores, after `restarts`, each of which makes at most twenty pairs of products.
    """
    links = by_largest(links)
    order, rank = by_degree(links.degrees())
    product = _products(gathered(links, order), renumbered(links, order, rank), usable(None))
    authorities, bound = np.empty(links.size), max(tol * tol, ROUNDED)

    def both(x: Floats) -> Floats:
        y = np.empty_like(x)
        product(True, x, 1.0, authorities)
        product(False, authorities, 1.0, y)
        return y

    vector, residual, iterations = top_vector(both, start[order], bound, restarts)
    hubs = np.maximum(vector if vector.sum() > 0 else -vector, 0.0)  # below 0 by rounding alone
    total = product(True, hubs, 1.0, authorities)
    found = [
        Scores(values[rank], iterations, residual, links.nodes) for values in (hubs / hubs.sum(), authorities / total)
    ]
    if residual > bound:
        error = unless_converged("HITS", found[0], bound)
        error.last = (found[0], found[1])
        raise error
    return found[0], found[1]


def _operator_scores(links: Links, operator: Any, hubs: Floats, bounds: Bounds) -> tuple[Scores, Scores]:
    turned = operator.T
    rows = np.arange(links.size + 1, dtype=np.uint32)
    graph = cut(rows, rows[:-1], np.zeros(0))  # for its blocks
    product = _products(graph, graph, bounds.threads, lambda backward, x: (turned if backward else operator) @ x)
    hubs, authorities, last = _iterate(product, _scaling(graph, bounds), hubs, bounds, "start, or the operator,")
    return _found(links.nodes, hubs, authorities, last, bounds)


def _iterate(
    product: Any, scale: Any, hubs: Floats, bounds: Bounds, source: str
) -> tuple[Floats, Floats, tuple[int, float]]:
    """Hubs, authorities, the iterations and the last one's residual."""
    fresh, authorities = np.empty_like(hubs), np.empty_like(hubs)
    iteration, residual, total = 0, np.inf, 1.0
    while iteration < bounds.max_iter and not residual < bounds.tol:
        total = product(True, hubs, 1.0, authorities)
        weight = product(False, authorities, 1.0 / total, fresh) if LEAST < total < np.inf else 0.0
        _check_weight(weight, source)
        residual = scale(fresh, 1.0 / weight, hubs)
        hubs, fresh = fresh, hubs
        iteration += 1
    authorities *= 1.0 / total
    return hubs, authorities, (iteration, residual)


def _check_weight(weight: float, source: str) -> None:
    if not 0 < weight < np.inf:
        raise ArgumentError(f"{source} gives no node that has links a score, so that none follows for any other")


def _found(
    nodes: Sequence[Any] | None,
    hubs: Floats,
    authorities: Floats,
    last: tuple[int, float],
    bounds: Bounds,
    communication: Communication | None = None,
) -> tuple[Scores, Scores]:
    """last: the iterations, and the last one's residual. Raises ConvergenceError."""
    found = [Scores(values, *last, nodes, communication) for values in (hubs, authorities)]
    if not last[1] < bounds.tol:
        error = unless_converged("HITS", found[0], bounds.tol)
        error.last = (found[0], found[1])
        raise error
    return found[0], found[1]
