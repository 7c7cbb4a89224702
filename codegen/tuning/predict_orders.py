"""Predicts orders for another machine, without any measurement.

There are two predictions for one pass over all jobs. Cycles of data accesses: cache lines that one core fetches beyond
each of its caches, by reuse distance, times the latencies of the machine; if it states none, only lines from memory
are compared. Remote share: the share of the values that cores need which another node owns, with one even chunk of the
jobs per core. Neither includes arithmetic, prefetching, contention on links, or copies at scope entry and exit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.graph.candidate_orders import CURVE, cluster_methods, linear_methods, make_order, seconds
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.ordering import Ordering
from tracecut.ir.reuse_distance import LocalityProfile, locality_profile
from tracecut.mapping.tasks.locality import clusters_of_locality
from tracecut.support.errors import TracecutError
from tracecut.support.optional_parts import reason_of

from .region_statistics import chunks, cluster_count, record_bytes, unchanged
from .thread_shares import remote_share

MOST_PLACED = 1024  # cores that a region's chunks are placed on


def predict_orders(
    inspection: Inspection,
    graph: ScopeGraph,
    machine: Machine,
    *,
    method: str,
    k: int | None,
    threads: int | None,
    seed: int,
    budget: float,
    say: Callable[[str], None],
) -> tuple[dict[str, Any], Ordering]:
    """What is predicted of the orders of one region, as plain values, and the order that it is best of.

    Args:
        method: `auto`, or the one method to predict. k: clusters, None: by the caches of the machine.
        threads: how many of its cores are used, None: all. budget: seconds for making orders.
    """
    flat = graph.graph
    sizes = record_bytes(inspection, graph)
    total = int(sum(size * int(count) for size, count in zip(sizes, np.diff(flat.space_offsets), strict=True)))
    cores = max(1, min(threads or MOST_PLACED, MOST_PLACED, len(machine.cores)))
    clusters = k or cluster_count(flat, total, machine, cores)
    tried: list[tuple[float, Ordering]] = []
    rows: list[dict[str, Any]] = []
    unit = "cycles for data a job" if latencies(machine) is not None else "lines from memory a job"
    started = time.perf_counter()

    def add(name: str, ordering: Ordering) -> None:
        profile = locality_profile(flat, ordering, sizes, machine.caches)
        cost = predicted_cost(machine, profile)
        tried.append((cost, ordering))
        misses = float(profile.misses_per_job[min(1, len(machine.caches) - 1)])
        rows.append(_row(name, f"predicted for {machine.name}: {cost:.4g} {unit}", misses))

    add("original", unchanged(flat))
    for name in _names(flat, method):
        left = started + budget - time.perf_counter()
        if method == "auto" and name in cluster_methods(flat) and seconds(name, flat, None) > left:
            rows.append(_row(name, f"not tried: it may need more than the {max(left, 0):.0f} s left of the budget"))
            continue
        say(f"predicting {name}")
        try:
            add(name, make_order(flat, name, k=clusters, seed=seed, time_limit=left if method == "auto" else None))
        except (TracecutError, MemoryError) as error:
            rows.append(_row(name, f"failed: {reason_of(error)}"))
    best = min(tried, key=lambda item: item[0])
    before, after = tried[0][0], best[0]
    found = {
        "machine": machine.name,
        "method": best[1].method if after < before else "original",
        "unit": unit,
        "before": before,
        "after": after,
        **remote_values(flat, best[1], machine, cores),
    }
    return {"candidates": rows, "predicted": {**found, "words": _words(found)}}, best[1]


def latencies(machine: Machine) -> npt.NDArray[np.float64] | None:
    """Cycles until data come from each cache and from memory; None where one of them is not stated."""
    stated = [*(cache.latency for cache in machine.caches), machine.memory_latency]
    return np.array(stated, np.float64) if all(stated) else None


def predicted_cost(machine: Machine, profile: LocalityProfile) -> float:
    """Cycles that the data of a job take one core of a machine, or lines from memory where it states no latencies."""
    known = latencies(machine)
    if known is None:
        return float(profile.misses_per_job[-1])
    return float(known[0] * profile.accesses_per_job + (np.diff(known) * profile.misses_per_job).sum())


def remote_values(graph: LocalityGraph, ordering: Ordering, machine: Machine, cores: int) -> dict[str, Any]:
    """Share of the values that cores need of other nodes, before and after, and the core of each chunk; {} on one node.

    Before: chunks of the natural order on the cores in the order of their numbers. After: chunks of the new order,
    placed hierarchically. O(pins log pins + cores²).
    """
    if cores < 2 or not graph.n_pins or len({core.node for core in machine.cores}) < 2:
        return {}
    from tracecut.mapping.place import place  # loads Numba

    mine, natural = chunks(graph, ordering, cores), chunks(graph, unchanged(graph), cores)
    placed = place(clusters_of_locality(graph, mine), machine, "hierarchical")
    nodes = [int(node) for node in machine.core_nodes[placed.core_of]]
    return {
        "remote_before": remote_share(graph, natural, [core.node for core in machine.cores[:cores]]),
        "remote_after": remote_share(graph, mine, nodes),
        "placement": [int(core) for core in placed.core_of],
        "nodes": nodes,
    }


def _names(graph: LocalityGraph, method: str) -> list[str]:
    if method != "auto":
        return [] if method == "original" else [method]
    linear = [name + curve for name in linear_methods(graph) for curve in ("", CURVE)]
    return [name for name in linear if name != f"degree-z{CURVE}"] + list(cluster_methods(graph))


def _row(name: str, note: str, misses: float | None = None) -> dict[str, Any]:
    """A candidate of the manifest without any time."""
    return {"method": name, "note": note, "predicted_misses": misses, "compared": False}


def _words(found: dict[str, Any]) -> str:
    """The prediction as a sentence."""
    name, unit = found["machine"], found["unit"]
    if found["method"] == "original":
        said = f"predicted for {name}: no order has fewer {unit} than the original order ({found['before']:.4g})"
    else:
        said = f"predicted for {name}: {found['before']:.4g} -> {found['after']:.4g} {unit} with {found['method']}"
    if "remote_after" in found:
        said += f", {found['remote_before']:.1%} -> {found['remote_after']:.1%} of the values from other nodes"
    return f"{said}; nothing is changed, since that machine cannot be measured here"
