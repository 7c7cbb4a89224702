"""`map_onto` against tools that map a graph into a machine: hops and CPU time, at balance 1.03, one thread each.

`python benchmarks/mapping_onto.py --json benchmarks/results/mapping_onto.json` takes about twenty minutes;
`--peers Scotch "Scotch quality"` measures ours beside these alone and leaves the rows of other peers in the file. Rows,
each beside a peer: `hops/MACHINE`, Σ over edges of distance, and `seconds/MACHINE`, CPU seconds (medians of interleaved
rounds, the tool's own reading of the graph left out); `imbalance/MACHINE` and `imbalance of PEER/MACHINE` beside the
allowed one, 1.03 or, where vertices, which are not divided, cannot keep that, the least; geometric means over the
inputs, also beside the best peer of each input. Where a peer is less balanced than is allowed and than ours, `hops at
the imbalance of the peer/MACHINE` is ours with as much room. A peer that does not end in LIMIT seconds has a row
without a number.

On meshes of 16 and 64 cores the peers are Mt-KaHyPar's `map_onto_graph` (it does not end in time on larger ones) and,
up to 1,024 cores, Scotch's `gmap`, where it is installed (`scotch.py`), by its two presets. On the tree 4:4:4 with
distances 1, 10, 100 it is SharedMap's mode `strong`. On larger meshes there is METIS into as many clusters and
`place(…, "swap")` beside Scotch. Each side runs in a process of its own. The settings of `map_onto` were chosen on
`TUNED`, of which one is among the inputs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import numpy.typing as npt
import scotch
from measuring import bar, cpu_seconds, load
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
EQUAL = "hops at the imbalance of the peer"
LIMIT = 120.0  # seconds of a peer
FIELDS = ("input", "order", "metric", "value", "peer", "peer_value", "note")
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


def ours(n: int, edges: Edges, weights: Edges, machine: str, seed: int, balance: float = BALANCE) -> Answer:
    there = Machine.named(machine)
    graph = of_edges(n, edges, weights)
    there.distances()
    start = cpu_seconds()
    found, _ = map_onto(graph, there, seed=seed, balance=balance)
    return found.labels, cpu_seconds() - start


def scotch_gmap(n: int, edges: Edges, weights: Edges, machine: str, seed: int, preset: str) -> Answer:
    return scotch.gmap(n, edges, weights, machine, preset, seed)


MESHES = ("mesh:4x4", "mesh:8x8", "mesh:16x16", "mesh:32x32")
PEERS: dict[str, tuple[Callable[..., Answer], tuple[str, ...]]] = {
    "Mt-KaHyPar": (mt_kahypar, MESHES[:2]),
    "SharedMap strong": (sharedmap, ("tree:4x4x4@100,10,1",)),
    "METIS + swaps": (metis_and_swaps, MESHES[2:]),
    **{name: (partial(scotch_gmap, preset=name), MESHES) for name in scotch.PRESETS},
}
# Of the geometric means: hops beside the best peer of each input, seconds beside one.
MOST_HOPS = {"mesh:4x4": 1.05, "mesh:8x8": 1.05, "tree:4x4x4@100,10,1": 1.05, "mesh:16x16": 1.0, "mesh:32x32": 1.0}
MOST_SECONDS = {"Mt-KaHyPar": 1 / 2, "SharedMap strong": 1 / 3, **dict.fromkeys(scotch.PRESETS, 2.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to; those of other peers in it stay")
    parser.add_argument("--inputs", nargs="+", default=list(INPUTS))
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=MACHINES)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    peers = [peer for peer in options.peers if peer not in scotch.PRESETS or scotch.installed()]
    if len(peers) < len(options.peers):
        print(f"# {scotch.PROGRAM} is not installed: no rows beside Scotch")
    earlier = json.loads(options.json.read_text()) if options.json is not None and options.json.exists() else {}
    rows: list[Row] = []
    pools = {side: pool() for side in ("ours", "peer")}
    for name in options.inputs:
        found = load(name)
        if found is None:
            print(f"# {name} is not there")
            continue
        edges, weights = plain_edges(found.graph)
        graph = of_edges(found.graph.n_data, edges, weights)
        for machine in options.machines:
            there = [peer for peer in peers if machine in PEERS[peer][1]]
            if there:
                more = of_machine(pools, name, graph, edges, weights, machine, there, options.rounds)
                print_rows(more)
                rows += more
    for each in pools.values():
        each.terminate()
    rows = together(rows, [Row(**{key: row[key] for key in FIELDS if key in row}) for row in earlier.get("rows", ())])
    means = summed(rows)
    print_rows(means)
    if options.json is not None:
        said = scotch.version() if scotch.installed() else earlier.get("scotch", "not installed")
        write_rows(options.json, "mapping_onto", rows + means, rounds=options.rounds, scotch=said)


def pool() -> Any:
    """A process that lasts, so that nothing is compiled or loaded twice."""
    return get_context("spawn").Pool(1)


def of_machine(
    pools: dict[str, Any],
    name: str,
    graph: LocalityGraph,
    edges: Edges,
    weights: Edges,
    machine: str,
    peers: list[str],
    rounds: int,
) -> list[Row]:
    """Rows of one input on one machine: ours and each peer in turn, round after round."""
    there = Machine.named(machine)
    calls = {"ours": ours, **{peer: PEERS[peer][0] for peer in peers}}
    hops: dict[str, list[float]] = {side: [] for side in calls}
    seconds: dict[str, list[float]] = {side: [] for side in calls}
    imbalance = dict.fromkeys(calls, 0.0)
    pools["ours"].apply(ours, (graph.n_data, edges, weights, machine, 0))  # compiles
    if "METIS + swaps" in calls:
        pools["peer"].apply(metis_and_swaps, (graph.n_data, edges, weights, machine, 0))
    late: list[str] = []
    for seed in range(rounds):
        for side in [side for side in calls if side not in late]:
            given = calls[side], (graph.n_data, edges, weights, machine, seed)
            try:
                labels, spent = pools["ours" if side == "ours" else "peer"].apply_async(*given).get(LIMIT)
            except TimeoutError:
                if side == "ours":
                    raise
                pools["peer"].terminate()
                pools["peer"] = pool()
                late.append(side)
                continue
            clustering = Clustering(labels, len(there.cores), "data")
            hops[side].append(metrics.hop_cost(graph, clustering, there.distances()))
            seconds[side].append(spent)
            loads = np.bincount(labels, minlength=len(there.cores))
            imbalance[side] = max(imbalance[side], float(loads.max()) * len(there.cores) / graph.n_data)
    fullest = -(-graph.n_data // len(there.cores))  # vertices of a core in an even spread
    allowed = max(BALANCE, fullest * len(there.cores) / graph.n_data)
    rows = [Row(name, "natural", f"imbalance/{machine}", imbalance["ours"], "allowed", allowed)]
    rows += [
        Row(name, "natural", f"hops/{machine}", None, peer, note=f"{peer} had not ended after {LIMIT:g} s")
        for peer in late
    ]
    for peer in [peer for peer in peers if peer not in late]:
        if imbalance[peer] > max(allowed, imbalance["ours"]):
            labels, _ = pools["ours"].apply(ours, (graph.n_data, edges, weights, machine, 0, imbalance[peer]))
            found = metrics.hop_cost(graph, Clustering(labels, len(there.cores), "data"), there.distances())
            rows.append(Row(name, "natural", f"{EQUAL}/{machine}", found, peer, statistics.median(hops[peer])))
        for what, values in (("hops", hops), ("seconds", seconds)):
            both = statistics.median(values["ours"]), statistics.median(values[peer])
            rows.append(Row(name, "natural", f"{what}/{machine}", both[0], peer, both[1]))
        rows.append(Row(name, "natural", f"imbalance of {peer}/{machine}", imbalance[peer], "allowed", allowed))
    return rows


def together(new: Iterable[Row], earlier: Iterable[Row]) -> list[Row]:
    """New rows, and the earlier ones of other peers, inputs and machines."""
    new = list(new)
    known = {(row.input, row.metric, row.peer) for row in new}
    kept = [row for row in earlier if row.input != "all" and (row.input, row.metric, row.peer) not in known]
    return kept + new


def summed(rows: Iterable[Row]) -> list[Row]:
    """Geometric means over the inputs, beside the bars: against each peer, and hops against the best of an input; and
    how often ours is less balanced than is allowed."""
    rows = list(rows)
    ratios: dict[tuple[str, str, str], list[float]] = {}
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for row in rows:
        what, _, machine = row.metric.partition("/")
        if what in ("hops", "seconds", EQUAL) and row.ratio:
            ratios.setdefault((what, machine, row.peer), []).append(row.ratio)
        if what == "hops" and row.value is not None and row.peer_value is not None:
            _, least = best.get((machine, row.input), (0.0, float("inf")))
            best[machine, row.input] = row.value, min(least, row.peer_value)
    own = [row.ratio for row in rows if row.metric.startswith("imbalance/") and row.ratio]
    found = [bar("all", "imbalances above the allowed", sum(ratio > 1 + 1e-9 for ratio in own), "≤", 0.0, "")]
    for (what, machine, peer), values in sorted(ratios.items()):
        metric, mean = f"geomean {what}/{machine}, {peer}", float(np.exp(np.mean(np.log(values))))
        barred = what == "seconds" and (peer not in scotch.PRESETS or machine in MESHES[2:])
        most = MOST_SECONDS.get(peer) if barred else None
        found.append(Row("all", "", metric, mean) if most is None else bar("all", metric, mean, "≤", most, ""))
    for machine, most in MOST_HOPS.items():
        pairs = [pair for (where, _), pair in best.items() if where == machine and pair[1] > 0]
        if pairs:
            mean = float(np.exp(np.mean([np.log(value / least) for value, least in pairs])))
            found.append(bar("all", f"geomean hops/{machine}, best peer of each input", mean, "≤", most, ""))
    return found


if __name__ == "__main__":
    main()
