"""Data → jobs of a locality graph, beside what a walk over its pins finds."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir.locality_graph import LocalityGraph

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("seed", range(20))
def test_jobs_of_each_datum(seed: int) -> None:
    generator = np.random.default_rng(seed)
    jobs, data = int(generator.integers(0, 9)), int(generator.integers(1, 9))
    offsets = np.concatenate([[0], np.cumsum(generator.integers(0, 4, jobs))])
    graph = LocalityGraph(offsets, generator.integers(0, data, offsets[-1]), data)
    begins, found = graph.transpose
    assert (begins.dtype, found.dtype) == (np.int64, np.int32)
    pins = [(int(datum), job) for job in range(jobs) for datum in graph.data[offsets[job] : offsets[job + 1]]]
    for datum in range(data):
        assert found[begins[datum] : begins[datum + 1]].tolist() == [job for one, job in pins if one == datum]
    assert begins[-1] == found.size == len(pins)
