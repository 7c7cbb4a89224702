"""The graphs that the partitioners are measured on: eight generated ones from fixed seeds, and real ones from files.

The generated ones are those on which the figures of the peers in `partitioning.py` were taken, edge by edge: seeds
and the order of random draws must not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir import LocalityGraph

DATA = Path(__file__).parents[2] / "shared" / "data"
Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges u[i] – v[i] among n vertices, in their natural order; perhaps weights of edges and coordinates."""

    name: str
    n: int
    u: Ids
    v: Ids
    weights: npt.NDArray[np.float64] | None = None
    coords: npt.NDArray[np.float64] | None = None

    def locality(self, order: str = "natural") -> LocalityGraph:
        """One job an edge, in natural order or shuffled by a fixed seed."""
        if order == "natural":
            return LocalityGraph.from_edges(self.u, self.v, self.n)
        jobs = np.random.default_rng(0).permutation(self.u.size)
        return LocalityGraph.from_edges(self.u[jobs], self.v[jobs], self.n)


def delaunay(name: str = "delaunay250k", n: int = 250_000) -> Graph:
    """Triangulation of random points, numbered at random."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(1).random((n, 2))
    a, b, c = Delaunay(points).simplices.T
    return Graph(name, n, *_simple(n, [a, b, c], [b, c, a]), coords=points)


def million() -> Graph:
    """The triangulation of a million points; not among those that have figures of peers."""
    return delaunay("delaunay1m", 1_000_000)


def graded(name: str = "graded250k", n: int = 250_000) -> Graph:
    """Triangulation of points that lie denser towards a circle, as around an obstacle; numbered at random."""
    points, mesh = _graded_triangles(n)
    a, b, c = mesh.simplices.T
    return Graph(name, n, *_simple(n, [a, b, c], [b, c, a]), coords=points)


def dual(name: str = "dual250k", n: int = 125_000) -> Graph:
    """The triangles of such a mesh, joined where they share a side: about 2 n vertices, most of degree three."""
    points, mesh = _graded_triangles(n)
    near = mesh.neighbors
    row, side = np.nonzero(near >= 0)
    size = len(near)
    return Graph(name, size, *_simple(size, [row], [near[row, side]]), coords=points[mesh.simplices].mean(axis=1))


def delaunay3d(name: str = "rdg3d100k", n: int = 100_000) -> Graph:
    """Tetrahedra of random points in a cube, numbered at random."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(9).random((n, 3))
    corners = Delaunay(points).simplices.T
    pairs = [(a, b) for a in range(4) for b in range(a)]
    return Graph(name, n, *_simple(n, [corners[a] for a, _ in pairs], [corners[b] for _, b in pairs]), coords=points)


@cache
def _graded_triangles(n: int) -> tuple[npt.NDArray[np.float64], Any]:
    from scipy.spatial import Delaunay

    draw = np.random.default_rng(8)
    radius, angle = 1.0 + 4.0 * draw.random(n) ** 2, 2 * np.pi * draw.random(n)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points, Delaunay(points)


def grid(name: str = "grid3d63", side: int = 63) -> Graph:
    """Grid in three dimensions, numbered line by line."""
    cells = np.arange(side**3).reshape(side, side, side)
    ends = [(cells[1:], cells[:-1]), (cells[:, 1:], cells[:, :-1]), (cells[:, :, 1:], cells[:, :, :-1])]
    u, v = _simple(cells.size, [end[0].ravel() for end in ends], [end[1].ravel() for end in ends])
    points = np.stack(np.unravel_index(np.arange(cells.size), cells.shape), 1).astype(float)
    return Graph(name, cells.size, u, v, coords=points)


def geometric() -> Graph:
    """Random points in a cube, joined within the radius that gives a mean degree of 14."""
    from scipy.spatial import cKDTree

    n = 250_000
    points = np.random.default_rng(2).random((n, 3))
    pairs = cKDTree(points).query_pairs((14 / (n * 4 / 3 * np.pi)) ** (1 / 3), output_type="ndarray")
    return Graph("rgg3d250k", n, *_simple(n, [pairs[:, 0]], [pairs[:, 1]]), coords=points)


def attachment(name: str, n: int, each: int, seed: int) -> Graph:
    """Barabási and Albert's preferential attachment, `each` edges a new vertex."""
    u, v = _attach(n, each, np.random.default_rng(seed).random(int(2.5 * n * each)))
    return Graph(name, n, *_simple(n, [u], [v]))


def rmat() -> Graph:
    """R-MAT of scale 18 with 16 edges a vertex (0.57, 0.19, 0.19), made simple, ids permuted."""
    draw = np.random.default_rng(5)
    n, edges = 1 << 18, 16 << 18
    u, v = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(18):
        x = draw.random(edges)
        u = 2 * u + (x >= 0.57 + 0.19)
        v = 2 * v + (((x >= 0.57) & (x < 0.57 + 0.19)) | (x >= 0.57 + 0.19 + 0.19))
    names = draw.permutation(n)
    return Graph("rmat18", n, *_simple(n, [names[u]], [names[v]]))


