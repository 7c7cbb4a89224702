"""Ready nodes of each core: binary heaps, each in its part of one array."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.support.arrays import Ints
from tracecut.support.lazy_kernels import kept


@kept
def push(heap: Ints, base: int, ready: Ints, core: int, node: int) -> None:
    place: Any = np.int64(ready[core])
    ready[core] += 1
    while place > 0:
        above = (place - 1) >> 1
        if heap[base + above] <= node:
            break
        heap[base + place] = heap[base + above]
        place = np.int64(above)
    heap[base + place] = node


@kept
def pop(heap: Ints, base: int, ready: Ints, core: int) -> None:
    ready[core] -= 1
    size = np.int64(ready[core])
    if size == 0:
        return
    node = heap[base + size]
    place = np.int64(0)
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[base + below + 1] < heap[base + below]:
            below += 1
        if heap[base + below] >= node:
            break
        heap[base + place] = heap[base + below]
        place = below
    heap[base + place] = node
