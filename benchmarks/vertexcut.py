"""The experiments of the vertex-cut paper's §6 on a simulated mesh, beside its Tables 5 to 9.

`python benchmarks/vertexcut.py --json benchmarks/results/vertexcut.json` takes about ten minutes on two cores. Ten
programs, 8 to 1024 clusters, eight methods, each on a mesh of as many cores as there are clusters; vertex cuts of the
edges in the order of the program and shuffled. Graphs are those of the canonical form (O1). Accesses take the cycles
that the graphs state (`caches=False`), the weights by which the methods balance; `simulating.py` has caches.

Rows, K being the number of clusters and M the method:

- `cycles/K/M`, and `time/K/M`: over that of the CompNet stand-in, beside the paper's;
- `moved/K/M`, `moved_by_seed/K/M`: bytes, each value once per remote cluster, and as the paper counts (every cut edge
  of edge cuts, every replica of vertex cuts); `bytes/K/M` and `bytes_by_seed/K/M`: over CompNet's;
- `imbalance/K/M` of edge weights with a bound of 1 (Table 5 does not state K: it stands beside 8);
- `replication/K/M` beside the exact expectation of a random cut, and `expected/K` beside Eq. 10 (Figure 8);
- `least_bytes_at/M`, `least_share_at/M`: the K with the fewest bytes as the paper counts, in all and over CompNet's
  (§6.2.4 sees a turn at 128), and of all programs the share where that is at 128;
- `lambda/M/L`: time over that of L = 1, with 64 clusters, where §6.2.5 sweeps the bound;
- `without/K/RULE`: time of the memory-centric greedy with a rule of §5.2 off, over that with all rules; `random/K` and
  `memory-centric/K`: of random placement and of `place`'s own method, all for WB-Libra.

`pairs` in the file has a record for each program, K and pair of methods: whether the simulation orders their times and
bytes, in both counts, as the paper does, and which bound of the simulated machine separates them. Tables 6 to 9 have
numbers for 8 and 1024 clusters; for the others `paper` is what §6.2.3 and §6.2.4 say of all of them: vertex cuts are
faster than edge cuts, weighted ones than unweighted ones, and move less than edge cuts. `not_modelled` is what Table 2
has and the machine has not.
"""

from __future__ import annotations

import argparse
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import vertexcut_tables as paper
from rows import Row, print_rows, write_rows
from table4 import FLAGS, FOLDER, TABLE
from tracecut.ir import metrics
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.expected_replication import exact_expectation, power_law_expectation
from tracecut.ir.graph_statistics import continuous_exponent
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.place import GREEDY, place
from tracecut.mapping.placing.memory_centric_greedy import Rules
from tracecut.partition import partition

import tracecut

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
CUTS = paper.METHODS[2:]
SWEPT = {"mandelbrot": 1e-4, "md": 1e-5, "nn": 1e-4, "neuron": 1e-4, "strassen16": 1e-4}  # §6.2.5: steps of λ
STEPS = 12
TABLES: dict[tuple[str, int], dict[str, tuple[float, ...]]] = {
    ("bytes_by_seed" if what == "bytes" else what, k): table for (what, k), table in paper.TABLES.items()
}
OTHERS = ("random", "memory-centric")  # placements beside the seed's
RULES = {"shared": Rules(shared=False), "adjacent": Rules(adjacent=False), "apart": Rules(apart=False)}


@dataclass(frozen=True)
class Found:
    """What was measured of one clustering."""

    cycles: int
    bytes: int
    by_seed: int
    busiest: int  # instructions begun by one core
    link: int
    messages: int
    imbalance: float
    replication: float


def clustering(graph: LocalityGraph, k: int, method: str, order: Any, balance: float = 1.0) -> Clustering:
    """Labels by a method as the paper uses it: PowerGraph and Libra know no weights, the WB rules have λ = 1."""
    options: dict[str, Any] = {} if method not in CUTS else {"order": order}
    if method.startswith("wb-"):
        options["balance"] = balance
    return partition(graph, k, method, unweighted=method in ("powergraph", "libra"), **options)


def measured(
    graph: DependenceGraph, found: Clustering, local: LocalityGraph, method: str = GREEDY, rules: Rules | None = None
) -> Found:
    machine = Machine.mesh_for(found.k)
    placed = place(found, machine, method, graph=graph, rules=rules)
    run = tracecut.simulate(graph, found, placed, machine, caches=False)
    jobs = found.kind == "jobs"
    busiest = int(np.bincount(run.core, minlength=1).max())
    return Found(
        *(run.time, run.bytes_moved, run.bytes_by_seed, busiest, run.busiest_link(), run.messages),
        metrics.weight_imbalance(local, found) if jobs else 0.0,
        metrics.replication_factor(local, found) if jobs else 0.0,
    )


