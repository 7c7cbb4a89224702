"""Coordinates as geometric methods want them: given at all, and in the unit cube."""

from __future__ import annotations

import numpy as np

from ..ir.arrays import Floats
from ..ir.errors import ArgumentError
from ..ir.graph import LocalityGraph


def unit_points(graph: LocalityGraph, coords: Floats | None, method: str) -> Floats:
    """Where the data lie, shifted and scaled by one common factor into the unit cube.

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
            f"method {method!r} needs coords, where each of the {graph.n_data} data lies; none were given",
            hint="Give coords, an array of shape (data, dimensions), or choose a method that looks at the graph alone.",
        )
    if coords.shape[0] == 0:
        return np.zeros(coords.shape)
    largest = float(np.abs(coords).max())
    if largest == 0.0:
        return np.zeros(coords.shape)
    points = coords / largest  # a difference of two given numbers may overflow, of these it does not
    points -= points.min(axis=0)
    extent = float(points.max())
    return np.ascontiguousarray(points / extent if extent > 0 else points)