def spmv() -> Graph:
    """Rows and columns of a matrix: half of its entries near the diagonal, half in columns of power-law popularity."""
    draw = np.random.default_rng(6)
    n, half = 150_000, 750_000
    names = draw.permutation(n)
    near = draw.integers(0, n, half)
    beside = np.clip(near + np.rint(draw.laplace(0, 12, half)).astype(np.int64), 0, n - 1)
    far = draw.integers(0, n, half)
    popular = names[np.minimum((n * draw.random(half) ** 2.6).astype(np.int64), n - 1)]
    return Graph("spmv150k", 2 * n, *_simple(2 * n, [near, far], [beside + n, popular + n]))


def dag() -> Graph:
    """Like the trace of a program: edges in execution order, recent and hot definitions, log-normal whole weights."""
    n, edges = 250_000, 291_000
    draw = np.random.default_rng(7)
    u, v = _trace(n, int(edges * 1.03), draw.random(4 * edges))
    key = np.unique(v.astype(np.int64) * n + u)
    weights = np.maximum(1, np.rint(draw.lognormal(3.0, 0.8, key.size)))
    return Graph("dag250k", n, (key % n).astype(np.int32), (key // n).astype(np.int32), weights)


GENERATED: dict[str, Callable[[], Graph]] = {
    "delaunay250k": delaunay,
    "grid3d63": grid,
    "rgg3d250k": geometric,
    "ba50k_d8": lambda: attachment("ba50k_d8", 50_000, 4, 3),
    "ba200k_d16": lambda: attachment("ba200k_d16", 200_000, 8, 4),
    "rmat18": rmat,
    "spmv150k": spmv,
    "dag250k": dag,
}


# Larger ones, asked for by name.
LARGE: dict[str, Callable[[], Graph]] = {"grid3d160": lambda: grid("grid3d160", 160)}


@cache
def generated(name: str) -> Graph:
    """One of the generated graphs, made once a process."""
    return (GENERATED | LARGE)[name]()


def real(name: str) -> LocalityGraph | None:
    """A real graph of the data folder, None where that is not there."""
    from tracecut.partition.inputs.graph_files import read_graph

    path = DATA / f"{name}.mtx.gz"
    return read_graph(path, unweighted=True) if path.is_file() else None


def near_pairs(name: str, cutoff: float = 5.0) -> Graph | None:
    """Pairs of particles of a periodic box within `cutoff` Angstrom of each other; None where the file is not there."""
    from scipy.spatial import cKDTree

    path = DATA / f"{name}.npz"
    if not path.is_file():
        return None
    found = np.load(path)
    box = found["box"].astype(float)
    points = np.mod(found["xyz"].astype(float), box)
    points[points >= box] = 0.0  # rounded up to the border
    pairs = cKDTree(points, boxsize=box).query_pairs(cutoff, output_type="ndarray")
    return Graph(name, len(points), *_simple(len(points), [pairs[:, 0]], [pairs[:, 1]]), coords=points)


def shuffled(graph: LocalityGraph) -> LocalityGraph:
    """The same jobs in an order drawn by a fixed seed."""
    jobs = np.random.default_rng(0).permutation(graph.n_jobs)
    counts = np.diff(graph.offsets)[jobs]
    offsets = np.concatenate(([0], np.cumsum(counts)))
    pins = np.repeat(graph.offsets[jobs] - offsets[:-1], counts) + np.arange(offsets[-1])
    return LocalityGraph(offsets, graph.data[pins], graph.n_data)


def _simple(n: int, u: list[npt.NDArray[Any]], v: list[npt.NDArray[Any]]) -> tuple[Ids, Ids]:
    """Each undirected edge once, without loops, sorted by (lower, higher) end."""
    a, b = np.concatenate(u), np.concatenate(v)
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    key = np.unique((low * n + high)[low != high])
    return (key // n).astype(np.int32), (key % n).astype(np.int32)


@njit(cache=True)
def _attach(n: int, each: int, draws: npt.NDArray[np.float64]) -> tuple[Ids, Ids]:
    ends, filled = np.empty(2 * each * n, np.int32), 0
    u, v, count = np.empty(each * n, np.int32), np.empty(each * n, np.int32), 0
    targets, at = np.arange(each).astype(np.int32), 0
    for new in range(each, n):
        for target in targets:
            u[count], v[count] = target, new
            count += 1
        ends[filled : filled + each] = targets
        ends[filled + each : filled + 2 * each] = new
        filled += 2 * each
        found = 0
        while found < each:
            at = (at + 1) % draws.size
            target = ends[int(draws[at] * filled)]
            if target not in targets[:found]:
                targets[found] = target
                found += 1
    return u[:count], v[:count]


@njit(cache=True)
def _trace(n: int, edges: int, draws: npt.NDArray[np.float64]) -> tuple[Ids, Ids]:
    """Uses of recent values, of values used before (copied from an earlier use), and of any."""
    u, v = np.empty(edges + n, np.int32), np.empty(edges + n, np.int32)
    count, at, owed, rate = 0, 0, 0.0, edges / n
    for new in range(1, n):
        owed += rate
        uses = int(owed)
        owed -= uses
        if new % 4000 == 0:
            continue
        for _ in range(uses):
            at = (at + 3) % (draws.size - 3)
            kind, x, y = draws[at], draws[at + 1], draws[at + 2]
            if kind < 0.25 or count < 16:
                old = new - 1 - int(8 * x * x)
            elif kind < 0.95:
                old = u[count - 1 - int(np.exp(x * np.log(count - 1.0)))]
            else:
                old = int(new * y)
            u[count], v[count] = max(0, old), new
            count += 1
    return u[:count], v[:count]
