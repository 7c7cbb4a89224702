"""Validation of coordinates, and scaling to the unit cube."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.typed_views import floats
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept


def unit_points(graph: LocalityGraph, coords: Floats | None, method: str) -> Floats:
    """The coordinates, shifted and scaled by a common factor into the unit cube.

    Args:
        graph: the locality graph.
        coords: float64 (data, dimensions), finite, or None.
        method: the name that the error gives.

    Returns:
        float64 (data, dimensions), C-contiguous; all zeros where all points are the same. O(data · dimensions).

    Raises:
        ArgumentError: there are no coordinates.
    """
    if coords is None:
        raise ArgumentError(
            f"method {method!r} needs coords, the coordinates of the {graph.n_data} data; none were given",
            hint="Give coords, an array of shape (data, dimensions), or choose a method that uses only the graph.",
        )
    if coords.shape[0] == 0:
        return np.zeros(coords.shape)
    largest, low, high = _extremes(floats(coords))
    if largest == 0.0:
        return np.zeros(coords.shape)
    # The difference of two original values may overflow; of these it does not.
    low, high = low / largest, high / largest
    extent = float((high - low).max())
    return _scaled(floats(coords), largest, low, extent if extent > 0 else 1.0)


@kept
def _extremes(coords: Floats) -> tuple[float, Floats, Floats]:
    """The largest absolute value, and the least and largest value of each dimension."""
    low, high = coords[0].copy(), coords[0].copy()
    for i in range(1, coords.shape[0]):
        for j in range(coords.shape[1]):
            low[j] = min(low[j], coords[i, j])
            high[j] = max(high[j], coords[i, j])
    return max(np.abs(low).max(), np.abs(high).max()), low, high


@kept
def _scaled(coords: Floats, largest: float, low: Floats, extent: float) -> Floats:
    points = np.empty_like(coords)
    for i in range(coords.shape[0]):
        for j in range(coords.shape[1]):
            points[i, j] = (coords[i, j] / largest - low[j]) / extent
    return points
