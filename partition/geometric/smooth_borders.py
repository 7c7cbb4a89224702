"""Cell boundaries that follow the graph: data at nearly equal distance to several centres join the cell of most of
their neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.integer_weights import uneven
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .voronoi_cells import Cells

ASIDE = 0.2  # a centre farther than the nearest by at most this share, in distance over reach, counts as equally near
SWEEPS = 12  # most sweeps; on meshes the last ones move one datum in a thousand
LARGEST = 32  # most data of a job that votes: larger jobs cost quadratic time and touch many cells anyway
LEAST = 1e-6  # votes are sums of 1 / (size - 1): smaller differences are rounding errors

Flags = npt.NDArray[np.bool_]


class CellGraph(NamedTuple):
    """The jobs that vote, and the cells between which data may move.

    Attributes:
        offsets, data: int64 (jobs + 1), uint32: the data of each job.
        starts, jobs: int64 (data + 1), uint32: the jobs of each datum.
        costs: float64 (jobs), the weight of each vote; empty means 1 each.
        points, centres: float64 (data, dimensions), (k, dimensions).
        inverse: float64 (k), one over the square of each reach.
    """

    offsets: Longs
    data: Words
    starts: Longs
    jobs: Words
    costs: Floats
    points: Floats
    centres: Floats
    inverse: Floats


def follow(
    graph: LocalityGraph, points: Floats, loads: Floats, labels: Ints, cells: Cells, limits: Floats, pool: ThreadPool
) -> Ints:
    """Labels in which data near a border have the label of most of their neighbours.

    A datum may go to the label of a neighbour whose centre is at most 1.2 times as far, over its reach, as the nearest
    centre among its own and its neighbours'. It goes to the label with most votes, on ties to the nearer centre, if
    there is room. The other data of each of its jobs share one vote, times the job's weight over the mean; jobs of more
    than 32 data have none.

    Each of up to 12 sweeps has two steps. All threads find the active data, at first those on borders and later those
    next to a datum that moved, whose best cell is another one. Then these are moved one after the other, each to the
    best cell in the present state. Every move reduces the cut, or keeps it and reduces a distance, so the sweeps
    terminate. The result does not depend on the threads.

    Args:
        graph: the locality graph.
        points: float64 (data, ≥ 3), from `voronoi_cells.padded`; cells: the centres and reaches that made the labels.
        loads: float64 (data); limits: float64 (k), which no move exceeds.
        labels: int32 (data).
        pool: the threads.

    Returns:
        int32 (data). O(pins + sweeps · data + pins on borders · 32).
    """
    k = limits.size
    starts, jobs = graph.transpose
    costs = uneven(graph.job_weights)
    each = floats(costs / costs.mean() if costs.size else costs)
    cell_graph = CellGraph(
        longs(graph.offsets), words(graph.data), longs(starts), words(jobs), each, floats(points),
        floats(cells.centres), floats(1.0 / (cells.reach * cells.reach)),
    )  # fmt: skip
    own = labels.view(np.uint32).copy()
    held = np.bincount(own, loads, k).astype(np.float64)
    active = np.zeros(own.size, np.bool_)
    pool.each(_activate, [(cell_graph, own, active, *part) for part in blocks(graph.n_jobs)])
    workspaces = pool.workspaces(lambda: (np.zeros(k), np.empty(k, np.uint32)))
    votes, seen = np.zeros(k), np.empty(k, np.uint32)
    parts = blocks(own.size) if pool.threads > 1 else [(0, own.size)]  # the movers do not depend on the cuts
    for _ in range(SWEEPS if k > 1 else 0):
        found = workspaces.each(_movers, [(cell_graph, own, active, *part) for part in parts])
        if _move(cell_graph, loads, limits, own, held, active, np.concatenate(found), votes, seen) == 0:
            break
    return own.view(np.int32)


@kept
def _activate(graph: CellGraph, labels: Words, active: Flags, begin: int, end: int) -> None:
    """Set `active` for the data of those jobs of [begin, end) that touch several cells."""
    offsets, data = graph.offsets, graph.data
    for job in range(begin, end):
        first, last = offsets[job], offsets[job + 1]
        if last - first > LARGEST:
            continue
        for pin in range(first + 1, last):
            if labels[data[pin]] != labels[data[first]]:
                for each in range(first, last):
                    active[data[each]] = True
                break


@kept
def _movers(graph: CellGraph, labels: Words, active: Flags, begin: int, end: int, votes: Floats, seen: Words) -> Words:
    """The active data of [begin, end) whose best cell is another one; clears the active flags."""
    found = np.empty(end - begin, np.uint32)
    count = 0
    for v in range(begin, end):
        if active[v]:
            active[v] = False
            u = np.uint32(v)
            if _best_cell(graph, labels, u, votes, seen) != labels[v]:
                found[count] = u
                count += 1
    return found[:count].copy()


@kept
def _move(
    graph: CellGraph, loads: Floats, limits: Floats, labels: Words, held: Floats, active: Flags, movers: Words,
    votes: Floats, seen: Words,
) -> int:  # fmt: skip
    """Move each of `movers` whose best cell is still another one with room; returns the number of moves.

    Activates their neighbours, and movers that found no room.
    """
    offsets, data, starts, jobs = graph.offsets, graph.data, graph.starts, graph.jobs
    moved = 0
    for v in movers:
        b = _best_cell(graph, labels, v, votes, seen)
        a = labels[v]
        if b == a:
            continue
        if held[b] + loads[v] > limits[b]:
            active[v] = True
            continue
        labels[v] = b
        held[a] -= loads[v]
        held[b] += loads[v]
        moved += 1
        for i in range(starts[v], starts[v + np.uint32(1)]):
            job = jobs[i]
            begin, end = offsets[job], offsets[job + np.uint32(1)]
            if end - begin <= LARGEST:
                for pin in range(begin, end):
                    active[data[pin]] = True
    return moved


@kept
def _best_cell(graph: CellGraph, labels: Words, v: np.uint32, votes: Floats, seen: Words) -> np.uint32:
    """The best cell of `v` by the rule of `follow`; `votes` is all zero before and after."""
    offsets, data, starts, jobs, costs, points, centres, inverse = graph
    own = labels[v]
    seen[0] = own
    count = 1
    for i in range(starts[v], starts[v + np.uint32(1)]):
        job = jobs[i]
        begin, end = offsets[job], offsets[job + np.uint32(1)]
        if end - begin < 2 or end - begin > LARGEST:
            continue
        vote = 1.0 / (end - begin - 1)
        if costs.size:
            vote *= costs[job]
        if vote == 0.0:
            continue
        for pin in range(begin, end):
            u = data[pin]
            if u != v:
                label = labels[u]
                if votes[label] == 0.0 and label != own:
                    seen[count] = label
                    count += 1
                votes[label] += vote
    best = own
    if count > 1:
        most = votes[own]
        nearest, here = np.inf, 0.0
        for j in range(count):
            away = _away(points, v, centres, inverse, seen[j])
            here = away if j == 0 else here
            nearest = min(nearest, away)
        allowed = nearest * (1.0 + ASIDE) * (1.0 + ASIDE)
        for j in range(1, count):
            label = seen[j]
            if votes[label] < most - LEAST:
                continue
            away = _away(points, v, centres, inverse, label)
            if away <= allowed and (votes[label] > most + LEAST or away < here):
                best, most, here = label, votes[label], away
    for j in range(count):
        votes[seen[j]] = 0.0
    return best


@njit(cache=True, nogil=True, inline="always")
def _away(points: Floats, v: np.uint32, centres: Floats, inverse: Floats, c: np.uint32) -> float:
    """Distance over reach, squared."""
    total = 0.0
    for j in range(points.shape[1]):
        total += (points[v, j] - centres[c, j]) ** 2
    return total * inverse[c]
