"""Graph mining beside its peers: PageRank, HITS, random walks with restart, CG, and reading matrix files.

Peers get their own form of the graph beforehand, tracecut the matrix, the networkx graph or the file.
PageRank ends at the same residual (L1 norm of the change that one more step makes) for each tool: the rows state it.
networkit and igraph take part where they are installed. One thread: CPU time; more: wall-clock time.

    python benchmarks/mining.py --json results/mining.json [--scale 20] [--threads 1,2] [--only pagerank,cg]
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from measuring import cpu_seconds, interleaved, wall
from rows import Row, kept_rows, print_rows, write_rows

import tracecut

ALPHA, TOL = 0.85, 1e-6
QUERIES = 25


def rmat(scale: int, degree: int = 16, seed: int = 5) -> sp.csr_array[Any]:
    """R-MAT (0.57, 0.19, 0.19), ids permuted, one entry of 1 for all parallel links."""
    draw = np.random.default_rng(seed)
    edges = degree << scale
    u, v = np.zeros(edges, np.int32), np.zeros(edges, np.int32)
    for _ in range(scale):
        x = draw.random(edges, dtype=np.float32)
        u = 2 * u + (x >= 0.57 + 0.19)
        v = 2 * v + (((x >= 0.57) & (x < 0.57 + 0.19)) | (x >= 0.57 + 0.19 + 0.19))
    names = draw.permutation(1 << scale).astype(np.int32)
    matrix: Any = sp.csr_array((np.ones(edges), (names[u], names[v])), shape=(1 << scale,) * 2)
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def mesh(side: int, *, scattered: bool) -> sp.csr_array[Any]:
    """One step of implicit diffusion on a triangulated square, as in samples/spmv_cg.c; perhaps numbered at random."""
    n = side * side
    at = np.arange(n).reshape(side, side)
    pairs = [(at[:, 1:], at[:, :-1]), (at[1:], at[:-1]), (at[1:, 1:], at[:-1, :-1])]
    u, v = (np.concatenate([pair[i].ravel() for pair in pairs]) for i in (0, 1))
    weights = np.random.default_rng(3).random(u.size) + 0.5
    whole: Any = sp.coo_array((-np.tile(weights, 2), (np.append(u, v), np.append(v, u))), shape=(n, n)).tocsr()
    matrix: Any = sp.csr_array(whole + sp.diags_array(0.04 - whole.sum(axis=1)))
    if scattered:
        order = np.random.default_rng(4).permutation(n)
        matrix = matrix[order][:, order].tocsr()
    matrix.sort_indices()
    return matrix


def pagerank_loop(matrix: Any, tol: float) -> Any:
    """The loop that networkx runs, on a matrix; dangling nodes summed by NumPy."""
    n = matrix.shape[0]
    sums = matrix.sum(axis=1)
    sums[sums != 0] = 1.0 / sums[sums != 0]
    walk = sp.dia_array((sums[None, :], [0]), shape=matrix.shape).tocsr() @ matrix
    p = np.full(n, 1.0 / n)
    x, lost = p, np.flatnonzero(sums == 0)
    while True:
        before = x
        x = ALPHA * (x @ walk + x[lost].sum() * p) + (1 - ALPHA) * p
        if np.abs(x - before).sum() < tol:
            return x


def residual(matrix: Any, x: Any) -> float:
    """The L1 norm of the change that a step makes."""
    sums = matrix.sum(axis=1)
    shares = np.divide(x, sums, out=np.zeros_like(x), where=sums > 0)
    step = ALPHA * (matrix.T @ shares + x[sums == 0].sum() / x.size) + (1 - ALPHA) / x.size
    return float(np.abs(step - x).sum())


def optional(name: str) -> Any:
    """A peer, None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"# {name} is not installed")
        return None


def compared(
    name: str, metric: str, threads: int, calls: dict[str, Callable[[], Any]], repeat: int, note: Any = None
) -> Iterator[Row]:
    """Times of "tracecut" beside each peer, and what `note` says of a peer's result."""
    done = interleaved(calls, repeat, cpu_seconds if threads == 1 else wall)
    own = done["tracecut"]
    for peer, (result, seconds) in done.items():
        told = "" if note is None else f"{note(own[0])}, {peer} {note(result)}"
        if peer != "tracecut":
            yield Row(name, "natural", f"{metric} {threads}t: ms", own[1] * 1e3, peer, seconds * 1e3, told)