def program(name: str) -> tuple[list[Row], list[dict[str, Any]]]:
    """All rows of one program."""
    graph = tracecut.dependence_graph([FOLDER / f"{name}.c", *FLAGS, "-lm"], opt="O1")
    local = graph.as_locality()
    shuffled = np.random.default_rng(0).permutation(local.n_jobs).astype(np.int32)
    rows: list[Row] = []
    pairs: list[dict[str, Any]] = []
    grid: dict[tuple[str, int, str], Found] = {}
    for k in SIZES:
        for method in paper.METHODS:
            for order, stream in (("natural", None), ("shuffled", shuffled)):
                if order == "natural" or method in CUTS:
                    grid[order, k, method] = measured(graph, clustering(local, k, method, stream), local)
                else:
                    grid[order, k, method] = grid["natural", k, method]
        for order in ("natural", "shuffled"):
            rows += of_size(name, order, k, {method: grid[order, k, method] for method in paper.METHODS})
            pairs += of_pairs(name, order, k, {method: grid[order, k, method] for method in paper.METHODS})
    degrees = graph.degrees()
    exponent = continuous_exponent(degrees)
    for k in SIZES:
        exact = exact_expectation(degrees, k)
        rows.append(Row(name, "", f"expected/{k}", exact, "Eq. 10", power_law_expectation(graph.n, exponent, k)))
        for order in ("natural", "shuffled"):
            for method in CUTS:
                value = grid[order, k, method].replication
                rows.append(Row(name, order, f"replication/{k}/{method}", value, "random cut", exact))
    for order in ("natural", "shuffled"):
        for method in CUTS:
            for what, base in (("bytes", None), ("share", "compnet")):
                least = min(
                    SIZES, key=lambda k: grid[order, k, method].by_seed / (grid[order, k, base].by_seed if base else 1)
                )
                rows.append(Row(name, order, f"least_{what}_at/{method}", least, "VertexCut §6.2.4", 128))
    return rows + sweep(name, graph, local) + ablation(name, graph, local), pairs


def of_size(name: str, order: str, k: int, found: dict[str, Found]) -> list[Row]:
    """Absolute and normalised numbers of all methods for one k."""
    rows = []
    base = found["compnet"]
    for place_of, method in enumerate(paper.METHODS):
        one = found[method]
        absolute = {"cycles": one.cycles, "moved": one.bytes, "moved_by_seed": one.by_seed}
        rows += [Row(name, order, f"{metric}/{k}/{method}", value) for metric, value in absolute.items()]
        normalised = {"time": one.cycles / base.cycles, "bytes": one.bytes / max(1, base.bytes)}
        normalised["bytes_by_seed"] = one.by_seed / max(1, base.by_seed)
        for metric, value in normalised.items():
            table = TABLES.get((metric, k))
            if table is None:
                rows.append(Row(name, order, f"{metric}/{k}/{method}", value))
            else:
                theirs = table[name][place_of] / table[name][0]
                rows.append(Row(name, order, f"{metric}/{k}/{method}", value, "VertexCut", theirs))
        if method in CUTS:
            theirs = paper.IMBALANCE[name][CUTS.index(method)] if k == SIZES[0] else None
            rows.append(
                Row(name, order, f"imbalance/{k}/{method}", one.imbalance, "VertexCut" if theirs else "", theirs)
            )
    return rows


def of_pairs(name: str, order: str, k: int, found: dict[str, Found]) -> list[dict[str, Any]]:
    """Each pair of methods: does the simulation order them as the paper does?"""
    records = []
    for a, b in combinations(paper.METHODS, 2):
        first, second = found[a], found[b]
        ours = second.cycles / first.cycles
        fair, by_seed = (getattr(second, count) / max(1, getattr(first, count)) for count in ("bytes", "by_seed"))
        record = {"input": name, "order": order, "k": k, "pair": [a, b]}
        record |= {name: float(f"{each:.4g}") for name, each in (("time", ours), ("bytes", fair), ("by_seed", by_seed))}
        theirs = {what: paper.ratio(what, name, k, a, b) for what in ("time", "bytes")}
        record |= {"paper": "table" if paper.stated(k) else "text"}
        record |= {f"paper_{what}": each if each is None else float(f"{each:.4g}") for what, each in theirs.items()}
        for what, value, there in (
            *(("time", ours, theirs["time"]), ("bytes", fair, theirs["bytes"])),
            ("by_seed", by_seed, theirs["bytes"]),
        ):
            record[f"{what}_agrees"] = None if there is None else (value > 1) == (there > 1)
        records.append(record | {"why": why(first, second, ours)})
    return records


