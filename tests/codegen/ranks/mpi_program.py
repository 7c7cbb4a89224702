"""What each rank of `test_mpi.py` runs: all splits, beside one rank; the first rank prints what was found."""

from __future__ import annotations

import itertools
import json

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

import tracecut

SPLITS, EXCHANGES = ("bitonic", "columns", "grid", "km1", "spac"), ("needed", "allgather")
QUERIES = list(range(0, 120, 11))
EARLY = {"tol": 1e-2}  # a few iterations: ranks that share a core wait for each other in each


def main() -> None:
    comm = MPI.COMM_WORLD
    draw = np.random.default_rng(3)
    u, v = (np.minimum((150 * draw.random(900) ** 2).astype(np.int64), 149) for _ in range(2))
    graph = sp.csr_array((draw.integers(1, 5, 900).astype(np.float64), (u, draw.permutation(150)[v])), shape=(150, 150))
    system = sp.csr_array(sp.eye_array(150) * 40.0 + graph + graph.T)
    b, given = draw.random(150), comm.rank == 0
    alone = [tracecut.pagerank(graph, **EARLY), *tracecut.hits(graph, **EARLY)]
    alone += [tracecut.rwr(graph, QUERIES, **EARLY), tracecut.cg(system, b)]
    largest, counts, sums = 0.0, True, {}
    for split, exchange in itertools.product(SPLITS, EXCHANGES):
        ranks = tracecut.Ranks(split, exchange)
        one = graph if given else None
        found = [tracecut.pagerank(one, device=ranks, **EARLY), *tracecut.hits(one, device=ranks, **EARLY)]
        found.append(tracecut.rwr(one, QUERIES if given else None, device=ranks, **EARLY))
        found.append(tracecut.cg(system if given else None, b if given else None, device=ranks))
        for own, other in zip(found, alone, strict=True):
            largest = max(largest, float(np.abs(own.values - other.values).max()))
            told = own.communication
            counts = counts and told.sent == told.predicted and own.iterations == other.iterations
        sums[f"{split} {exchange}"] = sum(found[0].communication.sent)
    every = np.empty(comm.size)
    comm.Allgather(np.array([largest if counts else 1.0]), every)
    if given:
        print(json.dumps({"ranks": comm.size, "largest": float(every.max()), "sums": sums}))


main()