def pagerank_rows(name: str, matrix: Any, threads: int, repeat: int) -> Iterator[Row]:
    calls: dict[str, Callable[[], Any]] = {
        "tracecut": lambda: tracecut.pagerank(matrix, tol=TOL, threads=threads).values,
        "scipy loop": lambda: pagerank_loop(matrix, TOL),
    }
    networkit, igraph = optional("networkit"), optional("igraph")
    if networkit is not None:
        networkit.setNumberOfThreads(threads)
        ends = matrix.tocoo()
        graph = networkit.GraphFromCoo((ends.data, (ends.row, ends.col)), n=matrix.shape[0], directed=True)
        sinks = networkit.centrality.SinkHandling.DistributeSinks

        def by_networkit() -> Any:
            found = networkit.centrality.PageRank(graph, ALPHA, TOL, distributeSinks=sinks)
            found.norm = networkit.centrality.Norm.L1_NORM
            return np.array(found.run().scores())

        calls["networkit"] = by_networkit
    if igraph is not None and threads == 1:
        whole = igraph.Graph(n=matrix.shape[0], edges=np.stack(matrix.nonzero(), axis=1), directed=True)
        calls["igraph"] = lambda: np.array(whole.pagerank(damping=ALPHA))
    yield from compared(name, "pagerank", threads, calls, repeat, lambda x: f"residual {residual(matrix, x):.1e}")


def networkx_rows(name: str, matrix: Any, threads: int, repeat: int) -> Iterator[Row]:
    import networkx

    graph = networkx.from_scipy_sparse_array(matrix, create_using=networkx.DiGraph)
    n = matrix.shape[0]
    calls = {
        "tracecut": lambda: tracecut.pagerank(graph, tol=TOL, threads=threads).values,
        "networkx": lambda: np.array(list(networkx.pagerank(graph, tol=TOL / n).values())),
    }
    yield from compared(name, "pagerank of a networkx graph", threads, calls, repeat)


def hits_rows(name: str, matrix: Any, threads: int, repeat: int) -> Iterator[Row]:
    def loop() -> Any:
        hubs = np.full(matrix.shape[0], 1.0 / matrix.shape[0])
        while True:
            before = hubs
            hubs = matrix @ (before @ matrix)
            hubs = hubs / hubs.sum()
            if np.abs(hubs - before).sum() < 1e-8:
                return hubs

    calls = {"tracecut": lambda: tracecut.hits(matrix, threads=threads)[0].values, "scipy loop": loop}
    yield from compared(name, "hits", threads, calls, repeat)


def rwr_rows(name: str, matrix: Any, threads: int, repeat: int) -> Iterator[Row]:
    queries = np.random.default_rng(0).choice(np.flatnonzero(np.diff(matrix.indptr)), QUERIES, replace=False).tolist()
    calls = {
        "tracecut": lambda: tracecut.rwr(matrix, queries, threads=threads),
        f"{QUERIES} single ones": lambda: [tracecut.rwr(matrix, query, threads=threads) for query in queries],
    }
    yield from compared(name, f"rwr of {QUERIES}", threads, calls, repeat)


def cg_rows(side: int, threads: int, repeat: int) -> Iterator[Row]:
    """The iteration counts are those of both."""
    if threads != 1:
        return  # tracecut.cg takes what the process may use, and SciPy's one thread
    for scattered in (False, True):
        matrix = mesh(side, scattered=scattered)
        b = np.random.default_rng(0).random(matrix.shape[0])
        steps: list[int] = []

        def by_scipy(matrix: Any = matrix, b: Any = b, steps: list[int] = steps) -> Any:
            steps.clear()
            return sl.cg(matrix, b, rtol=1e-8, callback=lambda _: steps.append(1))[0]

        calls = {"tracecut": lambda matrix=matrix, b=b: tracecut.cg(matrix, b, rtol=1e-8), "scipy": by_scipy}
        done = interleaved(calls, repeat)
        own, peer = done["tracecut"], done["scipy"]
        note = f"{own[0].iterations} iterations, scipy {len(steps)}"
        order = "random" if scattered else "natural"
        yield Row(f"mesh{side}", order, "cg 1t: ms", own[1] * 1e3, "scipy", peer[1] * 1e3, note)


