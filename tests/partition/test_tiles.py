"""Parts from bytes."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir import ArgumentError, LocalityGraph
from tracecut.partition.tiles import parts_for_bytes

GRAPH = LocalityGraph(np.array([0]), np.zeros(0, np.int32), 100_000)


def test_parts_hold_at_most_a_tile() -> None:
    assert parts_for_bytes(GRAPH) == 4
    assert parts_for_bytes(GRAPH, tile=199_999) == 5
    assert parts_for_bytes(GRAPH, datum=80) == 40
    assert parts_for_bytes(GRAPH, tile=1) == 100_000
    assert parts_for_bytes(LocalityGraph([0], [], 0)) == 1
    heavy = LocalityGraph([0], [], 3, data_weights=np.array([200_000.0, 100_000.0, 1.0]))
    assert parts_for_bytes(heavy) == 2


@pytest.mark.parametrize(
    ("arguments", "message"), [({"tile": 0}, "tile = 0"), ({"datum": float("nan")}, "datum = nan")]
)
def test_sizes_are_checked(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parts_for_bytes(GRAPH, **arguments)
