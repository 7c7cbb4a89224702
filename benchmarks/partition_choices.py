"""Two threads against one, and what `auto` chooses against each of its candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from measuring import Input, Options, bar, cpu_seconds, interleaved, wall
from rows import Row
from tracecut.partition import partition

BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0)
CANDIDATES: dict[str, dict[str, Any]] = {
    "chunks": {},
    "wb-libra": {},
    "wb-libra, 2 passes": {"method": "wb-libra", "passes": 2},
    "expansion": {},
    "expansion, km1": {"method": "expansion", "refine": "km1"},
    "spac": {},
    "spac, km1": {"method": "spac", "refine": "km1"},
    "metis": {},
    "metis, km1": {"method": "metis", "refine": "km1"},
    "multilevel": {},
    "geographer-r, km1": {"method": "geographer-r", "refine": "km1"},
}
SLOW = {"spac": 1 << 20, "metis": 1 << 22, "metis, km1": 1 << 22}  # pins from which METIS takes minutes


def two_threads(given: Input, options: Options) -> Iterator[Row]:
    """Wall seconds on two threads against one; the labels must be the same."""
    graph, data = given.graph, {"of": "data", "weights": np.ones(given.graph.n_data)}
    cases: dict[str, dict[str, Any]] = {
        "expansion + km1": {"method": "expansion", "refine": "km1"},
        "multilevel": {"method": "multilevel"},
        "parcubed-det": {"method": "parcubed-det", **data},
    }
    if given.coords is not None:
        cases["kmeans"] = {"method": "kmeans", "coords": given.coords, **data}
        cases["geographer-r"] = {"method": "geographer-r", "coords": given.coords, **data}
    for name, arguments in cases.items():
        found = interleaved(
            {
                str(threads): lambda threads=threads, rest=arguments: partition(graph, 64, threads=threads, **rest)
                for threads in (1, 2)
            },
            max(options.repeat, 3),
            clock=wall,
        )
        (one, alone), (two, together) = found["1"], found["2"]
        if one.labels.tolist() != two.labels.tolist():
            raise AssertionError(f"{name} on {given.name}: other labels on two threads than on one")
        yield Row(given.name, "natural", f"{name} k=64, 2 threads: wall s", together, "1 thread", alone)
        yield bar(given.name, f"{name} k=64: speedup of 2 threads", alone / together, "≥", 1.6)


def choices(given: Input, options: Options) -> Iterator[Row]:
    """`auto` at several budgets against the best of its candidates that take no longer."""
    known: dict[str, tuple[float, float]] = {}
    for name, arguments in CANDIDATES.items():
        method = arguments.get("method", name)
        slow = name in SLOW and given.graph.n_pins > SLOW[name]
        if slow or (method == "geographer-r" and given.coords is None):
            continue
        rest = {key: value for key, value in arguments.items() if key != "method"}
        places = {"coords": given.coords} if method == "geographer-r" else {}
        start = cpu_seconds()
        found = partition(given.graph, 64, method, **rest, **places)
        known[name] = found.cost(), cpu_seconds() - start
        yield Row(given.name, "natural", f"{name} k=64: cost", found.cost())
        yield Row(given.name, "natural", f"{name} k=64: imbalance", found.imbalance(), "allowed", 1.03)
        yield Row(given.name, "natural", f"{name} k=64: CPU s", known[name][1])
    for budget in BUDGETS:
        fitting = {name: cost for name, (cost, seconds) in known.items() if seconds <= budget}
        if not fitting:
            continue
        best = min(fitting, key=lambda name: fitting[name])
        start = cpu_seconds()
        found = partition(given.graph, 64, "auto", budget=budget, coords=given.coords)
        spent = cpu_seconds() - start
        metric = f"auto k=64, budget {budget:g} s"
        yield Row(given.name, "natural", f"{metric}: cost", found.cost(), f"best, {best}", fitting[best])
        yield Row(given.name, "natural", f"{metric}: imbalance", found.imbalance(), "allowed", 1.03)
        yield Row(given.name, "natural", f"{metric}: CPU s", spent, "budget", budget)