def read_rows(name: str, matrix: Any, threads: int, repeat: int) -> Iterator[Row]:
    if threads != 1:
        return  # both readers take what the process may use
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mtx"
        values = np.random.default_rng(0).random(matrix.nnz)
        for field, own in (("pattern", None), ("real", sp.csr_array((values, matrix.indices, matrix.indptr)))):
            scipy.io.mmwrite(path, matrix if own is None else own, field=field)
            calls: dict[str, Callable[[], Any]] = {
                "tracecut": lambda: tracecut.read_matrix(path),
                "mmread": lambda: scipy.io.mmread(path, spmatrix=False),
                "mmread().tocsr()": lambda: scipy.io.mmread(path, spmatrix=False).tocsr(),
            }
            yield from compared(name, f"read {field}, CPU time", 1, calls, repeat)


# Of a process between, which is small: a child counts as its own what its parent had when it began.
PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def memory_rows(name: str, matrix: Any, threads: int, repeat: int) -> Iterator[Row]:
    """Processes that read a file and rank its nodes, with their links on disk and in memory: wall-clock time, peaks."""
    if threads != 1:
        return  # both take what the process may use
    bound = 512  # MiB; the libraries of Python come to it
    calls = {f"--memory {bound}M": ["--memory", f"{bound}M"], "in memory": list[str]()}
    seconds: dict[str, list[float]] = {call: [] for call in calls}
    peaks: dict[str, list[float]] = {call: [] for call in calls}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mtx"
        scipy.io.mmwrite(path, matrix, field="pattern")
        for turn in range(repeat + 1):  # the first one may compile kernels
            for call, words in calls.items():
                command = [sys.executable, "-m", "tracecut", "pagerank", str(path), "-o", f"{folder}/a.npy", *words]
                start = wall()
                said = subprocess.run(
                    [sys.executable, "-c", PEAK, *command], check=True, capture_output=True, text=True
                )
                if turn:
                    seconds[call].append(wall() - start)
                    peaks[call].append(int(said.stdout) / 1024)
    (own, other), note = calls, f"{matrix.nnz} links, file of Matrix Market"
    for what, found in (("s", seconds), ("MiB at most", peaks)):
        values = [statistics.median(found[call]) for call in (own, other)]
        yield Row(name, "natural", f"pagerank of a file, {own}: {what}", values[0], other, values[1], note)


FAMILIES: dict[str, Callable[[str, Any, int, int], Iterator[Row]]] = {
    "pagerank": pagerank_rows,
    "networkx": networkx_rows,
    "hits": hits_rows,
    "rwr": rwr_rows,
    "read": read_rows,
    "memory": memory_rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file for the rows; what it has of other families stays")
    parser.add_argument("--scale", type=int, default=16, help="of the R-MAT graph: 16 << SCALE links (default: 16)")
    parser.add_argument("--side", type=int, default=400, help="of the mesh for cg (default: 400)")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers (default: 1,2)")
    parser.add_argument("--only", default=",".join([*FAMILIES, "cg"]), help="comma-separated families")
    parser.add_argument("--repeat", type=int, default=5, help="timed rounds (default: 5)")
    options = parser.parse_args()
    names = options.only.split(",")
    peers = {name: getattr(optional(name), "__version__", None) for name in ("networkx", "networkit", "igraph")}
    matrix = rmat(options.scale) if set(names) & set(FAMILIES) else None
    for threads in map(int, options.threads.split(",")):
        for name in names:
            if name == "cg":
                found = list(cg_rows(options.side, threads, options.repeat))
            else:
                found = list(FAMILIES[name](f"rmat{options.scale}", matrix, threads, options.repeat))
            print_rows(found)
            if options.json is not None:
                write_rows(options.json, "mining", kept_rows(options.json, found), peers=peers)


if __name__ == "__main__":
    main()