def why(first: Found, second: Found, ratio: float) -> str:
    """Which number of the simulated machine changes most in the direction of the time."""
    if abs(ratio - 1) < 0.01:
        return "both take the same time (±1 %): the longest chain of dependences, which no clustering shortens"
    names = {"busiest": "instructions of the busiest core", "messages": "messages", "link": "bytes of the busiest link"}
    change = {name: getattr(second, name) / max(1, getattr(first, name)) for name in names}
    best = max(change, key=lambda name: change[name] if ratio > 1 else -change[name])
    if (change[best] > 1) != (ratio > 1):
        return "none of core, messages and links changes that way: the chain of dependences crosses other hops"
    return f"{names[best]}: × {change[best]:.3g}"


def sweep(name: str, graph: DependenceGraph, local: LocalityGraph) -> list[Row]:
    """§6.2.5: time against the bound of the balanced rules."""
    rows: list[Row] = []
    for method in ("wb-pg", "wb-libra") if name in SWEPT else ():
        base = 0
        for step in range(STEPS + 1):
            bound = 1.0 + step * SWEPT[name]
            cycles = measured(graph, clustering(local, 64, method, None, bound), local).cycles
            base = base or cycles
            rows.append(Row(name, "natural", f"lambda/{method}/{bound:.5f}", cycles / base))
    return rows


def ablation(name: str, graph: DependenceGraph, local: LocalityGraph) -> list[Row]:
    """Each rule of §5.2 off, and other placements."""
    rows = []
    for k in (64, 1024):
        found = clustering(local, k, "wb-libra", None)
        whole = measured(graph, found, local)
        for rule, rules in RULES.items():
            cycles = measured(graph, found, local, rules=rules).cycles
            rows.append(Row(name, "natural", f"without/{k}/{rule}", cycles, "all rules", whole.cycles))
        for method in OTHERS:
            cycles = measured(graph, found, local, method).cycles
            rows.append(Row(name, "natural", f"{method}/{k}", cycles, GREEDY, whole.cycles))
    return rows


def summary(rows: list[Row], pairs: list[dict[str, Any]]) -> list[Row]:
    """Geometric means of the ablation, and shares of pairs that agree."""
    found = []
    for metric in sorted(
        {row.metric for row in rows if row.metric.startswith(("without/", *(f"{method}/" for method in OTHERS)))}
    ):
        ratios = [row.ratio for row in rows if row.metric == metric and row.ratio]
        found.append(Row("all", "natural", f"geomean {metric}", float(np.exp(np.mean(np.log(ratios))))))
    for order in ("natural", "shuffled"):
        for k in SIZES:
            chosen = [pair for pair in pairs if pair["order"] == order and pair["k"] == k]
            for what in ("time_agrees", "bytes_agrees", "by_seed_agrees"):
                judged = [pair[what] for pair in chosen if pair[what] is not None]
                found.append(Row("all", order, f"{what}/{k}", float(np.mean(judged)) if judged else None))
        for what in ("bytes", "share"):
            turns = [row.value for row in rows if row.order == order and row.metric.startswith(f"least_{what}_at/")]
            found.append(Row("all", order, f"least_{what}_at/128", float(np.mean([turn == 128 for turn in turns]))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--programs", nargs="+", choices=sorted(TABLE), default=list(TABLE))
    options = parser.parse_args()
    largest_first = sorted(options.programs, key=lambda name: -TABLE[name][0])
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(program, largest_first))
    rows = [row for result in results for row in result[0]]
    pairs = [pair for result in results for pair in result[1]]
    rows += summary(rows, pairs)
    print_rows([row for row in rows if row.input == "all"])
    if options.json is not None:
        left_out = list(Machine.mesh_for(8).notes)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = {"cpu_seconds": round(used.ru_utime + used.ru_stime, 1), "processes": 2}
        write_rows(options.json, "vertexcut", rows, flags=list(FLAGS), **took, not_modelled=left_out, pairs=pairs)


if __name__ == "__main__":
    main()
