"""Iterations on several ranks of MPI: time and bytes of each split and exchange, strong and weak scaling, and the sizes
of TileSpMV's Table 3 by the model (`many_ranks_model.py`).

An iteration of PageRank is timed on the slowest rank, without handing out; ranks have one thread. `cpu_us` is the CPU
time of its products on the rank that takes most, without exchanges: what an iteration would take where ranks have cores
of their own and a fast network. Times of more ranks than there are free cores say nothing of scaling: the file has the
number of cores, and the load before the run. Needs `pip install mpi4py mpich`.

    python benchmarks/many_ranks.py --json results/many_ranks.json [--scale 17] [--ranks 1,2,4] [--repeat 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from many_ranks_model import modelled_rows
from mining import mesh, rmat
from rows import Row, print_rows, write_rows
from tracecut.codegen.ranks.product import RankProduct
from tracecut.codegen.ranks.split import EXCHANGES, SPLITS

import tracecut

BIN = Path(sys.executable).parent
ITERATIONS = 20
PARTITIONED = ("km1", "spac")  # take long on large power laws


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--scale", type=int, default=17, help="of the R-MAT graph: 16 << SCALE links (default: 17)")
    parser.add_argument("--small", type=int, default=14, help="of the one for km1 and spac (default: 14)")
    parser.add_argument("--side", type=int, default=200, help="of the mesh (default: 200)")
    parser.add_argument("--ranks", default="1,2,4", help="comma-separated numbers, the first 1 (default: 1,2,4)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return
    load = round(os.getloadavg()[0], 1)
    sizes = [int(word) for word in options.ranks.split(",")]
    rows = []
    for found in all_rows(options, sizes):
        print_rows([found])
        rows.append(found)
    if options.json:
        write_rows(options.json, "many_ranks", rows, cores=len(os.sched_getaffinity(0)), load=load)


def all_rows(options: argparse.Namespace, sizes: list[int]) -> Iterator[Row]:
    inputs = {
        f"rmat{options.scale}": (rmat(options.scale), [split for split in SPLITS if split not in PARTITIONED]),
        f"rmat{options.small}": (rmat(options.small), list(SPLITS)),
        f"mesh{options.side}": (abs(mesh(options.side, scattered=False)), list(SPLITS)),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (matrix, splits) in inputs.items():
            path = Path(folder) / f"{name}.npz"
            sp.save_npz(path, sp.csr_array(matrix))
            yield from strong_rows(name, path, splits, sizes, options.repeat)
        yield from weak_rows(Path(folder), options.scale, sizes, options.repeat)
    yield from modelled_rows()


def strong_rows(name: str, path: Path, splits: list[str], sizes: list[int], repeat: int) -> Iterator[Row]:
    """The same graph on more ranks."""
    cases = [(split, exchange) for split in splits for exchange in EXCHANGES]
    runs = rounds([(size, path) for size in sizes], cases, repeat)
    for place, (split, exchange) in enumerate(cases):
        alone = median(runs[0], place)
        for size, found in zip(sizes, runs, strict=True):
            last = found[-1][place]
            yield Row(name, split, f"{exchange} {size}r: us", median(found, place), "1 rank", alone)
            if exchange == EXCHANGES[0]:
                cpu, own = (median(each, place, "cpu_us") for each in (found, runs[0]))
                yield Row(name, split, f"{size}r: cpu_us", cpu, "1 rank", own)
            yield Row(name, split, f"{exchange} {size}r: bytes", last["bytes"], "model", last["predicted"])
            if exchange == EXCHANGES[0]:
                yield Row(name, split, f"{size}r: split_ms", last["split_ms"])


def weak_rows(folder: Path, scale: int, sizes: list[int], repeat: int) -> Iterator[Row]:
    """Twice the graph on twice the ranks."""
    paths = []
    for size in sizes:
        grown = scale - 2 + size.bit_length() - 1
        paths.append(folder / f"rmat{grown}-{size}.npz")
        sp.save_npz(paths[-1], rmat(grown))
    runs = rounds(list(zip(sizes, paths, strict=True)), [("bitonic", "needed")], repeat)
    for size, path, found in zip(sizes, paths, runs, strict=True):
        name = path.stem.split("-")[0]
        yield Row(name, "bitonic", f"weak needed {size}r: us", median(found, 0), "1 rank", median(runs[0], 0))
        cpu, own = (median(each, 0, "cpu_us") for each in (found, runs[0]))
        yield Row(name, "bitonic", f"weak {size}r: cpu_us", cpu, "1 rank", own)
        yield Row(name, "bitonic", f"weak needed {size}r: bytes", found[-1][0]["bytes"])


def median(runs: list[Any], place: int, what: str = "us") -> float:
    return float(statistics.median(run[place][what] for run in runs))


def rounds(launches: list[tuple[int, Path]], cases: list[tuple[str, str]], repeat: int) -> list[list[Any]]:
    """Each launch once a round: its numbers of all cases."""
    found: list[list[Any]] = [[] for _ in launches]
    for _ in range(repeat):
        for runs, (size, path) in zip(found, launches, strict=True):
            job = json.dumps({"path": str(path), "cases": cases})
            words = [BIN / "mpiexec", "-n", str(size), sys.executable, Path(__file__), "--worker", job]
            environment = {**os.environ, "UCX_TLS": "self,sm"}
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
            runs.append(json.loads(done.stdout))
    return found


def work(job: dict[str, Any]) -> None:
    """On each rank: the first case twice, as its kernels are loaded; the first rank prints what each took."""
    from mpi4py import MPI

    first = MPI.COMM_WORLD.rank == 0
    graph = sp.load_npz(job["path"]) if first else None
    cases = [job["cases"][0], *job["cases"]]
    numbers = [numbers_of(graph, tracecut.Ranks(split, exchange)) for split, exchange in cases]
    if first:
        print(json.dumps(numbers[1:]))


def numbers_of(graph: Any, ranks: tracecut.Ranks) -> dict[str, float]:
    from mpi4py import MPI

    spent, own = [0.0], RankProduct._rows

    def timed(*arguments: Any) -> None:
        before = time.thread_time()
        own(*arguments)
        spent[0] += time.thread_time() - before

    RankProduct._rows = timed  # type: ignore[method-assign]
    try:
        tracecut.pagerank(graph, tol=1e-300, max_iter=ITERATIONS, threads=1, device=ranks)
    except tracecut.errors.ConvergenceError as error:
        told: Any = error.last.communication  # type: ignore[attr-defined]
        every = np.empty(MPI.COMM_WORLD.size)
        MPI.COMM_WORLD.Allgather(np.array(spent), every)
        return {
            "cpu_us": every.max() / told.products * 1e6,
            "us": told.iterate_seconds / told.products * 1e6,
            "split_ms": told.split_seconds * 1e3,
            "bytes": sum(told.sent) // told.products,
            "predicted": sum(told.predicted) // told.products,
        }
    finally:
        RankProduct._rows = own  # type: ignore[method-assign]
    raise AssertionError("it converged")


if __name__ == "__main__":
    main()
