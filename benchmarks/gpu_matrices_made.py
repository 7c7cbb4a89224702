"""Matrices by structure, from fixed seeds: meshes, R-MAT, and stand-ins for the eight of SPAC's Table 4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from graphs import DATA
from tracecut.ir.locality_graph import LocalityGraph

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Matrix:
    """The pattern of a square matrix, entries sorted by row and column. `of`: what it is, and what it stands for."""

    name: str
    n: int
    rows: Ids
    columns: Ids
    of: str = ""

    @property
    def starts(self) -> Ids:
        """Where each row begins, int64 (n + 1)."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=self.n))]).astype(np.int64)

    def graph(self) -> LocalityGraph:
        """One job an entry, which adds to y and reads x: SPAC's graph of SPMV."""
        data = np.stack([self.rows, self.n + self.columns], axis=1).astype(np.int32).ravel()
        offsets = 2 * np.arange(self.rows.size + 1, dtype=np.int64)
        spaces = np.array([0, self.n, 2 * self.n], np.int64)
        return LocalityGraph(offsets, data, 2 * self.n, space_offsets=spaces, names=("y", "x"))

    def by_rows(self) -> LocalityGraph:
        """One job a row, which reads x."""
        return LocalityGraph(self.starts, self.columns.astype(np.int32), self.n, names=("x",))


def of_entries(name: str, n: int, rows: Any, columns: Any, of: str = "") -> Matrix:
    """From entries in any order, each taken once."""
    key = np.unique(np.asarray(rows, np.int64) * n + np.asarray(columns, np.int64))
    return Matrix(name, n, key // n, key % n, of)


def renamed(matrix: Matrix, seed: int = 3) -> Matrix:
    """The same with rows and columns numbered at random."""
    names = np.random.default_rng(seed).permutation(matrix.n)
    return of_entries(matrix.name, matrix.n, names[matrix.rows], names[matrix.columns], matrix.of)


def stencil(name: str, shape: tuple[int, ...], near: list[tuple[int, ...]], block: int = 1, of: str = "") -> Matrix:
    """A grid on which each point has the neighbours `near` and itself, with `block` unknowns a point."""
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    rows, columns = [cells.ravel()], [cells.ravel()]
    for step in near:
        mine = tuple(slice(max(0, -s), size - max(0, s)) for s, size in zip(step, shape, strict=True))
        other = tuple(slice(max(0, s), size + min(0, s)) for s, size in zip(step, shape, strict=True))
        rows.append(cells[mine].ravel())
        columns.append(cells[other].ravel())
    row, column = np.concatenate(rows), np.concatenate(columns)
    inside = [(i, j) for i in range(block) for j in range(block)]
    all_rows = np.concatenate([block * row + i for i, _ in inside])
    all_columns = np.concatenate([block * column + j for _, j in inside])
    return of_entries(name, cells.size * block, all_rows, all_columns, of)


SEVEN = [(0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)]
TWENTY_SEVEN = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)]


def mesh(side: int = 48) -> Matrix:
    """A grid in three dimensions with seven points a row, numbered at random."""
    return renamed(stencil("mesh", (side, side, side), SEVEN, of="seven points, numbered at random"))


def rmat(scale: int = 18, each: int = 16) -> Matrix:
    """R-MAT (0.57, 0.19, 0.19), `each` entries a row before doubles go, numbered at random."""
    draw = np.random.default_rng(5)
    n = 1 << scale
    u, v = np.zeros(each * n, np.int64), np.zeros(each * n, np.int64)
    for _ in range(scale):
        x = draw.random(each * n)
        u = 2 * u + (x >= 0.57 + 0.19)
        v = 2 * v + (((x >= 0.57) & (x < 0.57 + 0.19)) | (x >= 0.57 + 0.19 + 0.19))
    names = draw.permutation(n)
    return of_entries(f"rmat{scale}", n, names[u], names[v])


