"""`map_onto` against tools that map a graph into a machine: hops and CPU time, at balance 1.03, one thread each.

`python benchmarks/mapping_onto.py --json benchmarks/results/mapping_onto.json` takes about ten minutes. Rows:
`hops/MACHINE`, Σ over edges of distance, and `seconds/MACHINE`, CPU seconds (medians of interleaved rounds, the tool's
own reading of the graph left out), beside those of the peer; `imbalance/MACHINE` beside 1.03. The peer on meshes of 16
and 64 cores is Mt-KaHyPar's `map_onto_graph` (it does not end in time on larger ones), on the tree 4:4:4 with
distances 1, 10, 100 it is SharedMap's mode `strong`. On larger meshes the peer is METIS into as many clusters and
`place(…, "swap")`. Each peer runs in a process of its own. The settings of `map_onto` were chosen on `TUNED`, of
which one is among the inputs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import numpy.typing as npt
from measuring import cpu_seconds, load
from rows import Row, print_rows, write_rows
from tracecut.ir import LocalityGraph, metrics
from tracecut.ir.clustering import Clustering
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.map_onto import map_onto
from tracecut.mapping.place import place
from tracecut.partition import partition
from tracecut.partition.datastructures.plain_graphs import data_graph

TUNED = ("delaunay_n15", "fe_pwt", "wing", "3elt", "tri-stanford-bunny")  # that the settings were chosen on
INPUTS = ("delaunay_n15", "tet-bunny", "trace-00008", "bubbles-00010", "cti", "fe_sphere", "4elt", "bcsstk32",
          "email-Enron", "astro-ph", "add32", "memplus")  # fmt: skip
MACHINES = ("mesh:4x4", "mesh:8x8", "tree:4x4x4@100,10,1", "mesh:16x16", "mesh:32x32")
BALANCE = 1.03
LIMIT = 120.0  # seconds of a peer
Edges = npt.NDArray[np.int64]
Answer = tuple[npt.NDArray[np.int32], float]


def plain_edges(graph: LocalityGraph) -> tuple[Edges, Edges]:
    """Edges u < v once each, int64 (edges, 2), and how many jobs each stands for."""
    plain = data_graph(graph)
    u = np.repeat(np.arange(plain.size), np.diff(plain.offsets))
    once = u < plain.neighbours
    weights = plain.edge_weights[once] // plain.edge_weights.min(initial=1)
    return np.stack([u[once], plain.neighbours[once].astype(np.int64)], axis=1), weights


def of_edges(n: int, edges: Edges, weights: Edges) -> LocalityGraph:
    graph = LocalityGraph.from_edges(edges[:, 0].astype(np.int32), edges[:, 1].astype(np.int32), n)
    return replace(graph, job_weights=weights.astype(np.float64))


def mt_kahypar(n: int, edges: Edges, weights: Edges, machine: str, seed: int) -> Answer:
    import mtkahypar

    lib = mtkahypar.initialize(1)
    context = lib.context_from_preset(mtkahypar.PresetType.DEFAULT)
    mtkahypar.set_seed(seed)
    shape = Machine.named(machine).joined.shape
    width, height = shape
    wires = [(y * width + x, y * width + x + 1) for y in range(height) for x in range(width - 1)]
    wires += [(y * width + x, (y + 1) * width + x) for y in range(height - 1) for x in range(width)]
    target = lib.create_target_graph(context, width * height, len(wires), wires, [1] * len(wires))
    context.set_mapping_parameters(width * height, BALANCE - 1)
    context.logging = False
    graph = lib.create_graph(context, n, len(edges), [tuple(e) for e in edges.tolist()], [1] * n, weights.tolist())
    start = cpu_seconds()
    found = graph.map_onto_graph(target, context)
    spent = cpu_seconds() - start
    return np.array(found.get_partition(), np.int32), spent


def sharedmap(n: int, edges: Edges, weights: Edges, machine: str, seed: int) -> Answer:
    from chszlablib import Decomposition, Graph

    network = Machine.named(machine).joined
    graph = Graph.from_edge_list([(*e, w) for e, w in zip(edges.tolist(), weights.tolist(), strict=True)])
    assert graph.num_nodes <= n
    hierarchy, distances = list(network.shape)[::-1], [int(step) for step in network.distances][::-1]
    start = cpu_seconds()
    found = Decomposition.process_map(
        graph, hierarchy, distances, mode="strong", imbalance=BALANCE - 1, threads=1, seed=seed
    )
    spent = cpu_seconds() - start
    labels = np.zeros(n, np.int32)
    labels[: graph.num_nodes] = found.assignment
    return labels, spent


def metis_and_swaps(n: int, edges: Edges, weights: Edges, machine: str, seed: int) -> Answer:
    there = Machine.named(machine)
    graph = of_edges(n, edges, weights)
    there.distances()
    start = cpu_seconds()
    found = partition(graph, len(there.cores), "metis", of="data", balance=BALANCE, seed=seed)
    placed = place(found, there, "swap")
    return placed.core_of[found.labels], cpu_seconds() - start


def ours(n: int, edges: Edges, weights: Edges, machine: str, seed: int) -> Answer:
    there = Machine.named(machine)
    graph = of_edges(n, edges, weights)
    there.distances()
    start = cpu_seconds()
    found, _ = map_onto(graph, there, seed=seed, balance=BALANCE)
    return found.labels, cpu_seconds() - start


def peer_for(machine: str) -> tuple[str, Callable[..., Answer]]:
    if machine.startswith("tree"):
        return "SharedMap strong", sharedmap
    if len(Machine.named(machine).cores) <= 64:
        return "Mt-KaHyPar", mt_kahypar
    return "METIS + swaps", metis_and_swaps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--inputs", nargs="+", default=list(INPUTS))
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[Row] = []
    pools = {side: get_context("spawn").Pool(1) for side in ("ours", "peer")}
    for name in options.inputs:
        found = load(name)
        if found is None:
            print(f"# {name} is not there")
            continue
        n, (edges, weights) = found.graph.n_data, plain_edges(found.graph)
        graph = of_edges(n, edges, weights)
        for machine in options.machines:
            rows += of_pair(pools, name, graph, edges, weights, machine, options.rounds)
            print_rows(rows[-4:])
    for machine in options.machines:
        for what in ("hops", "seconds"):
            ratios = [row.ratio for row in rows if row.metric == f"{what}/{machine}" and row.ratio]
            if ratios:
                rows.append(Row("all", "", f"geomean {what}/{machine}", float(np.exp(np.mean(np.log(ratios))))))
                print_rows(rows[-1:])
    for pool in pools.values():
        pool.terminate()
    if options.json is not None:
        write_rows(options.json, "mapping_onto", rows, rounds=options.rounds)


def of_pair(
    pools: dict, name: str, graph: LocalityGraph, edges: Edges, weights: Edges, machine: str, rounds: int
) -> list[Row]:
    peer, other = peer_for(machine)
    there = Machine.named(machine)
    hops, seconds = {"ours": [], "peer": []}, {"ours": [], "peer": []}
    imbalance: dict[str, float] = {"ours": 0.0, "peer": 0.0}
    pools["ours"].apply(ours, (graph.n_data, edges, weights, machine, 0))  # compiles
    if other is metis_and_swaps:
        pools["peer"].apply(other, (graph.n_data, edges, weights, machine, 0))
    for seed in range(rounds):
        for side, call in (("ours", ours), ("peer", other)):
            labels, spent = pools[side].apply_async(call, (graph.n_data, edges, weights, machine, seed)).get(LIMIT)
            clustering = Clustering(labels, len(there.cores), "data")
            hops[side].append(metrics.hop_cost(graph, clustering, there.distances()))
            seconds[side].append(spent)
            loads = np.bincount(labels, minlength=len(there.cores))
            imbalance[side] = max(imbalance[side], float(loads.max()) * len(there.cores) / graph.n_data)
    median = {side: statistics.median(hops[side]) for side in hops}
    return [
        Row(name, "natural", f"hops/{machine}", median["ours"], peer, median["peer"]),
        Row(
            name,
            "natural",
            f"seconds/{machine}",
            statistics.median(seconds["ours"]),
            peer,
            statistics.median(seconds["peer"]),
        ),
        Row(name, "natural", f"imbalance/{machine}", imbalance["ours"], "allowed", BALANCE),
        Row(name, "natural", f"imbalance of the peer/{machine}", imbalance["peer"], "allowed", BALANCE),
    ]


if __name__ == "__main__":
    main()
