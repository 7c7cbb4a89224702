"""Initial partitions by growing parts one after the other, and greedy moves of single vertices between parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from tracecut.partition.coarsening.edge_matching import Rows, Weighted
from tracecut.partition.datastructures.tournament_tree import contest, play
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

NONE = np.uint32(0xFFFFFFFF)
LOOKS = 64  # at entries of lists, for each vertex and end of an edge, after which they are not looked through any more
PENALTY = 4.0  # of load above the limits, as a share of all, on the cut
FILL = 0.25  # of an edge to an older part, against one inside: gaps are filled before they are cut off


class Parts(NamedTuple):
    """A partition of the vertices of a graph, kept up to date move by move.

    Attributes:
        labels: uint32 (vertices), the part of each vertex.
        held: float64 (k), the load of each part.
        sizes: int64 (k), its number of vertices.
        limits: float64 (k), the balance constraint.
    """

    labels: Words
    held: Floats
    sizes: Longs
    limits: Floats


class Connections(NamedTuple):
    """The parts next to one vertex; `links` is all zero between two vertices.

    Attributes:
        links: int64 (k), the weight of the vertex's edges to each part.
        met: uint32 (k), the parts with an edge, as they are met.
    """

    links: Longs
    met: Words


@kept
def grow(graph: Weighted, shares: Floats, start: int) -> Words:
    """Parts grown one after the other, each until it has its share of what is left.

    A part starts at the free vertex that older parts enclose most, the first at `start`. It takes the neighbour with
    the largest part of its edges inside, those to older parts counting a quarter. A part without a free neighbour goes
    on where the next would start. Where as many vertices are left as parts, each gets one.

    Args: the graph, float64 (k) shares, a vertex. Returns uint32 (n) labels. O((edges + n) · log n).
    """
    offsets, near, edges, loads = graph
    n, k = loads.size, shares.size
    labels = np.full(n, NONE, np.uint32)
    inside, taken, around = np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n)
    for v in range(n):
        total = 1
        for i in range(offsets[v], offsets[v + 1]):
            total += edges[i]
        around[v] = 1.0 / total
    fringe, mine = np.empty(n, np.uint32), np.empty(n, np.uint32)  # free neighbours of any part, of the present one
    value, claim = np.empty(n), np.empty(n)  # of the latter, of the former, by their places there
    spot, corner = np.empty(n, np.uint32), np.empty(n, np.uint32)  # these places
    fringes, looks = 0, 0
    # Lists are looked through as long as they are short; hubs make them long, then tournaments give the same answers.
    fast, best_mine, best_fringe = False, contest(value, 0, 1), contest(claim, 0, 1)
    left, share_left = loads.sum(), shares.sum()
    free, seed = n, start
    for part in range(k):
        wanted = left * shares[part] / share_left if share_left > 0 else left
        held, mines = 0.0, 0
        if fast:
            best_mine[:] = NONE
        while free > k - 1 - part:
            if not fast and looks > LOOKS * (near.size + n):
                fast = True
                kept = 0
                for i in range(fringes):
                    u = fringe[i]
                    if labels[u] == NONE:
                        fringe[kept], corner[u], claim[kept] = u, kept, taken[u] * around[u]
                        kept += 1
                fringes = kept
                best_mine, best_fringe = contest(value, mines, n), contest(claim, fringes, n)
            best, most, place = np.int64(-1), -1.0, mines
            if fast and best_mine[1] != NONE:
                place = int(best_mine[1])
                best = np.int64(mine[place])
            elif not fast:
                looks += mines
                for i in range(mines):
                    if value[i] > most:
                        best, most, place = np.int64(mine[i]), value[i], i
            if best < 0 and fast and best_fringe[1] != NONE:
                best = np.int64(fringe[best_fringe[1]])
            elif best < 0 and not fast:
                looks += fringes
                kept = 0
                for i in range(fringes):
                    u = fringe[i]
                    if labels[u] != NONE:
                        continue
                    fringe[kept] = u
                    kept += 1
                    if taken[u] * around[u] > most:
                        best, most = np.int64(u), taken[u] * around[u]
                fringes = kept
            if best < 0:
                while labels[seed] != NONE:
                    seed = seed + 1 if seed + 1 < n else 0
                best = np.int64(seed)
            if held > 0.0 and part < k - 1 and held + 0.5 * loads[best] > wanted:
                break
            if place < mines:
                mines -= 1
                mine[place], value[place] = mine[mines], value[mines]
                spot[mine[place]] = place
                if fast:
                    play(best_mine, value, mines, False)
                    if place < mines:
                        play(best_mine, value, place, True)
            labels[best] = part
            held += loads[best]
            free -= 1
            if fast and taken[best] > 0:
                play(best_fringe, claim, corner[best], False)
            for i in range(offsets[best], offsets[best + 1]):
                u = near[i]
                if labels[u] != NONE:
                    continue
                if taken[u] == 0:
                    fringe[fringes], corner[u] = u, fringes
                    fringes += 1
                if inside[u] == 0:
                    mine[mines], spot[u] = u, mines
                    mines += 1
                inside[u] += edges[i]
                taken[u] += edges[i]
                value[spot[u]] = (inside[u] + FILL * taken[u]) * around[u]
                if fast:
                    claim[corner[u]] = taken[u] * around[u]
                    play(best_mine, value, spot[u], True)
                    play(best_fringe, claim, corner[u], True)
        for i in range(mines):
            inside[mine[i]] = 0
        left -= held
        share_left -= shares[part]
    return labels


@kept
def connections(k: int) -> Connections:
    return Connections(np.zeros(k, np.int64), np.empty(k, np.uint32))


@kept
def fill_parts(loads: Floats, parts: Parts) -> None:
    """Overwrite load and size of each part by those of its vertices. O(n + k)."""
    parts.held[:], parts.sizes[:] = 0.0, 0
    for v in range(loads.size):
        parts.held[parts.labels[v]] += loads[v]
        parts.sizes[parts.labels[v]] += 1


@njit(cache=True, nogil=True, inline="always")
def is_inner(v: int, rows: Rows, labels: Words) -> bool:
    """Whether all neighbours of v are in its own part."""
    i, last = rows.first[v], rows.last[v]
    while i < last and labels[rows.near[i]] == labels[v]:
        i += 1
    return i == last


@njit(cache=True, nogil=True, inline="always")
def best_part(v: int, rows: Rows, parts: Parts, connected: Connections) -> int:
    """The part where v should be by the rule of `improve`; its own where that would become empty. O(degree)."""
    labels, links, met = parts.labels, connected.links, connected.met
    own, count = labels[v], 0
    for i in range(rows.first[v], rows.last[v]):
        label = labels[rows.near[i]]
        if links[label] == 0:
            met[count] = label
            count += 1
        links[label] += rows.edges[i]
    best = choose(links, met, count, own, rows.loads[v], parts.limits, parts.held) if parts.sizes[own] > 1 else own
    for i in range(count):
        links[met[i]] = 0
    return best


@njit(cache=True, nogil=True, inline="always")
def move(v: int, part: int, load: float, parts: Parts) -> None:
    """Move v, of this load, to another part."""
    own = parts.labels[v]
    parts.labels[v] = part
    parts.held[own] -= load
    parts.held[part] += load
    parts.sizes[own] -= 1
    parts.sizes[part] += 1


@kept
def improve(rows: Rows, parts: Parts, sweeps: int) -> None:
    """Move each vertex, in their order, to the part that it has most edges to, where that has room.

    Of equals the emptier one for its limit wins. A vertex of a part above its limit leaves it for the best that has
    room; if none has, for one that is less full afterwards than its own is now. Never empties a part. Ends after
    `sweeps` over all vertices, or one that moved none. O(edges · sweeps).
    """
    connected = connections(parts.limits.size)
    for _ in range(sweeps):
        moved = False
        for v in range(rows.loads.size):
            if is_inner(v, rows, parts.labels):
                continue
            best = best_part(v, rows, parts, connected)
            if best != parts.labels[v]:
                move(v, best, rows.loads[v], parts)
                moved = True
        if not moved:
            break


@kept
def attempts(graph: Weighted, shares: Floats, limits: Floats, starts: Longs, sweeps: int) -> tuple[Words, float]:
    """The best of the partitions grown at `starts` and improved, the first of equals, and its `worth` (0 if alone).

    O(starts · (`grow` + `improve`)).
    """
    rows = Rows(graph.offsets[:-1], graph.offsets[1:], graph.near, graph.edges, graph.loads)
    best, least = np.empty(0, np.uint32), np.inf
    for start in starts:
        labels = grow(graph, shares, start)
        parts = Parts(labels, np.empty(limits.size), np.empty(limits.size, np.int64), limits)
        fill_parts(graph.loads, parts)
        improve(rows, parts, sweeps)
        value = worth(rows, limits, labels) if starts.size > 1 else 0.0
        if value < least:
            best, least = labels, value
    return best, float(least)


@kept
def worth(rows: Rows, limits: Floats, labels: Words) -> float:
    """The weight of cut edges (each counted at both ends), more by what parts hold above their limits. O(edges)."""
    first, last, near, edges, loads = rows
    held, cut = np.zeros(limits.size), np.int64(0)
    for v in range(loads.size):
        held[labels[v]] += loads[v]
        for i in range(first[v], last[v]):
            cut += edges[i] if labels[near[i]] != labels[v] else 0
    return float(cut * (1.0 + PENALTY * np.maximum(held - limits, 0.0).sum() / loads.sum()))


@njit(cache=True, nogil=True, inline="always")
def choose(links: Longs, met: Words, count: int, own: int, load: float, limits: Floats, held: Floats) -> int:
    """The part where a vertex of `own` with these `links` to the `count` parts in `met` should be; see `improve`."""
    best, most, fullness = own, np.int64(-1), held[own] / limits[own]
    forced = held[own] > limits[own]
    refuge, least = own, fullness
    for i in range(count):
        part = met[i]
        if part == own:
            continue
        full = (held[part] + load) / limits[part]
        if held[part] + load > limits[part]:
            if full < least:
                refuge, least = part, full
            continue
        if links[part] > most or (links[part] == most and full < fullness):
            best, most, fullness = part, links[part], full
    if forced:
        return best if best != own else refuge
    inner = links[own]
    better = most > inner or (most == inner and fullness < held[own] / limits[own])
    return best if better else own
