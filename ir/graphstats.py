"""Numbers of large sparse graphs: the exponent of the degree distribution, and the average path length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from .arrays import Floats, Longs

STARTS = 50  # smallest degrees tried for the tail
EXPONENTS = np.arange(1.01, 8.0, 0.01)


@dataclass(frozen=True)
class PowerLaw:
    """Discrete power law p(x) ~ x**-exponent for x ≥ `start` (Clauset, Shalizi, Newman 2009).

    `distance` is the largest difference of the two distribution functions (Kolmogorov and Smirnov); `p` the share of
    synthetic samples of the fitted model whose own fit is further off. All NaN when there are fewer than two degrees.
    """

    exponent: float
    start: int
    distance: float
    p: float


def power_law(values: npt.ArrayLike, *, replicates: int = 100, seed: int = 0) -> PowerLaw:
    """Fit by maximum likelihood; the start of the tail is where the distance is smallest.

    Args:
        values: positive integers, degrees; zeros are left out.
        replicates: synthetic samples for `p`.
        seed: of the synthetic samples.

    Returns:
        A PowerLaw. O(values + replicates · starts · (distinct values + exponents)).
    """
    sizes, counts = np.unique(np.asarray(values), return_counts=True)
    sizes, counts = sizes[sizes > 0], counts[sizes > 0]
    if sizes.size < 2:
        return PowerLaw(float("nan"), int(sizes[0]) if sizes.size else 0, float("nan"), float("nan"))
    table = _Table(sizes)
    exponent, start, distance = table.fit(counts)
    exact = _refined(sizes[start:], counts[start:], exponent)
    random = np.random.default_rng(seed)
    body, tail = counts[:start].sum(), counts[start:].sum()
    shares = np.concatenate([counts[:start] / max(1, body), table.model(start, exponent)])
    shares[:start] *= body / (body + tail)
    shares[start:] *= tail / (body + tail)
    worse = 0
    for _ in range(replicates):
        sample = random.multinomial(int(body + tail), shares / shares.sum())
        worse += table.fit(sample)[2] > distance
    return PowerLaw(exact, int(sizes[start]), float(distance), worse / replicates)


def continuous_exponent(values: npt.ArrayLike) -> float:
    """Likeliest exponent of a continuous power law from 1 on, over all positive values; NaN when none is above 1.

    O(values).
    """
    found = np.asarray(values, np.float64)
    found = found[found > 0]
    total = float(np.log(found).sum())
    return 1.0 + found.size / total if total > 0 else float("nan")


class _Table:
    """What every fit over the same degrees shares: the logarithms of the normalisations, by start and exponent."""

    def __init__(self, sizes: npt.NDArray[Any]) -> None:
        from scipy.special import zeta

        self.sizes = sizes.astype(np.float64)
        last = max(1, sizes.size - 1)
        self.starts = (
            np.unique(np.linspace(0, min(last, sizes.size) - 1, STARTS).astype(int))
            if last > STARTS
            else (np.arange(last))
        )
        self.norm = np.array([zeta(EXPONENTS, float(sizes[start])) for start in self.starts])
        self.zeta = zeta

    def fit(self, counts: npt.NDArray[Any]) -> tuple[float, int, float]:
        """Exponent to two digits, index of the first size of the tail, distance."""
        logs = np.log(self.sizes)
        best = (float("nan"), 0, float("inf"))
        for row, start in enumerate(self.starts):
            tail = counts[start:]
            total = tail.sum()
            if total == 0 or np.count_nonzero(tail) < 2:
                continue
            likelihood = -total * np.log(self.norm[row]) - EXPONENTS * (logs[start:] @ tail)
            exponent = float(EXPONENTS[likelihood.argmax()])
            found = np.cumsum(tail) / total
            model = 1.0 - self.zeta(exponent, self.sizes[start:] + 1) / self.zeta(exponent, self.sizes[start])
            distance = float(np.abs(found - model).max())
            if distance < best[2]:
                best = (exponent, int(start), distance)
        return best

    def model(self, start: int, exponent: float) -> Floats:
        """Probability of each observed size from `start` on; what lies between two of them goes to the lower one."""
        above = self.zeta(exponent, np.append(self.sizes[start + 1 :], np.inf))
        above[-1] = 0.0
        whole = self.zeta(exponent, self.sizes[start])
        return -np.diff(np.concatenate([[whole], above])) / whole


def _refined(sizes: npt.NDArray[Any], counts: npt.NDArray[Any], about: float) -> float:
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    logs = float(np.log(sizes) @ counts)
    total = int(counts.sum())
    first = float(sizes[0])
    bounds = (max(1.0005, about - 0.02), about + 0.02)
    found = minimize_scalar(
        lambda exponent: total * np.log(zeta(exponent, first)) + exponent * logs, bounds=bounds, method="bounded"
    )
    return float(found.x)


def average_path_length(offsets: Longs, neighbours: npt.NDArray[Any], *, sources: int = 64, seed: int = 0) -> float:
    """Mean distance in edges from `sources` random vertices to all that they reach, themselves not counted.

    Exact when `sources` is at least the number of vertices. NaN when nothing is reached. O(sources · (n + m)).
    """
    n = offsets.size - 1
    if n == 0:
        return float("nan")
    chosen = np.random.default_rng(seed).choice(n, min(sources, n), replace=False).astype(np.int64)
    total, pairs = _distances(offsets, neighbours, np.sort(chosen))
    return total / pairs if pairs else float("nan")


@njit(cache=True, nogil=True)
def _distances(offsets: Longs, neighbours: npt.NDArray[Any], sources: Longs) -> tuple[int, int]:
    n = offsets.size - 1
    seen = np.full(n, -1, np.int32)
    queue = np.empty(n, neighbours.dtype)
    total = pairs = 0
    for turn in range(sources.size):
        seen[sources[turn]] = turn
        queue[0] = sources[turn]
        begin, end, distance = 0, 1, 0
        while begin < end:
            distance += 1
            level = end
            while begin < level:
                vertex = queue[begin]
                begin += 1
                for place in range(offsets[vertex], offsets[vertex + 1]):
                    other = neighbours[place]
                    if seen[other] != turn:
                        seen[other] = turn
                        queue[end] = other
                        end += 1
            total += distance * (end - level)
            pairs += end - level
    return total, pairs
