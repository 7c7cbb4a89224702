"""Degree sort and Z-order: a linear-time order for graphs with hubs."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.partition.datastructures.radix_sort import stable_order

from .simple import keep_spaces
from .z_order import z_order


def degree_z_order(graph: LocalityGraph) -> Ordering:
    """Data by falling degree, jobs along the Z-curve of their two data's places.

    Hot data share cache lines at the front of their space, and a run of jobs of any length touches few distinct
    data on both sides, so no block size has to be known (power-law graphs; on meshes nearly as bad as random).

    Untouched data stand last; `z_order.z_order` says what the coordinates of a job are.

    Returns:
        An Ordering with one block. O(pins + data + jobs · log data).

    Source: columns sorted by length as in TileSpMV §3; curve of Morton 1966.
    """
    degree = graph.degrees()
    falling = stable_order(degree.max(initial=0) - degree).view(np.uint32)
    data = keep_spaces(falling, graph.space_offsets)
    return Ordering(z_order(graph, data), data, "degree-z")
