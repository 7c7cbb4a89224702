"""Speed and memory of the simulator, on programs of the samples and on generated graphs shaped like traces.

`python benchmarks/simulating.py --json benchmarks/results/simulating.json` takes about three minutes. Rows:
`rate/K/KIND`, instructions and messages in a CPU second, beside two million; `bytes/K/KIND`, memory for each of them,
beside a hundred (null where making the clusters took more before); `seconds/1024/md`, the unoptimised `md` on 1,024
cores, beside 15.
"""

from __future__ import annotations

import argparse
import resource
import sys
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from measuring import cpu_seconds
from rows import Row, print_rows, write_rows
from table4 import FLAGS, FOLDER
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import MEMORY, REGISTER, DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.place import place
from tracecut.partition import partition

import tracecut

REPEAT = 3


def generated(n: int, seed: int = 0) -> DependenceGraph:
    """1.3 dependences an instruction, mostly on near ones, a quarter through memory, one in fifty a miss."""
    generator = np.random.default_rng(seed)
    m = int(1.3 * n)
    dst = generator.integers(1, n, m)
    src = dst - np.minimum(dst, 1 + (generator.pareto(1.2, m) * 4).astype(np.int64))
    dst, src = np.unique(np.stack([dst, src]), axis=1)
    memory = generator.random(dst.size) < 0.25
    weight = np.where(memory, generator.choice([4, 14, 200], dst.size, p=[0.9, 0.08, 0.02]), 1).astype(np.int32)
    time = np.ones(n, np.int32)
    np.maximum.at(time, dst[memory], weight[memory])
    kind = np.where(memory, MEMORY, REGISTER).astype(np.uint8)
    return DependenceGraph(src.astype(np.int32), dst.astype(np.int32), weight, kind, np.zeros(n, np.int32), time)


def measured(name: str, k: int, kind: str) -> tuple[int, int, float, int]:
    """Instructions, messages, CPU seconds and bytes of the largest growth of memory, of one simulation."""
    if name.startswith("generated"):
        graph = generated(int(name.removeprefix("generated-")))
    else:
        program, _, opt = name.partition("-")
        graph = tracecut.dependence_graph([FOLDER / f"{program}.c", *FLAGS, "-lm"], opt=opt)
    if kind == "jobs":
        clustering = partition(graph.as_locality(), k, "wb-libra")
    else:
        clustering = Clustering((np.arange(graph.n) * k // graph.n).astype(np.int32), k, "data")
    machine = Machine.mesh_for(k)
    placed = place(clustering, machine, graph=graph)
    small = generated(2000)
    few = Clustering(np.zeros(small.n if kind == "data" else small.m, np.int32), k, kind)
    tracecut.simulate(small, few, placed, machine)  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(REPEAT):
        start = cpu_seconds()
        found = tracecut.simulate(graph, clustering, placed, machine)
        times.append(cpu_seconds() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return graph.n, found.messages, float(np.median(times)), grown << 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    options = parser.parse_args()
    cases = [(name, k, kind) for name in ("cnn-O1", "md-O1") for k in (64, 1024) for kind in ("data", "jobs")]
    cases += [("generated-2000000", k, kind) for k in (64, 1024) for kind in ("data", "jobs")]
    cases += [("md-seed", 1024, "jobs")]
    rows: list[Row] = []
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:  # a process each: memory only grows
        for name, k, kind in cases:
            n, messages, seconds, grown = pool.apply(measured, (name, k, kind))
            rows.append(Row(name, "", f"rate/{k}/{kind}", (n + messages) / seconds, "two million", 2e6))
            rows.append(Row(name, "", f"bytes/{k}/{kind}", grown / (n + messages) or None, "a hundred", 100.0))
            if name == "md-seed":
                rows.append(Row(name, "", f"seconds/{k}/md", seconds, "15 s", 15.0))
            print_rows(rows[-3 if name == "md-seed" else -2 :])
    if options.json is not None:
        write_rows(options.json, "simulating", rows, repeat=REPEAT)


if __name__ == "__main__":
    main()
