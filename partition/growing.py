"""First partitions by growing one part after the other, and greedy moves of single vertices between parts."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Longs
from .bits import prefetch_row
from .views import Words

NONE = np.uint32(0xFFFFFFFF)
SOON = 6  # vertices between asking for a row and reading it
LINE = np.uint64(0)
FILL = 0.25  # of an edge to an older part, against one inside: gaps are filled before they are cut off


@njit(cache=True, nogil=True)
def grow(offsets: Longs, near: Words, edges: Longs, loads: Floats, shares: Floats) -> Words:
    """Parts grown one after the other, each until it has its share of what is left.

    A part starts at a free vertex at the border of those before it, and takes the free vertex with the largest part of
    its edges inside, those to older parts counting a quarter. A part without a free neighbour goes on at the next free
    vertex. Where as many vertices are left as parts, each gets one.

    Args: the graph as `matching.Weighted`, float64 (k) shares. Returns uint32 (n) labels. O(edges · border).
    """
    n, k = loads.size, shares.size
    labels = np.full(n, NONE, np.uint32)
    inside, taken, around = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, np.int64)
    for v in range(n):
        for i in range(offsets[v], offsets[v + 1]):
            around[v] += edges[i]
    waiting, waits = np.empty(n, np.uint32), np.zeros(n, np.bool_)
    borders = 0
    left, share_left = loads.sum(), shares.sum()
    free, seed = n, 0
    for part in range(k):
        wanted = left * shares[part] / share_left if share_left > 0 else left
        held = 0.0
        for i in range(borders):
            inside[waiting[i]] = 0  # counts of the part before
        while free > k - 1 - part:
            best, most = np.int64(-1), -1.0
            kept = 0
            for i in range(borders):
                u = waiting[i]
                if labels[u] != NONE:
                    continue
                waiting[kept] = u
                kept += 1
                value = (inside[u] + FILL * taken[u]) / around[u]
                if value > most:
                    best, most = np.int64(u), value
            borders = kept
            if best < 0:
                while seed < n and labels[seed] != NONE:
                    seed += 1
                if seed == n:
                    break
                best = np.int64(seed)
            last = part == k - 1
            if held > 0.0 and not last and held + 0.5 * loads[best] > wanted:
                break
            labels[best] = part
            held += loads[best]
            free -= 1
            for i in range(offsets[best], offsets[best + 1]):
                u = near[i]
                if labels[u] != NONE:
                    continue
                inside[u] += edges[i]
                taken[u] += edges[i]
                if not waits[u]:
                    waits[u] = True
                    waiting[borders] = u
                    borders += 1
        left -= held
        share_left -= shares[part]
    return labels


@njit(cache=True, nogil=True)
def improve(
    offsets: Longs,
    near: Words,
    edges: Longs,
    loads: Floats,
    limits: Floats,
    labels: Words,
    held: Floats,
    sizes: Longs,
    chosen: Words,
) -> int:
    """Move each vertex of `chosen`, in that order, to the part that it has most edges to, where that has room.

    Of equals the emptier one for its limit wins. A vertex of a part above its limit leaves it for the best that has
    room. Empty `edges` and `loads` mean 1 each. Overwrites `labels`, uint32 (n), and `held`, float64 (k), the loads,
    and `sizes`, int64 (k), the members. Never empties a part. Returns by how much the weight of cut edges fell.
    O(edges of `chosen`).
    """
    k = limits.size
    links, met = np.zeros(k, np.int64), np.empty(k, np.uint32)
    total = 0
    for place in range(chosen.size):
        v = chosen[place]
        if place + 2 * SOON < chosen.size:
            prefetch_row(offsets, np.uint64(chosen[place + 2 * SOON]), LINE)
            prefetch_row(near, np.uint64(offsets[chosen[place + SOON]]), LINE)
        own = labels[v]
        count = 0
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            label = labels[near[i]]
            if links[label] == 0:
                met[count] = label
                count += 1
            links[label] += edges[i] if edges.size else 1
        load = loads[v] if loads.size else 1.0
        inner = links[own]
        if sizes[own] > 1 and count > (1 if inner > 0 else 0):
            forced = held[own] > limits[own]
            best, most, fullness = own, np.int64(-1), 0.0
            for c in range(count):
                part = met[c]
                if part == own or held[part] + load > limits[part]:
                    continue
                full = (held[part] + load) / limits[part]
                if links[part] > most or (links[part] == most and full < fullness):
                    best, most, fullness = part, links[part], full
            if best != own and (forced or most > inner or (most == inner and fullness < held[own] / limits[own])):
                labels[v] = best
                held[own] -= load
                held[best] += load
                sizes[own] -= 1
                sizes[best] += 1
                total += most - inner
        for c in range(count):
            links[met[c]] = 0
    return total
