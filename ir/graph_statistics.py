"""Statistics of large sparse graphs: the exponent of the degree distribution, and the average path length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept
from tracecut.support.plain_kernels import fitting

STARTS = 50  # smallest degrees tried for the tail
EXPONENTS = np.arange(1.01, 8.0, 0.01)


@dataclass(frozen=True)
class PowerLaw:
    """Discrete power law p(x) ~ x**-exponent for x ≥ `start` (Clauset et al. 2009).

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

    Exact when `sources` is at least the number of vertices. NaN when nothing is reached. O(sources · (n + m)), less
    where the waves of several sources pass a vertex at the same distance.
    """
    n = offsets.size - 1
    if n == 0:
        return float("nan")
    chosen = np.random.default_rng(seed).choice(n, min(sources, n), replace=False).astype(np.int64)
    sets = np.zeros((3, n), np.uint8 if sources <= 8 else np.uint64)
    total, pairs = fitting(_distances, n + neighbours.size // 2)(offsets, neighbours, np.sort(chosen), sets)
    return total / pairs if pairs else float("nan")


@kept
def _distances(offsets: Longs, neighbours: npt.NDArray[Any], sources: Longs, sets: npt.NDArray[Any]) -> tuple[int, int]:
    """Sum and number of the distances. Waves start from as many sources at once as a set, an integer, has bits.

    `sets`: (3, n) zeros: of each vertex the sources that have reached it, of those on the next front those that do so
    now, and by place on the front those that are there.
    """
    seen, fresh, here = sets[0], sets[1], sets[2]
    width = 8 * sets.itemsize
    front, ahead = np.empty(seen.size, neighbours.dtype), np.empty(seen.size, neighbours.dtype)
    total = pairs = 0
    for first in range(0, sources.size, width):
        seen[:] = 0
        count = min(width, sources.size - first)
        for turn in range(count):
            front[turn] = sources[first + turn]
            here[turn] = np.uint64(1) << np.uint64(turn)
            seen[front[turn]] = here[turn]
        distance = 0
        while count:
            distance += 1
            reached = 0
            for turn in range(count):
                vertex = front[turn]
                for place in range(offsets[vertex], offsets[vertex + 1]):
                    other = neighbours[place]
                    new = here[turn] & ~seen[other]
                    if new:
                        if fresh[other] == 0:
                            ahead[reached] = other
                            reached += 1
                        fresh[other] |= new
            found = 0
            for turn in range(reached):
                vertex = ahead[turn]
                here[turn] = fresh[vertex]
                seen[vertex] |= fresh[vertex]
                found += int(_ones(np.uint64(fresh[vertex])))
                fresh[vertex] = 0
            total += distance * found
            pairs += found
            front, ahead, count = ahead, front, reached
    return total, pairs


@kept
def _ones(bits: np.uint64) -> np.int64:
    """How many bits are set: sums of two, four, eight neighbours side by side, then all bytes in the top one."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))
