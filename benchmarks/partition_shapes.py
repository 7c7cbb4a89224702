"""Graphs of extreme shapes: no method takes much longer on one than on a random graph of as many pins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from measuring import EDGES, Input, Options, bar, timed
from rows import Row
from shapes import random_graph
from tracecut.ir import Clustering, LocalityGraph
from tracecut.partition import METHODS, partition
from tracecut.partition.streaming.vertex_cut import CollapseWarning

K = 16
SLOWER = 5.0
LEAST = 0.02  # seconds, below which a call is more than what it does
OF_OTHERS = frozenset({"kahip", "kaminpar", "mtkahypar", "mtkahypar-km1"})


def shapes(given: Input, options: Options) -> Iterator[Row]:
    """CPU seconds of every method, k = 16, one thread, a million pins, against a random graph: bar 5 times as long."""
    for name in (*METHODS, "auto"):
        if name not in OF_OTHERS:
            found, seconds = timed(_call(name, given.graph), options.repeat)
            others = given.graph.n_data if _by_place(name) else 0
            peer = max(_random_seconds(name, others, options.repeat), LEAST)
            yield Row(given.name, "natural", f"{name} k={K}: CPU s", seconds, "random graph", peer)
            yield bar(given.name, f"{name} k={K}: times a random graph's CPU s", seconds / peer, "≤", SLOWER)
            yield Row(given.name, "natural", f"{name} k={K}: cost", found.cost())


def _by_place(name: str) -> bool:
    return name in METHODS and "coords" in METHODS[name].uses


def _call(name: str, graph: LocalityGraph) -> Callable[[], Clustering]:
    places = {"coords": np.random.default_rng(1).random((graph.n_data, 2))} if _by_place(name) else {}
    of = "data" if name in METHODS and METHODS[name].kind == "data" else "jobs"

    def call() -> Clustering:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            return partition(graph, K, name, of=of, threads=1, **places)

    return call


@cache
def _random_seconds(name: str, data: int, repeat: int) -> float:
    graph = random_graph(EDGES, max(data, EDGES // 3) if data else None)
    return float(timed(_call(name, graph), repeat)[1])
