"""Load on unequal units under memory limits: Hetero's Table III, and cuts and memory violations on its machines.

`python benchmarks/mapping.py --json benchmarks/results/mapping.json` takes about half an hour. Target sizes follow
Algorithm 1 with a total memory of 1.2 n; TOPO1 has fast and slow units, TOPO2 two kinds of slow ones (as printed, and
as in the published files). METIS gets the same targets, and its clusters are repaired in the same way as ours. Times
are CPU seconds on one thread, medians of `--repeat` runs in turn; those of METIS are taken inside its library, its
repair is counted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from hetero import BALANCE, repaired_metis
from measuring import Input, cpu_seconds, interleaved, load, timed
from rows import Row, print_rows, write_rows
from tracecut.ir.metrics import memory_violations
from tracecut.partition import METHODS, partition
from tracecut.partition.balance.target_sizes import relative_size, scaled_memory, target_sizes
from tracecut.partition.datastructures.plain_graphs import data_graph

STEPS = ((1, 2.0), (2, 3.2), (4, 5.2), (8, 8.5), (16, 13.8))  # Table III: speed and memory of the fast units
CELLS = ((1, 1), (2, 2), (3.2, 3.5), (5.5, 6.1), (9.4, 11.5))  # its last column, for k/12 and k/6 fast units
MESHES = ("delaunay250k", "grid3d63", "rgg3d250k", "bubbles-00010", "trace-00008", "tri-stanford-bunny", "tet-bunny")
CUTS = ("geographer-r", "kmeans")
BARS = {"geographer-r": 0.95, "kmeans": 1.03}


def units(topology: str, k: int, fast: int, step: int) -> tuple[list[float], list[float]]:
    """Speeds and memories of k units: fast ones first, then the slow ones (of TOPO2 those of S1 before those of S2)."""
    speed, memory = STEPS[step]
    speeds, memories = [float(speed)] * fast + [1.0] * (k - fast), [memory] * fast + [2.0] * (k - fast)
    first = range(fast, fast + (k - fast) // 2)
    for unit in first if topology != "topo1" else ():
        # Eq. 5: half of the ratio of the fast units, by the speed; the files have a larger memory in all steps.
        if topology == "topo2":
            speeds[unit] = 2.0 * 0.5 * speed / memory
        else:
            memories[unit] = 4.0
    return speeds, memories


def table_3() -> Iterator[Row]:
    total = 10**7
    for k in (96, 192):
        for step, cells in enumerate(CELLS):
            for share, cell in zip((12, 6), cells, strict=True):
                speeds, memories = units("topo1", k, k // share, step)
                sizes = target_sizes(total, speeds, scaled_memory(total, memories))
                name = f"Table III, step {step + 1}, k={k}, k/{share} fast: size of fast / slow units"
                yield Row("target sizes", "-", name, float(sizes[0] / sizes[-1]), "Hetero", float(cell))


def a_million() -> Row:
    """Target sizes of 10⁶ units of random speeds and memories."""
    draw = np.random.default_rng(1)
    speeds, room = draw.uniform(0.1, 16, 10**6), draw.uniform(0, 4_000, 10**6)
    total = int(room.sum() * 0.7)
    _, seconds = timed(lambda: target_sizes(total, speeds, room), 3)
    return Row("target sizes", "-", "a million units, CPU s", seconds, "a second", 1.0)


def placed(
    given: Input, topology: str, fast: int, step: int, repeat: int, *, only_repair: bool = False
) -> Iterator[Row]:
    """Every method on one machine: violations of memory, cut, achieved against planned size over speed."""
    graph, k = given.graph, 96
    speeds, memories = units(topology, k, fast, step)
    room = np.floor(scaled_memory(graph.n_data, memories))
    sizes = target_sizes(graph.n_data, speeds, room)
    limits = np.minimum(BALANCE * sizes, room)
    where = f"{topology}, {fast} of {k} fast, step {step + 1}"
    plain = data_graph(graph)
    shares = sizes / sizes.sum()

    def ours(name: str) -> Any:
        coords = given.coords if "coords" in METHODS[name].uses else None
        return partition(graph, k, name, of="data", targets=shares, capacities=room, coords=coords, threads=1)

    def metis() -> Any:
        return repaired_metis(graph, shares, limits, room, plain=plain)

    if only_repair:
        metis()
        runs = [metis()[1:] for _ in range(repeat)]
        inside, repair = (float(np.median(times)) for times in zip(*runs, strict=True))
        yield Row(given.name, "natural", f"{where}: METIS: repair, CPU s", repair, "METIS", inside)
        return
    calls = {name: (lambda name=name: ours(name)) for name in CUTS}
    found = interleaved({**calls, "metis": metis}, repeat)
    other, inside, repair = found["metis"][0]
    for name in CUTS:
        mine, seconds = found[name]
        yield Row(
            given.name, "natural", f"{where}: {name}: edge cut", mine.cost(), "METIS tpwgts, repaired", other.cost()
        )
        yield Row(given.name, "natural", f"{where}: {name}: CPU s", seconds, "METIS tpwgts, repaired", inside + repair)
    yield Row(given.name, "natural", f"{where}: METIS: repair, CPU s", repair, "METIS", inside)
    for name in of_data(given, "targets"):
        mine = found[name][0] if name in CUTS else ours(name)
        over = memory_violations(graph, mine, room)
        yield Row(given.name, "natural", f"{where}: {name}: memory violations", float(over))
        achieved, planned = relative_size(mine.sizes(), speeds), relative_size(sizes, speeds)
        yield Row(given.name, "natural", f"{where}: {name}: largest size / speed", achieved, "planned (Eq. 2)", planned)


def of_data(given: Input, use: str | None) -> list[str]:
    """Methods for data that run on an input and take `use`; METIS stands for all external ones."""
    return [
        name
        for name, method in METHODS.items()
        if method.kind == "data"
        and method.installed
        and (use is None or use in method.uses)
        and name not in ("hkmeans", "kaminpar", "kahip", "mtkahypar")
        and (given.coords is not None or "coords" not in method.uses)
    ]


def tight(given: Input, k: int = 96) -> Iterator[Row]:
    """Violations where capacities are 1.0001 of the average load, of data that weigh 1, and of weights from 1 to 9."""
    n = given.graph.n_data
    for what, weights in (
        ("", np.ones(n)),
        ("weights 1–9, ", np.random.default_rng(5).integers(1, 10, n).astype(float)),
    ):
        room = np.full(k, math.ceil(1.0001 * weights.sum() / k))
        for name in of_data(given, "weights" if what else None):
            coords = given.coords if "coords" in METHODS[name].uses else None
            start = cpu_seconds()
            found = partition(
                given.graph,
                k,
                name,
                of="data",
                weights=weights if what else None,
                capacities=room,
                coords=coords,
                threads=1,
            )
            over = float((np.bincount(found.labels, weights, k) > room).sum())
            where = f"{what}capacities 1.0001 × load: {name}"
            yield Row(given.name, "natural", f"{where}: memory violations", over)
            yield Row(given.name, "natural", f"{where}: CPU s", cpu_seconds() - start)


def summary(rows: list[Row]) -> Iterator[Row]:
    """Geometric means over all meshes and machines, and all violations."""
    for name in CUTS:
        ratios = [row.ratio for row in rows if row.metric.endswith(f": {name}: edge cut") and row.ratio]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            yield Row("geomean", "natural", f"{name}: edge cut / METIS, {len(ratios)} cases", mean, "bar ≤", BARS[name])
    shares = [row.ratio for row in rows if row.metric.endswith(": METIS: repair, CPU s") and row.ratio is not None]
    if shares:
        name = f"repair / METIS, {len(shares)} cases"
        yield Row("mean", "natural", name, float(np.mean(shares)), "bar ≤", 0.1)
        yield Row("most", "natural", name, max(shares), "bar ≤", 0.1)
    counts = [row.value for row in rows if row.metric.endswith("memory violations") and row.value is not None]
    if counts:
        yield Row("sum", "natural", f"memory violations, {len(counts)} partitions", float(sum(counts)))


def only_repair(options: argparse.Namespace) -> None:
    """New rows of the repair in the place of those in the file."""
    made: dict[tuple[str, str], Row] = {}
    for name in options.inputs.split(","):
        given = load(name)
        if given is None:
            print(f"# {name} is not there")
            continue
        for topology in options.topologies.split(","):
            for fast in (8, 16):
                for step in map(int, options.steps.split(",")):
                    found = list(placed(given, topology, fast, step, options.repeat, only_repair=True))
                    print_rows(found)
                    made |= {(row.input, row.metric): row for row in found}
    earlier = json.loads(options.json.read_text()) if options.json is not None else {"rows": ()}
    fields = [Row(**{key: row[key] for key in ("input", "order", "metric", "value", "peer", "peer_value")})
              for row in earlier["rows"] if row["input"] not in ("geomean", "sum", "mean", "most")]  # fmt: skip
    rows = [made.pop((row.input, row.metric), row) for row in fields] + list(made.values())
    print_rows(list(summary(rows)))
    if options.json is not None:
        write_rows(options.json, "mapping", [*rows, *summary(rows)], repeat=earlier["repeat"], balance=BALANCE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="results file to write, after each mesh")
    parser.add_argument("--inputs", default=",".join(MESHES), help="meshes, with commas")
    parser.add_argument("--topologies", default="topo1,topo2,topo2-published", help="machines, with commas")
    parser.add_argument("--steps", default="0,1,2,3,4", help="of Table III, from 0, with commas")
    parser.add_argument("--repeat", type=int, default=1, help="timed runs of each (default: 1)")
    parser.add_argument("--repair", action="store_true", help="only METIS and its repair; other rows of the file stay")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    if options.repair:
        only_repair(options)
        return
    rows = [*table_3(), a_million()]
    print_rows(rows)
    for name in options.inputs.split(","):
        given = load(name)
        if given is None:
            print(f"# {name} is not there")
            continue
        made = list(tight(given))
        print_rows(made)
        rows += made
        for topology in options.topologies.split(","):
            for fast in (8, 16):
                for step in map(int, options.steps.split(",")):
                    made = list(placed(given, topology, fast, step, options.repeat))
                    print_rows(made)
                    rows += made
        if options.json is not None:
            write_rows(options.json, "mapping", [*rows, *summary(rows)], repeat=options.repeat, balance=BALANCE)
    print_rows(list(summary(rows)))


if __name__ == "__main__":
    main()
