"""What a report is told of a region, against counting by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from tracecut.codegen.tuning.region_statistics import cluster_count, describe_region, record_bytes
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Cache, Core

from ..harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]
MACHINE = Machine("none", (Core(0, 0), Core(1, 0)), (Cache(1, 4096, ways=8), Cache(2, 8192, ways=8)), 1 << 30)


@pytest.mark.parametrize(("name", "mark"), [("pairs", "pairs"), ("rows", "csr"), ("indirect", "two_levels")])
def test_figures_add_up(inspected: Catalogue, name: str, mark: str) -> None:
    item = inspected(name)[mark]
    assert not isinstance(item, str)
    graph, ordering = item.graph.graph, item.random(1)
    found = describe_region(item.inspection, item.graph, ordering, item.region, MACHINE, 2)
    figures = found["figures"]
    rows = [graph.data[a:b].tolist() for a, b in zip(graph.offsets[:-1], graph.offsets[1:], strict=True)]
    degrees = Counter(Counter(datum for row in rows for datum in row).get(datum, 0) for datum in range(graph.n_data))
    assert dict(figures["degrees"]) == dict(degrees)
    assert found["data"] == graph.n_data
    assert sum(figures["cluster_sizes"]) == graph.n_jobs and len(figures["cluster_sizes"]) == found["clusters"]
    assert found["replication_before"] == pytest.approx(_replication(rows, np.arange(len(rows)), found["clusters"]))
    assert found["replication_after"] == pytest.approx(_replication(rows, ordering.jobs, found["clusters"]))
    assert figures["cache_lines"] == [64, 128]
    assert len(figures["misses_before"]) == len(figures["misses_after"]) == 2
    assert all(value >= 0 for value in (*figures["misses_before"], *figures["misses_after"]))


def _replication(rows: list[list[int]], jobs: np.ndarray, k: int) -> float:
    """Copies of a datum that is touched at all, on average: one in each of the equal chunks that touches it."""
    where: dict[int, set[int]] = {}
    for place, job in enumerate(jobs.tolist()):
        for datum in rows[job]:
            where.setdefault(datum, set()).add(place * k // len(rows))
    return sum(map(len, where.values())) / len(where)


def test_clusters_fit_half_of_the_second_cache(inspected: Catalogue) -> None:
    item = inspected("pairs")["pairs"]
    assert not isinstance(item, str)
    graph = item.graph.graph
    assert cluster_count(graph, 8192, MACHINE, 1) == 2
    assert cluster_count(graph, 8193, MACHINE, 1) == 3
    assert cluster_count(graph, 100, MACHINE, 1) == 1
    assert cluster_count(graph, 100, MACHINE, 2) == 2
    assert cluster_count(graph, 1 << 40, MACHINE, 2) == graph.n_jobs


def test_records_count_with_everything_that_moves_along(inspected: Catalogue) -> None:
    item = inspected("pairs")["pairs"]
    assert not isinstance(item, str)
    assert record_bytes(item.inspection, item.graph) == [16]  # x and y
    item = inspected("pairs")["records"]
    assert not isinstance(item, str)
    assert record_bytes(item.inspection, item.graph) == [24]
