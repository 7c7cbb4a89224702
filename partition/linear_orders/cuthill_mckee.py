"""The Cuthill-McKee walk over a locality graph, the kernel under every reverse Cuthill-McKee order here.

The walk goes from datum to datum through the jobs that touch both. Three forms of the graph serve it: the bipartite
incidence as it is, in which a search expands each job once; for jobs of two data the plain adjacency of the data,
which saves one indirection per neighbour; and where each job has a datum of its own (the row of a square matrix),
the adjacency of that datum with the others of the job.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.plain_graphs import has_pairs
from tracecut.partition.datastructures.radix_sort import stable_order
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

DONE = np.uint32(0xFFFFFFFF)
SHORT = 24  # lists up to this length are sorted by insertion
_NO_WORDS = words(np.zeros(0, np.uint32))
_NO_ROWS = longs(np.zeros(1, np.int64))


def walk(graph: LocalityGraph, labels: Words | None = None, *, sweeps: int = 1, limit: int | None = None) -> Words:
    """All data of `graph` in reverse Cuthill-McKee order, over all index spaces together.

    Components follow each other by their smallest datum, so that what was already in order stays in order. Each
    starts at the end of a longest breadth-first path found in `sweeps` tries (George and Liu 1979), and neighbours
    are taken by ascending degree, ties as met. A datum of more than `limit` pins joins everything to everything
    and would make one level of the whole graph: such data are left out of the walk and come after it. Data that
    no job touches come last, in their old order.

    Args:
        graph: the locality graph; any number of data per job, duplicates included.
        labels: uint32 (data) or None. With labels, the walk stays inside the data of one label, and the result
            is ordered by label first (hubs, then untouched data, at the end of their label).
        sweeps: breadth-first searches per component for a good start; 0 takes the smallest datum itself.
        limit: pins above which a datum is a hub; None takes `hub_limit`.

    Returns:
        uint32 (data), a permutation. O(pins · (sweeps + 1) + data), plus the sorting of each neighbour list.
    """
    degree = words(graph.degrees().astype(np.uint32))
    limit = hub_limit(graph.n_jobs) if limit is None else limit
    if labels is None:
        seeds, labels = np.arange(graph.n_data, dtype=np.uint32), _NO_WORDS
    else:
        seeds = words(stable_order(labels))
    if has_pairs(graph) or has_centres(graph):
        starts, near = _stars(longs(graph.offsets), words(graph.data), degree, limit)
        job_starts, pins = _NO_ROWS, _NO_WORDS
    else:
        starts, jobs = graph.transpose
        near, job_starts, pins = words(jobs), longs(graph.offsets), words(graph.data)
    order = _walk(longs(starts), words(near), job_starts, pins, degree, words(labels), words(seeds), limit, sweeps)
    return order[stable_order(labels[order])] if labels.size else order


def hub_limit(n_jobs: int) -> int:
    """Pins above which a datum counts as a hub: ten times the square root of the number of jobs, at least 16."""
    return max(16, int(10 * n_jobs**0.5))


def has_centres(graph: LocalityGraph) -> bool:
    """Whether every job has pins, and no two jobs the same first one: a datum of its own. O(jobs)."""
    if graph.n_jobs == 0 or graph.n_jobs > graph.n_data or bool((np.diff(graph.offsets) < 2).any()):
        return False
    return int(np.bincount(graph.data[graph.offsets[:-1]]).max()) == 1


@kept
def _stars(offsets: Longs, pins: Words, degree: Words, limit: int) -> tuple[Longs, Words]:
    """CSR neighbours of each datum: the first pin of a job and each other one, both ways, no self-loops, no hubs."""
    size = degree.size
    starts = np.zeros(size + 1, np.int64)
    for job in range(offsets.size - 1):
        u = pins[offsets[job]]
        for at in range(offsets[job] + 1, offsets[job + 1]):
            v = pins[at]
            if u != v and degree[u] <= limit and degree[v] <= limit:
                starts[u + 1] += 1
                starts[v + 1] += 1
    for v in range(size):
        starts[v + 1] += starts[v]
    near = np.empty(starts[size], np.uint32)
    place = starts[:size].copy()
    for job in range(offsets.size - 1):
        u = pins[offsets[job]]
        for at in range(offsets[job] + 1, offsets[job + 1]):
            v = pins[at]
            if u != v and degree[u] <= limit and degree[v] <= limit:
                near[place[u]] = v
                place[u] += 1
                near[place[v]] = u
                place[v] += 1
    return starts, near


class Walk(NamedTuple):
    """A graph and how far the searches on it have come.

    Attributes:
        starts, near: int64 (data + 1), uint32: the neighbours of each datum, or its jobs where `pins` are not empty.
        job_starts, pins: int64 (jobs + 1), uint32: the data of each job.
        degree: uint32 (data); labels: uint32 (data), empty for none: a search stays inside the data of one label.
        mark: uint32 (data), the last search that reached a datum, DONE once the datum has its place.
        job_mark: uint32 (jobs), the last search that expanded a job.
        order: uint32 (data), the data that have their place, then the queue of the search.
    """

    starts: Longs
    near: Words
    job_starts: Longs
    pins: Words
    degree: Words
    labels: Words
    mark: Words
    job_mark: Words
    order: Words


@kept
def _search(root: np.uint32, begin: int, stamp: np.uint32, place: bool, walk: Walk) -> tuple[int, int, int]:
    """Breadth-first search from `root` into `order[begin:]`; with `place`, in Cuthill-McKee order and for good.

    Returns where the last level begins and ends, and its number.
    """
    starts, near, job_starts, pins, degree, labels, mark, job_mark, order = walk
    seal = DONE if place else stamp
    mark[root] = seal
    order[begin] = root
    head, tail, level = begin, begin + 1, 0
    while True:
        end = tail
        for at in range(head, end):
            v = order[at]
            first = tail
            for i in range(starts[v], starts[v + 1]):
                if pins.size == 0:
                    w = near[i]
                    if mark[w] < stamp and (labels.size == 0 or labels[w] == labels[v]):
                        mark[w] = seal
                        order[tail] = w
                        tail += 1
                    continue
                job = near[i]
                if job_mark[job] >= stamp:
                    continue
                job_mark[job] = stamp
                for pin in range(job_starts[job], job_starts[job + 1]):
                    w = pins[pin]
                    if mark[w] < stamp and (labels.size == 0 or labels[w] == labels[v]):
                        mark[w] = seal
                        order[tail] = w
                        tail += 1
            if place and tail - first > 1:
                _sort_by_degree(order[first:tail], degree)
        if tail == end:
            return head, tail, level
        head = end
        level += 1


@kept
def _walk(
    starts: Longs,
    near: Words,
    job_starts: Longs,
    pins: Words,
    degree: Words,
    labels: Words,
    seeds: Words,
    limit: int,
    sweeps: int,
) -> Words:
    """See `walk`."""
    size = degree.size
    order = np.empty(size, np.uint32)
    mark = np.zeros(size, np.uint32)
    job_mark = np.zeros(job_starts.size - 1, np.uint32)
    for v in range(size):
        if degree[v] == 0 or degree[v] > limit:
            mark[v] = DONE
    walk = Walk(starts, near, job_starts, pins, degree, labels, mark, job_mark, order)
    stamp = np.uint32(0)
    count: Any = np.int64(0)
    search: Any = np.bool_(False)  # not literals, for each of which Numba would compile `_search` once more
    place: Any = np.bool_(True)
    for seed in seeds:
        if mark[seed] == DONE:
            continue
        begin = count
        root, height = seed, -1
        for _ in range(sweeps):
            stamp += np.uint32(1)
            # Searches before the last use the part of `order` that is still free as their queue.
            head, tail, level = _search(root, begin, stamp, search, walk)
            if level <= height:
                break
            height = level
            root = order[head]
            for v in order[head:tail]:
                if degree[v] < degree[root]:
                    root = v
        stamp += np.uint32(1)
        _, count, _ = _search(root, begin, stamp, place, walk)
        for i in range((count - begin) // 2):
            order[begin + i], order[count - 1 - i] = order[count - 1 - i], order[begin + i]
    for v in range(size):
        if degree[v] > limit:
            order[count] = v
            count += 1
    for v in range(size):
        if degree[v] == 0:
            order[count] = v
            count += 1
    return order


@kept
def _sort_by_degree(part: Words, degree: Words) -> None:
    """Stable sort in place: short lists by insertion, long ones by (degree, position) keys."""
    size = part.size
    if size <= SHORT:
        for i in range(1, size):
            v = part[i]
            j = i
            while j > 0 and degree[part[j - 1]] > degree[v]:
                part[j] = part[j - 1]
                j -= 1
            part[j] = v
        return
    keys = np.empty(size, np.uint64)
    for i in range(size):
        keys[i] = (np.uint64(degree[part[i]]) << np.uint64(32)) | np.uint64(i)
    keys.sort()  # no two are equal, so any sort is stable
    old = part.copy()
    for i in range(size):
        part[i] = old[keys[i] & np.uint64(0xFFFFFFFF)]