def circuit(name: str, n: int, seed: int, hubs: int, reach: float, of: str) -> Matrix:
    """Rows that meet near rows and a few nets that many rows meet, symmetric with a diagonal."""
    draw = np.random.default_rng(seed)
    near = draw.integers(0, n, 2 * n)
    beside = np.clip(near + np.rint(draw.laplace(0, reach, near.size)).astype(np.int64), 0, n - 1)
    far = draw.integers(0, n, n // 2)
    nets = draw.choice(n, hubs, replace=False)[(hubs * draw.random(far.size) ** 3).astype(np.int64)]
    u, v = np.concatenate([near, far]), np.concatenate([beside, nets])
    return of_entries(name, n, np.concatenate([u, v, np.arange(n)]), np.concatenate([v, u, np.arange(n)]), of)


def web(name: str, n: int, seed: int, of: str) -> Matrix:
    """Pages of hosts in a row, which mostly link within their host, and to popular pages."""
    draw = np.random.default_rng(seed)
    size = np.minimum((20 / draw.random(n // 10) ** 0.7).astype(np.int64), 4000)
    ends = np.cumsum(size)
    host = np.searchsorted(ends, np.arange(n), side="right")
    degree = np.minimum((4 / draw.random(n) ** 0.6).astype(np.int64), 300)
    u = np.repeat(np.arange(n), degree)
    first, length = (ends - size)[host[u]], size[host[u]]
    inside = first + (length * draw.random(u.size) ** 2).astype(np.int64)
    names = draw.permutation(n)
    out = names[(n * draw.random(u.size) ** 3).astype(np.int64)]
    v = np.where(draw.random(u.size) < 0.8, np.minimum(inside, n - 1), out)
    return of_entries(name, n, u, v, of)


def economy(name: str, n: int, seed: int, of: str) -> Matrix:
    """Sectors by regions: each row meets rows of its region and the same sector in others."""
    draw = np.random.default_rng(seed)
    sectors = 500
    u = np.repeat(np.arange(n), 6)
    beside = u // sectors * sectors + draw.integers(0, sectors, u.size)
    same = u % sectors + sectors * draw.integers(0, n // sectors, u.size)
    return of_entries(name, n, u, np.where(draw.random(u.size) < 0.6, np.minimum(beside, n - 1), same), of)


def crystal(name: str, side: int, seed: int, of: str) -> Matrix:
    """A high-order stencil in the order of its planes, and dense blocks of the points around each atom."""
    reach = [
        tuple(d * s if axis == a else 0 for a in range(3)) for axis in range(3) for d in (-1, 1) for s in range(1, 7)
    ]
    base = stencil(name, (side, side, side), reach)  # type: ignore[arg-type]
    draw = np.random.default_rng(seed)
    rows, columns = [base.rows], [base.columns]
    for _ in range(side // 2):
        low = draw.integers(0, side - 6, 3)
        cube = np.stack(np.meshgrid(*[np.arange(c, c + 6) for c in low], indexing="ij"), -1).reshape(-1, 3)
        points = (cube[:, 0] * side + cube[:, 1]) * side + cube[:, 2]
        rows.append(np.repeat(points, points.size))
        columns.append(np.tile(points, points.size))
    return of_entries(name, base.n, np.concatenate(rows), np.concatenate(columns), of)


def triangles(name: str, n: int, of: str) -> Matrix:
    """Points of a solid in a random order, joined to those near them."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(11).random((n, 3))
    near = cKDTree(points).query(points, k=22)[1]
    u, v = np.repeat(np.arange(n), 22), near.ravel()
    return of_entries(name, n, np.concatenate([u, v]), np.concatenate([v, u]), of)


STAND_INS: dict[str, Callable[[], Matrix]] = {
    "cant-like": lambda: stencil(
        "cant-like", (9, 9, 60), TWENTY_SEVEN, 3, "a beam of 27-point elements, 3 unknowns a node, banded (62K rows)"
    ),
    "circuit5M-like": lambda: circuit("circuit5M-like", 250_000, 12, 40, 300.0, "few huge nets (5.6M rows)"),
    "cop20k_A-like": lambda: triangles("cop20k_A-like", 30_000, "a solid's elements, numbered anyhow (121K rows)"),
    "Ga41As41H72-like": lambda: crystal("Ga41As41H72-like", 30, 13, "high-order stencil and dense blocks (268K rows)"),
    "in-2004-like": lambda: web("in-2004-like", 100_000, 14, "pages by host, a crawl's order (1.4M rows)"),
    "mac_econ-like": lambda: economy("mac_econ-like", 100_000, 15, "sectors by regions (207K rows)"),
    "mc2depi-like": lambda: stencil(
        "mc2depi-like", (360, 360), [(0, 1), (1, 0), (-1, 1)], 1, "a grid's transitions, four a row (526K rows)"
    ),
    "scircuit-like": lambda: circuit("scircuit-like", 100_000, 16, 2_000, 40.0, "a circuit (171K rows)"),
}


def real(name: str) -> Matrix | None:
    """A matrix of the data folder, both triangles; None where that is not there."""
    from scipy.io import mmread

    path = DATA / f"{name}.mtx.gz"
    if not path.is_file():
        return None
    found = mmread(path).tocoo()
    return of_entries(name, found.shape[0], found.row, found.col, "a file of the data folder")
