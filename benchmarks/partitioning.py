"""The partitioners against their peers: cost, balance and CPU time, family by family.

`python benchmarks/partitioning.py --json benchmarks/results/partitioning.json` runs all families; `--families` and
`--inputs` pick some, `--quick` repeats less. Times are medians of CPU seconds of `partition` calls after a warm-up.
Figures of peers without a wheel are those that their authors' code gave on the same graphs (2PS and HEP, one thread).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from graphs import GENERATED, Graph, generated, real
from plain import plain_stream
from rows import Row, print_rows, write_rows
from tracecut.ir import Clustering, LocalityGraph
from tracecut.partition import partition

# 2PS-HDRF, k = 64: replication factor and CPU seconds.
TWO_PHASE = {
    "dag250k": (1.210, 0.16),
    "ba50k_d8": (3.318, 0.12),
    "ba200k_d16": (6.36, 1.14),
    "rmat18": (4.02, 3.6),
    "spmv150k": (3.79, 0.99),
}
# Degree-weighted METIS, k = 64, cost.
WEIGHTED_METIS = {"delaunay250k": 7_264, "grid3d63": 37_985, "dag250k": 43_248, "ba50k_d8": 117_675}
REAL = (
    *("fe_pwt", "wing", "delaunay_n15", "tri-stanford-bunny", "memplus", "ibm10", "bayer10", "email-Enron"),
    *("soc-Slashdot0902", "cnr-2000", "internet", "USA-road-NY"),
)


@dataclass(frozen=True)
class Options:
    """`inputs` None takes all graphs of a family; `repeat` is the number of timed runs."""

    inputs: tuple[str, ...] | None
    repeat: int

    def graphs(self, names: Any) -> Iterator[Graph]:
        for name in names:
            if self.inputs is None or name in self.inputs:
                yield generated(name)

    def real(self) -> Iterator[tuple[str, LocalityGraph]]:
        for name in REAL:
            if self.inputs is None or name in self.inputs:
                graph = real(name)
                if graph is not None:
                    yield name, graph


def timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """What `call` returns, and the median of its CPU seconds."""
    result, seconds = call(), []
    for _ in range(repeat):
        start = time.process_time()
        result = call()
        seconds.append(time.process_time() - start)
    return result, statistics.median(seconds)


def streaming(options: Options) -> Iterator[Row]:
    """WB-Libra and WB-PG, one pass at λ = 1 in natural order: time against plain loops, identical labels, balance."""
    for graph in options.graphs(GENERATED):
        jobs = graph.locality()
        weightings = {"": None} if graph.weights is None else {"": None, " weighted": graph.weights}
        for weighting, weights in weightings.items():
            for k in (64, 1024):
                for method in ("wb-libra", "wb-pg"):
                    yield from _stream(graph, jobs, weighting, weights, k, method, options.repeat)


def _stream(
    graph: Graph, jobs: LocalityGraph, weighting: str, weights: Any, k: int, method: str, repeat: int
) -> Iterator[Row]:
    name = f"{method}{weighting} k={k}"
    optional = {} if weights is None else {"weights": weights}
    found, seconds = timed(lambda: partition(jobs, k, method, balance=1.0, **optional), repeat)
    loads = np.ones(jobs.n_jobs) if weights is None else weights
    limit = loads.sum() / k * (1 + 1e-12)
    degree = jobs.degrees()
    plain, plain_seconds = timed(
        lambda: plain_stream(graph.u, graph.v, degree, loads, k, method == "wb-libra", limit), 1 if k > 64 else repeat
    )
    if found.labels.tolist() != plain.tolist():
        raise AssertionError(f"{name} on {graph.name}: labels differ from those of the plain loops")
    yield Row(graph.name, "natural", f"{name}: CPU s", seconds, "plain loops", plain_seconds)
    yield Row(graph.name, "natural", f"{name}: M edges/s", jobs.n_jobs / seconds / 1e6)
    yield Row(graph.name, "natural", f"{name}: replication factor", found.replication_factor())
    bound = 1 + float(loads.max() / loads.sum() * k)
    yield Row(graph.name, "natural", f"{name}: weight imbalance", found.imbalance(), "1 + max / mean load", bound)


def restreaming(options: Options) -> Iterator[Row]:
    """WB-Libra with three passes, k = 64, graphs given in natural and in shuffled order."""
    for graph in options.graphs(TWO_PHASE):
        for order in ("natural", "shuffled"):
            jobs = graph.locality(order)
            peer = TWO_PHASE[graph.name]
            for passes in (2, 3):
                found, seconds = timed(
                    lambda jobs=jobs, passes=passes: partition(jobs, 64, "wb-libra", passes=passes), options.repeat
                )
                name = f"wb-libra passes={passes} k=64"
                factor = found.replication_factor()
                yield Row(graph.name, order, f"{name}: replication factor", factor, "2PS-HDRF", peer[0])
                yield Row(graph.name, order, f"{name}: CPU s", seconds, "2PS-HDRF", peer[1])
                yield Row(graph.name, order, f"{name}: imbalance", found.imbalance())


def real_graphs(options: Options) -> Iterator[Row]:
    """Real graphs, k = 64: one pass and three of WB-Libra against random placement."""
    for name, graph in options.real():
        random = partition(graph, 64, "random").replication_factor()
        for passes in (1, 3):
            found = partition(graph, 64, "wb-libra", passes=passes)
            metric = f"wb-libra passes={passes} k=64: replication factor"
            yield Row(name, "natural", metric, found.replication_factor(), "random", random)
            yield Row(name, "natural", f"wb-libra passes={passes} k=64: imbalance", found.imbalance())


def weighted_vertex_partition(options: Options) -> Iterator[Row]:
    """WVP random and greedy, k = 64, against the figures of degree-weighted METIS with majority placement."""
    for graph in options.graphs(WEIGHTED_METIS):
        jobs = graph.locality()
        for method in ("wvp-random", "wvp-greedy"):
            found: Clustering = partition(jobs, 64, method)
            peer = WEIGHTED_METIS[graph.name]
            yield Row(graph.name, "natural", f"{method} k=64: cost", found.cost(), "METIS by degree", peer)
            yield Row(graph.name, "natural", f"{method} k=64: imbalance", found.imbalance())


FAMILIES: dict[str, Callable[[Options], Iterator[Row]]] = {
    "streaming": streaming,
    "restreaming": restreaming,
    "wvp": weighted_vertex_partition,
    "real": real_graphs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--families", default=",".join(FAMILIES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--inputs", help="comma-separated names of graphs (default: all of each family)")
    parser.add_argument("--quick", action="store_true", help="time one run instead of five")
    arguments = parser.parse_args()
    inputs = tuple(arguments.inputs.split(",")) if arguments.inputs else None
    options = Options(inputs, 1 if arguments.quick else 5)
    rows: list[Row] = []
    for family in arguments.families.split(","):
        for row in FAMILIES[family](options):
            rows.append(row)
            print_rows([row])
    if arguments.json:
        write_rows(arguments.json, "partitioning", rows, families=arguments.families.split(","))


if __name__ == "__main__":
    main()
