"""Random small programs, clusterings, placements and machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import MEMORY, REGISTER, DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.ir.machine.parts import Bank, Cache, Core
from tracecut.ir.placement import Placement

NETWORKS = (
    *(Network("mesh", (3, 2)), Network("mesh", (1, 5)), Network("torus", (4, 3)), Network("torus", (2, 2))),
    *(Network("tree", (2, 3)), Network("tree", (2, 2, 2)), Network("full", (5,)), Network("bus", (4,))),
)
Case = tuple[DependenceGraph, Clustering, Placement, Machine]


def random_case(seed: int) -> Case:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 60))
    edges = set()
    for _ in range(int(generator.integers(0, 3 * n))):
        if n > 1:
            dst = int(generator.integers(1, n))
            edges.add((dst, int(generator.integers(max(0, dst - 12), dst)), int(generator.choice([REGISTER, MEMORY]))))
    rows = sorted(edges)
    m = len(rows)
    kind = np.array([row[2] for row in rows], np.uint8)
    dst, src = (np.array([row[i] for row in rows], np.int32) for i in (0, 1))
    weight = np.where(kind == MEMORY, generator.choice([1, 4, 14, 200], m), 1).astype(np.int32)
    time = generator.choice([0, 1, 1, 4, 26], n).astype(np.int32)
    np.maximum.at(time, dst[kind == MEMORY], weight[kind == MEMORY])
    known = generator.random() < 0.6
    access = generator.choice([0, 1, 1, 2, 3], n).astype(np.uint8) if known else None
    lines = int(generator.choice([1, 3, 12, 80]))  # that few, or more than a cache has
    address = 8 * generator.integers(4 * lines, size=n) + 1 if known else None
    if address is not None:
        address[generator.random(n) < 0.1] = -1
    graph = DependenceGraph(src, dst, weight, kind, np.zeros(n, np.int32), time, None, address, access)
    k = int(generator.integers(1, 7))
    of = "data" if generator.random() < 0.5 else "jobs"
    labels = generator.integers(0, k, n if of == "data" else m).astype(np.int32)
    network = replace(
        NETWORKS[int(generator.integers(len(NETWORKS)))],
        bandwidth=float(generator.choice([3.0, 8.0, 16.0])),
        hop_latency=int(generator.integers(1, 4)),
        flit=int(generator.choice([4, 8, 16])),
    )
    count = int(generator.integers(1, network.nodes + 3))
    cores = tuple(
        Core(i, int(generator.integers(network.nodes)), float(generator.choice([1.0, 2.0, 0.7]))) for i in range(count)
    )
    levels = (Cache(1, 128, 32, int(generator.choice([1, 2, 4])), latency=int(generator.integers(1, 5))),)
    if generator.random() < 0.8:
        more = {"line": int(generator.choice([32, 32, 64])), "ways": int(generator.choice([1, 2]))}
        more["shared_by"] = int(generator.choice([1, 2, count, count]))
        levels = (*levels, Cache(2, 384, **more, latency=int(generator.integers(5, 15))))
    banks = tuple(
        Bank(int(generator.integers(network.nodes)), 1 << 20, float(generator.choice([0.0, 0.8, 3.3, 64.0])))
        for _ in range(int(generator.integers(0, 4)))
    )
    machine = Machine(
        *("case", cores, levels, 1 << 30, int(generator.choice([15, 60, 200])), network),
        banks=banks,
        issue_width=int(generator.integers(1, 4)),
        mshrs=int(generator.integers(1, 4)),
    )
    placement = Placement(generator.integers(0, count, k).astype(np.int32), count)
    return graph, Clustering(labels, k, of), placement, machine
