"""Placing given clusters on a mesh: messages · hops against ten rounds of pairwise exchanges, and speed.

`python benchmarks/placing.py --json benchmarks/results/placing.json` takes about five minutes. Clusters are those of
METIS, as many as the mesh has cores and four times as many. Rows: `hops/SIDE/K/METHOD`, beside ten rounds of exchanges
of any two clusters from the order of their numbers (`pairwise`), `most/SIDE/K/METHOD`, the most clusters on a core,
beside an even spread, and `rate/SIDE/K/METHOD`, clusters and interactions placed in a CPU second (the median of five
runs, one thread; the machine's tables are made before), beside a million. Geometric means over all of them; `even` is
the one of hops over those where no core holds more than an even spread, since clusters that share a core save hops.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import numpy.typing as npt
from measuring import bar, interleaved, load
from numba import njit
from rows import Row, print_rows, write_rows
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.place import interactions, place
from tracecut.mapping.placing.costs import hop_messages
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.partition import partition
from tracecut.support.arrays import Floats, Ints, Longs

INPUTS = ("delaunay_n15", "fe_pwt", "wing", "bcsstk32", "astro-ph", "email-Enron", "cnr-2000", "USA-road-NY")
METHODS = ("memory-centric", "memory-centric-greedy", "hierarchical", "swap", "round-robin", "random")
SIDES = (8, 16, 32)
ROUNDS = 10
BARS = {"hops": ("≤", 1.05), "rate": ("≥", 1.0)}  # of the default method
MOST = 1024  # clusters that are exchanged pair by pair


@njit(cache=True)
def exchanged(offsets: Longs, others: Ints, messages: Floats, hops: npt.NDArray[np.int32], core_of: Ints) -> None:
    """Rounds of greedy exchanges of any two clusters, until none helps; O(rounds · k² · degree)."""
    k = core_of.size
    for _ in range(ROUNDS):
        changed = False
        for a in range(k):
            for b in range(a + 1, k):
                first, second = core_of[a], core_of[b]
                if first == second:
                    continue
                saved = 0.0
                for i in range(offsets[a], offsets[a + 1]):
                    if others[i] != b:
                        there = core_of[others[i]]
                        saved += messages[i] * (hops[first, there] - hops[second, there])
                for i in range(offsets[b], offsets[b + 1]):
                    if others[i] != a:
                        there = core_of[others[i]]
                        saved += messages[i] * (hops[second, there] - hops[first, there])
                if saved > 1e-9:
                    core_of[a], core_of[b] = second, first
                    changed = True
        if not changed:
            return


def of_input(name: str, clusters: ClusterGraph, machine: Machine, side: int) -> list[Row]:
    hops = machine.distances()
    calls = {method: lambda method=method: place(clusters, machine, method) for method in METHODS}
    found = interleaved(calls, 5)
    peer = None
    if clusters.k <= MOST:
        start = (np.arange(clusters.k) * len(machine.cores) // clusters.k).astype(np.int32)
        exchanged(*clusters.both_ways(), hops, start)
        peer = hop_messages(clusters, start, hops)
    rows = []
    for method, (placed, seconds) in found.items():
        cost = hop_messages(clusters, placed.core_of, hops)
        rate = (clusters.k + clusters.src.size) / seconds
        rows.append(Row(name, "", f"hops/{side}/{clusters.k}/{method}", cost, "pairwise" if peer else "", peer))
        most = int(np.bincount(placed.core_of).max())
        rows.append(Row(name, "", f"most/{side}/{clusters.k}/{method}", most, "even", -(-clusters.k // side**2)))
        rows.append(Row(name, "", f"rate/{side}/{clusters.k}/{method}", rate, "a million", 1e6))
    return rows


def summed(rows: list[Row]) -> list[Row]:
    """Geometric means of each method, those of the default one beside the bars."""
    found = []
    for method in METHODS:
        by = {row.metric.split("/")[0]: {} for row in rows}
        for row in rows:
            what, _, case = row.metric.partition("/")
            if case.endswith(f"/{method}") and row.ratio:
                by[what][row.input, case] = row.ratio
        by["even"] = {case: ratio for case, ratio in by["hops"].items() if by["most"][case] <= 1.0}
        for what in ("hops", "even", "rate"):
            mean = float(np.exp(np.mean(np.log(list(by[what].values())))))
            metric = f"geomean {what}/{method}"
            barred = what in BARS and method == METHODS[0]
            found.append(bar("all", metric, mean, *BARS[what], "") if barred else Row("all", "", metric, mean))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--inputs", nargs="+", default=list(INPUTS))
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.inputs:
        found = load(name)
        if found is None:
            print(f"# {name} is not there")
            continue
        for side in SIDES:
            machine = Machine.mesh(side, side)
            for k in (side * side, 4 * side * side):
                clusters = interactions(partition(found.graph, k, "metis", of="data", unweighted=True))
                rows += of_input(name, clusters, machine, side)
                print_rows(rows[-3 * len(METHODS) :])
    means = summed(rows)
    print_rows(means)
    rows += means
    if options.json is not None:
        write_rows(options.json, "placing", rows, rounds=ROUNDS)


if __name__ == "__main__":
    main()
