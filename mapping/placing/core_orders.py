"""Orders of the cores of a machine: neighbours close together, and neighbours far apart."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from tracecut.ir.machine.machine import Machine
from tracecut.support.arrays import Ints
from tracecut.support.lazy_kernels import kept


def by_region(machine: Machine) -> Ints:
    """Cores such that halves, quarters, … of the order are regions: a mesh is cut across its longer side. int32."""
    return _by_region(machine.joined.kind, machine.joined.shape, machine.core_nodes.tobytes())


@lru_cache(maxsize=16)
def _by_region(kind: str, shape: tuple[int, ...], core_nodes: bytes) -> Ints:
    nodes = np.frombuffer(core_nodes, np.int64)
    cores = np.arange(nodes.size, dtype=np.int32)
    if kind not in ("mesh", "torus"):
        return cores[np.argsort(nodes, kind="stable")]
    return _halved(cores, nodes % shape[0], nodes // shape[0])


def far_apart(machine: Machine) -> Ints:
    """Cores such that each next one lies in the region with the fewest before it (VertexCut §5.2, factor 3). int32."""
    regions = by_region(machine)
    bits = max(1, int(regions.size - 1).bit_length())
    places = np.arange(1 << bits)
    turned = np.zeros_like(places)
    for bit in range(bits):
        turned |= ((places >> bit) & 1) << (bits - 1 - bit)
    # Places of all sizes: bit reversal visits 0, 1/2, 1/4, 3/4, … of the order.
    spread = (turned * regions.size) >> bits
    _, first = np.unique(spread, return_index=True)
    return regions[spread[np.sort(first)]]


@kept
def nearest(hops: Ints, count: int) -> Ints:
    """The `count` cores nearest to each core, itself first, int32 (cores, count); of equals the first. O(cores²)."""
    cores = hops.shape[0]
    count = min(count, cores)
    found = np.empty((cores, count), np.int32)
    far = np.empty(count, np.int32)
    for core in range(cores):
        far[:] = np.iinfo(np.int32).max
        for other in range(cores):
            here = hops[core, other]
            if other >= count and here >= far[count - 1]:
                continue
            at = min(other, count - 1)
            while at > 0 and far[at - 1] > here:
                far[at], found[core, at] = far[at - 1], found[core, at - 1]
                at -= 1
            far[at], found[core, at] = here, other
    return found


def _halved(cores: Ints, x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> Ints:
    if cores.size <= 1:
        return cores
    wide = np.ptp(x[cores]) >= np.ptp(y[cores])
    along, across = (x, y) if wide else (y, x)
    order = cores[np.lexsort((across[cores], along[cores]))]
    lengths = np.unique(along[cores])
    border = lengths[lengths.size // 2] if lengths.size > 1 else lengths[0]
    half = int(np.count_nonzero(along[order] < border)) if lengths.size > 1 else order.size // 2
    return np.concatenate([_halved(order[:half], x, y), _halved(order[half:], x, y)])
