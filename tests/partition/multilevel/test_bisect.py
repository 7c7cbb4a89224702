"""One bisection through a hierarchy of its own."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.partition.coarsening.hypergraph_levels import finest_level
from tracecut.partition.multilevel.bisect import _contracted

pytestmark = pytest.mark.quick


def test_coarser_levels_need_no_other_compiled_code() -> None:
    """To Numba a writable array is of another type than a read-only one."""
    random = np.random.default_rng(4)
    graph = LocalityGraph.from_edges(random.integers(0, 9, 60), random.integers(0, 20, 60), 20)
    finest = finest_level(graph, np.ones(graph.n_jobs))
    groups = np.arange(finest.n_nodes).astype(np.uint32) // np.uint32(2)
    coarser = _contracted(finest, groups, int(groups[-1]) + 1)
    assert numba.typeof(coarser) == numba.typeof(finest)
    assert (coarser.n_nodes, coarser.node_weights.sum()) == (groups[-1] + 1, finest.node_weights.sum())
