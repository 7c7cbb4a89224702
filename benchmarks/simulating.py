"""Speed and memory of the simulator, on programs of the samples and on generated graphs shaped like traces.

`python benchmarks/simulating.py --json benchmarks/results/simulating.json` takes about five minutes. Rows:
`rate/K/KIND`, instructions and messages in a CPU second, beside two million; `bytes/K/KIND`, memory for each of them,
beside a hundred (null where making the clusters took more before); `seconds/1024/md`, the unoptimised `md` on 1,024
cores, beside 15. `…/stated`: accesses take the cycles that the graph states; `…/caches`: caches, coherence and banks
are simulated, and the words and lines that go over the network for them count as messages. `l1_hits/K/KIND`: share of
the accesses whose line is in their own L1 or on its way there.
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
from tracecut.ir.dependence_graph import MEMORY, READ, REGISTER, WRITE, DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.place import GREEDY, place
from tracecut.mapping.simulation.caches import SHARED
from tracecut.partition import partition

import tracecut

REPEAT = 3


def generated(n: int, seed: int = 0) -> DependenceGraph:
    """1.3 dependences an instruction, mostly on near ones, a quarter through memory, one in fifty a miss.

    Of the accesses, six in ten are of a stack frame that changes every 4,096 instructions, three go along an array, one
    is anywhere in a mebibyte; one in four writes.
    """
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
    access = np.zeros(n, np.uint8)
    access[dst[memory]] = READ
    access[(access == 0) & (generator.random(n) < 0.08)] = WRITE
    place, at = generator.random(n), np.arange(n)
    frame = (1 << 24) + 512 * (at >> 12) + 8 * generator.integers(64, size=n)
    anywhere = 8 * generator.integers(1 << 17, size=n)
    address = np.where(place < 0.6, frame, np.where(place < 0.9, (1 << 22) + 2 * at, anywhere))
    ends = src.astype(np.int32), dst.astype(np.int32)
    return DependenceGraph(*ends, weight, kind, np.zeros(n, np.int32), time, None, address, access)


def measured(name: str, k: int, kind: str, caches: bool) -> tuple[int, int, float, int, float | None]:
    """Instructions, messages, CPU seconds, bytes of the largest growth of memory, share of L1 hits, of a simulation."""
    if name.startswith("generated"):
        graph = generated(int(name.removeprefix("generated-")))
    else:
        program, _, opt = name.partition("-")
        graph = tracecut.dependence_graph([FOLDER / f"{program}.c", *FLAGS, "-lm"], opt=opt, addresses=True)
    if kind == "jobs":
        clustering = partition(graph.as_locality(), k, "wb-libra")
    else:
        clustering = Clustering((np.arange(graph.n) * k // graph.n).astype(np.int32), k, "data")
    machine = Machine.mesh_for(k)
    placed = place(clustering, machine, GREEDY, graph=graph)
    small = generated(2000)
    few = Clustering(np.zeros(small.n if kind == "data" else small.m, np.int32), k, kind)
    tracecut.simulate(small, few, placed, machine, caches=caches)  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(REPEAT):
        start = cpu_seconds()
        found = tracecut.simulate(graph, clustering, placed, machine, caches=caches)
        times.append(cpu_seconds() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    hits = int(found.found[:SHARED].sum()) / int(found.found.sum()) if caches else None
    return graph.n, found.messages + found.asked, float(np.median(times)), grown << 10, hits


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
            for how in ("stated", "caches"):
                n, messages, seconds, grown, hits = pool.apply(measured, (name, k, kind, how == "caches"))
                each = grown / (n + messages) or None
                new = [Row(name, "", f"rate/{k}/{kind}/{how}", (n + messages) / seconds, "two million", 2e6)]
                new.append(Row(name, "", f"bytes/{k}/{kind}/{how}", each, "a hundred", 100.0))
                if hits is not None:
                    new.append(Row(name, "", f"l1_hits/{k}/{kind}", hits))
                if name == "md-seed":
                    new.append(Row(name, "", f"seconds/{k}/md/{how}", seconds, "15 s", 15.0))
                print_rows(new)
                rows += new
    if options.json is not None:
        write_rows(options.json, "simulating", rows, repeat=REPEAT)


if __name__ == "__main__":
    main()
