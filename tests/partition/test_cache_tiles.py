"""Parts from bytes."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.partition import partition
from tracecut.partition.cache_tiles import parts_for_bytes
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

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
    ("arguments", "message"), [({"tile": 0}, "tile_bytes = 0"), ({"datum": float("nan")}, "datum = nan")]
)
def test_sizes_are_checked(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        parts_for_bytes(GRAPH, **arguments)


def test_bytes_in_the_place_of_k(mesh: LocalityGraph) -> None:
    """576 data of 8 bytes."""
    found = partition(mesh, None, "rcm", tile_bytes=1000)
    assert found.k == 5 and found.labels.tolist() == partition(mesh, 5, "rcm").labels.tolist()
    assert partition(mesh, None, tile_bytes=1e9).k == 1
    for k, tile, message in (
        (4, 1000.0, "k = 4 and tile_bytes = 1000.0, one of the two"),
        (None, None, "k = None, a whole number of clusters was expected\ntile_bytes="),
        (None, 0.5, "tile_bytes = 0.5, a finite number of at least 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            partition(mesh, k, "rcm", tile_bytes=tile)
