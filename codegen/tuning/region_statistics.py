"""What a report shows of one region: degrees, clusters, reuse distances, replication."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.codegen.schedule.graph.candidate_orders import NEARLY
from tracecut.codegen.schedule.graph.fixed_cache_lines import LINE
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.metrics import replication_factor
from tracecut.ir.ordering import Ordering
from tracecut.ir.reuse_distance import locality_profile

MAX_CLUSTERS = 4096


def describe_region(
    inspection: Inspection,
    graph: ScopeGraph,
    ordering: Ordering,
    region: int,
    machine: Machine,
    threads: int,
) -> dict[str, Any]:
    """Plain values for the manifest and the report."""
    flat = graph.graph
    before = unchanged(flat)
    sizes = record_bytes(inspection, graph)
    total = int(sum(size * int(count) for size, count in zip(sizes, np.diff(flat.space_offsets), strict=True)))
    k = cluster_count(flat, total, machine, threads)
    profiles = [locality_profile(flat, found, sizes, machine.caches) for found in (before, ordering)] if total else []
    clusters = [chunks(flat, found, k) for found in (before, ordering)]
    return {
        "data": flat.n_data,
        "clusters": k,
        "replication_before": _replication(flat, clusters[0]),
        "replication_after": _replication(flat, clusters[1]),
        "figures": {
            "degrees": _histogram(flat.degrees()),
            "cluster_sizes": [int(size) for size in clusters[1].sizes()[:MAX_CLUSTERS]],
            "reuse_before": _reuse(profiles[0].histogram) if profiles else [],
            "reuse_after": _reuse(profiles[1].histogram) if profiles else [],
            "cache_lines": [cache.size // cache.line for cache in machine.caches],
            "misses_before": [float(value) for value in profiles[0].misses_per_job] if profiles else [],
            "misses_after": [float(value) for value in profiles[1].misses_per_job] if profiles else [],
        },
    }


def record_bytes(inspection: Inspection, graph: ScopeGraph) -> list[int]:
    """Bytes of one datum of each space: all arrays that are moved together; of lines that stay, a line."""
    moved = [max(1, sum(inspection.plan.arrays[place].stride for place in space.arrays)) for space in graph.data_starts]
    return [*moved, *[LINE] * graph.line_spaces]


def least_lines(inspection: Inspection, graph: ScopeGraph) -> float:
    """Lines a job that have to be fetched in any order: each datum that is touched, once a sweep. O(data)."""
    flat = graph.graph
    touched, sizes = flat.degrees(), record_bytes(inspection, graph)
    used = [
        np.count_nonzero(touched[low:high]) * size
        for low, high, size in zip(flat.space_offsets[:-1], flat.space_offsets[1:], sizes, strict=True)
    ]
    return float(sum(used)) / LINE / max(1, flat.n_jobs)


def fetches_once(inspection: Inspection, graph: ScopeGraph, machine: Machine) -> bool:
    """Whether the program's own order fetches each cache line about once, beyond the second cache and all behind it.
    O(pins)."""
    flat = graph.graph
    found = locality_profile(flat, unchanged(flat), record_bytes(inspection, graph), machine.caches)
    far = found.misses_per_job[1:]
    return len(far) > 0 and max(far) <= NEARLY * least_lines(inspection, graph)


def cluster_count(graph: LocalityGraph, data_bytes: int, machine: Machine, threads: int) -> int:
    """Clusters that fit half of the second cache level, at least one a thread."""
    cache = next((cache.size for cache in machine.caches if cache.level == 2), machine.last_cache().size)
    wanted = max(threads, -(-2 * data_bytes // max(1, cache)))
    return int(max(1, min(wanted, MAX_CLUSTERS, graph.n_jobs or 1)))


def unchanged(graph: LocalityGraph) -> Ordering:
    """The program's own order."""
    return Ordering(np.arange(graph.n_jobs, dtype=np.int32), np.arange(graph.n_data, dtype=np.int32), "original")


def chunks(graph: LocalityGraph, ordering: Ordering, k: int) -> Clustering:
    """The jobs of an order in k even chunks. O(jobs)."""
    labels = np.empty(graph.n_jobs, np.int32)
    labels[ordering.jobs] = (np.arange(graph.n_jobs, dtype=np.int64) * k // max(1, graph.n_jobs)).astype(np.int32)
    return Clustering(labels, k, "jobs", ordering.method)


def _replication(graph: LocalityGraph, clustering: Clustering) -> float | None:
    return float(replication_factor(graph, clustering)) if graph.n_pins else None


def _histogram(degrees: Any) -> list[list[int]]:
    """(degree, how many) pairs; at most 200, by powers of two beyond."""
    counts = np.bincount(degrees)
    pairs = [[int(degree), int(counts[degree])] for degree in np.flatnonzero(counts)]
    if len(pairs) <= 200:
        return pairs
    binned: dict[int, int] = {}
    for degree, count in pairs:
        key = degree if degree < 4 else 1 << (degree.bit_length() - 1)
        binned[key] = binned.get(key, 0) + count
    return [[degree, count] for degree, count in sorted(binned.items())]


def _reuse(histogram: Any) -> list[list[float]]:
    """(log2 bucket, touches a job) pairs up to the last filled bucket."""
    filled = np.flatnonzero(histogram)
    last = int(filled[-1]) if filled.size else -1
    return [[bucket, float(histogram[bucket])] for bucket in range(last + 1)]
