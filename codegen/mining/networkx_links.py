"""The links of a networkx graph as arrays, in loops that run inside the interpreter's C code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError

Parts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats, Sequence[Any] | None]


def networkx_parts(graph: Any, weight: str | None) -> Parts:
    """Offsets, targets, weights (none where all are 1) and names (None for 0 … n − 1) of the links; see `links`.

    Raises ArgumentError for a weight that is no number, naming the edge. O(edges), some 50 ns each.
    """
    lists: Mapping[Any, Mapping[Any, Any]] = graph._adj
    if type(lists) is not dict:  # a view, whose lists are filtered again and again
        lists = {node: dict(near) for node, near in graph.adjacency()}
    nodes = list(lists)
    offsets = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lists.values()), np.int64, len(nodes)), out=offsets[1:])
    ends: Iterable[Any] = chain.from_iterable(lists.values())
    named = nodes != list(range(len(nodes)))
    if named:
        ends = map({node: i for i, node in enumerate(nodes)}.__getitem__, ends)
    targets = np.fromiter(ends, np.int32, int(offsets[-1]))
    weights = _weights(graph, lists, weight, targets.size)
    return offsets, targets, weights, nodes if named else None


def _weights(graph: Any, lists: Mapping[Any, Mapping[Any, Any]], weight: str | None, count: int) -> Floats:
    def attributes() -> Iterable[Any]:
        return chain.from_iterable(near.values() for near in lists.values())

    found: Iterable[Any]
    if graph.is_multigraph():
        found = (
            float(len(edges)) if weight is None else sum(edge.get(weight, 1) for edge in edges.values())
            for edges in attributes()
        )
    elif weight is None or not any(attributes()):
        return np.zeros(0)
    else:
        found = map(methodcaller("get", weight, 1), attributes())
    try:
        weights = np.fromiter(found, np.float64, count)
    except (TypeError, ValueError, OverflowError):
        raise _no_number(graph, weight) from None
    if bool(np.isnan(weights).any()) and any(value is None for _, _, value in graph.edges(data=weight, default=1)):
        raise _no_number(graph, weight)  # NumPy takes None for one
    return np.zeros(0) if bool((weights == 1.0).all()) else weights


def _no_number(graph: Any, weight: str | None) -> ArgumentError:
    for u, v, value in graph.edges(data=weight, default=1):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return ArgumentError(
                f"the edge {u!r} – {v!r} has the {weight} {value!r}, a number was expected",
                hint="weight=None gives every link the weight 1.",
            )
    return ArgumentError(f"the {weight} of the edges are no numbers")
