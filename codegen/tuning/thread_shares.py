"""The values that the threads of a schedule exchange: a small graph that is stored with it.

The run that places its threads (`mapping/thread_cpus.py`) has neither the locality graph nor NumPy. A part is what one
of as many threads as find work would run; fewer threads take several parts each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.schedule import Blocks, Schedule
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.cpu_places import cpu_places
from tracecut.ir.metrics import parts_per_datum
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.mapping.tasks.locality import clusters_of_locality
from tracecut.mapping.thread_cpus import joined_talk, place_threads
from tracecut.support.arrays import Ints
from tracecut.tracer.runtime.binding import MAX_THREADS

from .region_statistics import chunks, unchanged

HEAVIEST = 8  # partners of each part that are stored


def thread_talk(graph: ScopeGraph, schedule: Schedule) -> dict[str, Any]:
    """Plain values: `parts`, and `pairs` of (part, part, values that they exchange); O(pins log pins).

    Of each part only the heaviest pairs are kept. No pairs where one thread does all of the work.
    """
    count = min(MAX_THREADS, max((region.blocks.widest() for region in schedule.regions), default=1))
    if count < 2 or not graph.graph.n_pins:
        return {"parts": count, "pairs": []}
    found = clusters_of_locality(graph.graph, shares(graph, schedule, count))
    return {"parts": count, "pairs": _heaviest(found)}


def shares(graph: ScopeGraph, schedule: Schedule, threads: int) -> Clustering:
    """The thread that runs each job of the graph, where `threads` share the blocks as `blocks.c` shares them out.

    A job of a region that is not in the schedule is the first thread's.
    """
    labels = np.zeros(graph.graph.n_jobs, np.int32)
    for region in schedule.regions:
        start = graph.job_starts.get(region.region)
        if start is not None:
            labels[start + region.jobs] = np.repeat(_thread_of(region.blocks, threads), np.diff(region.blocks.bounds))
    return Clustering(labels, threads, "jobs", schedule.method)


def _thread_of(blocks: Blocks, threads: int) -> Ints:
    """int32 (blocks): the thread whose share each block is in, within its wavefront."""
    waves = np.asarray(blocks.waves, np.int64)
    order = np.argsort(waves, kind="stable")
    counts = np.bincount(waves)
    place = np.empty(waves.size, np.int64)
    place[order] = np.arange(waves.size) - np.repeat(np.cumsum(counts) - counts, counts)
    count = counts[waves]
    return (((place + 1) * np.minimum(threads, count) - 1) // count).astype(np.int32)


def _heaviest(found: ClusterGraph) -> list[list[int]]:
    """Pairs a < b with what goes either way, those that are among the heaviest of one of the two."""
    low, high = np.minimum(found.src, found.dst).astype(np.int64), np.maximum(found.src, found.dst)
    pairs, back = np.unique(low * found.k + high, return_inverse=True)
    values = np.bincount(back, found.messages, pairs.size)
    first, second = pairs // found.k, pairs % found.k
    kept = np.zeros(pairs.size, bool)
    for part in range(found.k):
        mine = np.flatnonzero((first == part) | (second == part))
        kept[mine[np.argsort(-values[mine], kind="stable")[:HEAVIEST]]] = True
    return [[int(a), int(b), int(v)] for a, b, v in zip(first[kept], second[kept], values[kept], strict=True)]


def thread_placement(
    graph: ScopeGraph,
    schedule: Schedule,
    threads: int,
    cpus: Sequence[int],
    talk: Mapping[str, Any],
    root: Path = Path("/"),
) -> dict[str, Any]:
    """How the threads of a schedule would be placed here, as plain values: `cpus`, `nodes`, `remark`.

    `talk`: of `thread_talk`.
    On several nodes also `remote_before` and `remote_after`: of the values that the threads need, the share that
    another node owns, with even chunks of the program's own order on the first CPUs, and with this schedule's shares on
    the CPUs chosen. Both are predictions. {} for one thread. O(pins log pins).
    """
    if threads < 2:
        return {}
    places = cpu_places(cpus, root)
    found = place_threads(places, threads, joined_talk([talk], threads))
    values: dict[str, Any] = {"cpus": list(found.cpus), "nodes": list(found.nodes), "remark": found.remark}
    count = len(found.cpus)
    if len(set(places.nodes)) > 1 and graph.graph.n_pins and count > 1:
        natural = chunks(graph.graph, unchanged(graph.graph), count)
        values["remote_before"] = remote_share(graph.graph, natural, places.nodes[:count])
        values["remote_after"] = remote_share(graph.graph, shares(graph, schedule, count), found.nodes)
    return values


def remote_share(graph: LocalityGraph, clustering: Clustering, nodes: Sequence[int]) -> float:
    """Of the values that clusters of jobs touch, each counted once a cluster, those whose owner is on another node.

    `nodes`: of each cluster. The owner is the cluster with most jobs of a datum (`clusters_of_locality`).
    """
    clusters = clusters_of_locality(graph, clustering)
    node = np.asarray(nodes)
    sent = float(clusters.messages[node[clusters.src] != node[clusters.dst]].sum())
    needed = int(parts_per_datum(graph, clustering).sum())
    return sent / max(1, needed)
