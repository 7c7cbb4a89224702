"""The heap of vertices against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.mapping.joint.vertex_heap import heap_of, put, take
from tracecut.partition.coarsening.edge_matching import NONE

pytestmark = pytest.mark.quick
N = 12
STEPS = st.lists(st.tuples(st.integers(0, N - 1), st.one_of(st.none(), st.integers(-5, 5))), max_size=60)


@given(STEPS)
def test_the_first_has_the_largest_gain(steps: list[tuple[int, int | None]]) -> None:
    found, held = heap_of(N), dict[int, int]()
    for vertex, gain in steps:
        if gain is None:
            take(found, np.uint32(vertex))
            held.pop(vertex, None)
        else:
            put(found, np.uint32(vertex), np.int64(gain))
            held[vertex] = gain
        size = int(found.size[0])
        assert sorted(found.vertices[:size].tolist()) == sorted(held)
        assert all(int(found.gains[v]) == gain for v, gain in held.items())
        assert all((found.places[v] != NONE) == (v in held) for v in range(N))
        if held:
            assert held[int(found.vertices[0])] == max(held.values())


def test_all_come_out_in_order() -> None:
    gains, found = np.random.default_rng(0).integers(-50, 50, 200), heap_of(200)
    for vertex, gain in enumerate(gains):
        put(found, np.uint32(vertex), np.int64(gain))
    came = []
    while found.size[0]:
        vertex = found.vertices[0]
        came.append(int(gains[vertex]))
        take(found, vertex)
    assert came == sorted(gains.tolist(), reverse=True)


def test_what_is_compiled(request: pytest.FixtureRequest) -> None:
    """Kernels of this room are Python in the plain run of the tests: see `tests/plain_rooms.py`."""
    before = len(heap_of.signatures)
    assert heap_of(3).gains.size == 3
    if request.node.get_closest_marker("long"):
        assert heap_of.signatures
    else:
        assert len(heap_of.signatures) == before
