"""Borders of clusters: the nets between them, and how strongly a member is connected to each.

Only the first LOOK members of a net are examined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

LOOK = 32  # members of a net that are examined; without a limit hubs take quadratic time
KNOWN = 1 << 12  # a power of two
Flags = npt.NDArray[np.bool_]


class Nets(NamedTuple):
    """Members and the nets that connect them: jobs connected by data, or data connected by jobs.

    The nets of member i are `nets[offsets[i] : offsets[i + 1]]`, and the members of net n
    `pins[starts[n] : starts[n + 1]]`; `worth` of each net, empty for 1 each; `pairs`, whether each net has two members.
    """

    offsets: Longs
    nets: Words
    starts: Longs
    pins: Words
    worth: Floats
    pairs: bool


def cut_pairs(nets: Nets, labels: Ints, k: int) -> Words:
    """Neighbours in a net that lie in different clusters; uint32 (pairs, 2). O(pins)."""
    short = labels.astype(np.uint8 if k <= 1 << 8 else np.uint16 if k <= 1 << 16 else np.uint32)  # stays in the cache
    return _cut_pairs(nets.starts, nets.pins, nets.pairs, short)


@kept
def _cut_pairs(starts: Longs, pins: Words, pairs: bool, labels: Any) -> Words:
    found = np.empty((pins.size + 1, 2), np.uint32)  # memory is only taken for those that are cut
    count = 0
    for net in range(starts.size - 1):
        begin, end = (2 * net, 2 * net + 2) if pairs else (starts[net], min(starts[net + 1], starts[net] + LOOK))
        for pin in range(begin + 1, end):
            u, v = pins[pin - 1], pins[pin]
            found[count, 0], found[count, 1] = u, v
            count += labels[u] != labels[v]
    return found[:count].copy()


def renewed_pairs(nets: Nets, pairs: Words, labels: Ints, moved: Longs) -> Words:
    """The same after some members have moved, from the pairs before; some of them twice. O(pairs + pins of theirs)."""
    return _renewed_pairs(pairs, nets.offsets, nets.nets, nets.starts, nets.pins, labels, moved)


@kept
def _renewed_pairs(
    pairs: Words, offsets: Longs, names: Words, starts: Longs, pins: Words, labels: Ints, moved: Longs
) -> Words:
    room = pairs.shape[0]
    for member in moved:
        for at in range(offsets[member], offsets[member + 1]):
            room += min(LOOK, starts[names[at] + 1] - starts[names[at]])
    found = np.empty((room + 1, 2), np.uint32)
    count = 0
    for i in range(pairs.shape[0]):
        u, v = pairs[i]
        found[count, 0], found[count, 1] = u, v
        count += labels[u] != labels[v]
    for member in moved:
        for at in range(offsets[member], offsets[member + 1]):
            net = names[at]
            for pin in range(starts[net] + 1, min(starts[net + 1], starts[net] + LOOK)):
                u, v = pins[pin - 1], pins[pin]
                found[count, 0], found[count, 1] = u, v
                count += labels[u] != labels[v]
    return found[:count].copy()


@kept
def adjacent_clusters(pairs: Words, labels: Words, k: int) -> Longs:
    """k · a + b for clusters a ≠ b that meet in a pair, in both directions, with some duplicates. O(pairs)."""
    found = np.empty(64, np.int64)
    count = 0
    known = np.full(KNOWN, -1, np.int64)  # a code in each place, which skips most duplicates cheaply
    for i in range(pairs.shape[0]):
        a, b = np.int64(labels[pairs[i, 0]]), np.int64(labels[pairs[i, 1]])
        code = min(a, b) * k + max(a, b)
        place = (code ^ code >> 10) & (KNOWN - 1)
        if known[place] == code:
            continue
        known[place] = code
        if count + 2 > found.size:
            longer = np.empty(2 * found.size, np.int64)
            longer[:count] = found[:count]
            found = longer
        found[count], found[count + 1] = a * k + b, b * k + a
        count += 2
    return found[:count]


@kept
def leaving(pairs: Words, labels: Words, begins: Longs, targets: Longs, flow: Floats, met: bool) -> Flags:
    """Members of pairs whose cluster hands some on, bool (n); `met`: only those that meet a cluster that takes them.

    `begins`, `targets`, `flow`: the arcs of each cluster. O(pairs · arcs of a cluster).
    """
    found = np.zeros(labels.size, np.bool_)
    sends = np.zeros(begins.size - 1, np.bool_)
    for here in range(begins.size - 1):
        for arc in range(begins[here], begins[here + 1]):
            sends[here] |= flow[arc] > 0.0
    for i in range(pairs.shape[0]):
        for side in range(2):
            item, here, there = pairs[i, side], labels[pairs[i, side]], labels[pairs[i, 1 - side]]
            if not sends[here] or found[item]:
                continue
            for arc in range(begins[here], begins[here + 1]):
                if not met or (targets[arc] == there and flow[arc] > 0.0):
                    found[item] = True
                    break
    return found


@njit(nogil=True)
def connect(
    item: np.uint32,
    offsets: Longs,
    names: Words,
    starts: Longs,
    pins: Words,
    worth: Floats,
    pairs: bool,
    labels: Ints,
    look: int,
    share: Floats,
    seen: Longs,
) -> None:
    """How strongly a member is connected to each cluster: over its nets, the share of their other members there.

    `offsets` … `pairs` are `Nets`. `share`, float64 (k), is valid where `seen`, int64 (k), has the number of this look,
    which is a new one.
    """
    for at in range(offsets[item], offsets[item + 1]):
        net = np.int64(names[at])
        begin, end = 2 * net, 2 * net + 2
        each = worth[net] if worth.size else 1.0
        if not pairs:
            begin, end = starts[net], min(starts[net + 1], starts[net] + LOOK)
            each /= max(end - begin - 1, 1)
        for pin in range(begin, end):
            if pins[pin] != item:
                label = labels[pins[pin]]
                if seen[label] != look:
                    seen[label], share[label] = look, 0.0
                share[label] += each
