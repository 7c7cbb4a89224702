"""Streaming vertex cut: against plain loops, and against 2PS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import Graph, generated
from measuring import Input, Options, bar, timed
from plain import plain_stream
from rows import Row
from tracecut.ir import LocalityGraph
from tracecut.partition import partition

# 2PS-HDRF, k = 64: replication factor and CPU seconds, by its authors' code on the same graphs.
TWO_PHASE = {
    "dag250k": (1.210, 0.16),
    "ba50k_d8": (3.318, 0.12),
    "ba200k_d16": (6.36, 1.14),
    "rmat18": (4.02, 3.6),
    "spmv150k": (3.79, 0.99),
}
RATES = {64: 40.0, 1024: 15.0}  # million edges a second


def streaming(given: Input, options: Options) -> Iterator[Row]:
    """WB-Libra and WB-PG, one pass at λ = 1 in natural order: time against plain loops, identical labels, balance."""
    graph = generated(given.name)
    weightings = {"": None} if graph.weights is None else {"": None, " weighted": graph.weights}
    for weighting, weights in weightings.items():
        for k in (64, 1024):
            for method in ("wb-libra", "wb-pg"):
                yield from _stream(graph, given.graph, weighting, weights, k, method, options.repeat)


def _stream(
    graph: Graph, jobs: LocalityGraph, weighting: str, weights: Any, k: int, method: str, repeat: int
) -> Iterator[Row]:
    name = f"{method}{weighting} k={k}"
    optional = {} if weights is None else {"weights": weights}
    found, seconds = timed(lambda: partition(jobs, k, method, balance=1.0, **optional), max(repeat, 3))
    loads = np.ones(jobs.n_jobs) if weights is None else weights
    limit = loads.sum() / k * (1 + 1e-12)
    degree = jobs.degrees()
    plain, plain_seconds = timed(
        lambda: plain_stream(graph.u, graph.v, degree, loads, k, method == "wb-libra", limit), 1
    )
    if found.labels.tolist() != plain.tolist():
        raise AssertionError(f"{name} on {graph.name}: labels differ from those of the plain loops")
    yield Row(graph.name, "natural", f"{name}: CPU s", seconds, "plain loops", plain_seconds)
    yield bar(graph.name, f"{name}: M edges/s", jobs.n_jobs / seconds / 1e6, "≥", RATES[k])
    yield Row(graph.name, "natural", f"{name}: replication factor", found.replication_factor())
    bound = 1 + float(loads.max() / loads.sum() * k)
    yield Row(graph.name, "natural", f"{name}: weight imbalance", found.imbalance(), "1 + max / mean load", bound)


def restreaming(given: Input, options: Options) -> Iterator[Row]:
    """WB-Libra with three passes, k = 64, the graph given in natural and in shuffled order."""
    factor, peer_seconds = TWO_PHASE[given.name]
    for order in ("natural", "shuffled"):
        jobs = generated(given.name).locality(order)
        for passes in (2, 3):
            found, seconds = timed(
                lambda jobs=jobs, passes=passes: partition(jobs, 64, "wb-libra", passes=passes), options.repeat
            )
            name = f"wb-libra passes={passes} k=64"
            yield Row(given.name, order, f"{name}: replication factor", found.replication_factor(), "2PS-HDRF", factor)
            yield Row(given.name, order, f"{name}: CPU s", seconds, "2PS-HDRF", peer_seconds)
            yield Row(given.name, order, f"{name}: imbalance", found.imbalance(), "allowed", 1.03)
