"""The number of parts for which each part fits a cache, as an alternative to k."""

from __future__ import annotations

import math

from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.inputs.arguments import check_number

TILE = 200_000.0  # bytes: what ParCubed's tiles held, for a mid-level cache of 256 kB
DATUM = 8.0


def parts_for_bytes(graph: LocalityGraph, tile: float = TILE, datum: float = DATUM) -> int:
    """The least k with which a part of equal share holds at most `tile` bytes of data.

    Args:
        graph: its `data_weights` are the bytes of each datum, where it has them.
        tile: bytes of a part, at least 1.
        datum: bytes of each datum where the graph has no weights, at least 1.

    Returns:
        k, at least 1 and at most the number of data. O(data).

    Raises:
        ArgumentError: `tile` or `datum` is no finite number of at least 1.

    Source: ParCubed §4.
    """
    check_number("tile_bytes", tile, 1.0)
    check_number("datum", datum, 1.0)
    total = float(graph.data_weights.sum()) if graph.data_weights.size else datum * graph.n_data
    return max(1, min(graph.n_data, math.ceil(total / tile)))
