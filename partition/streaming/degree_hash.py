"""Degree-based hashing, and the expected cost of random placement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.partition.inputs.arguments import check_number, check_whole
from tracecut.support.arrays import Ints, Longs, check_range, frozen

from .stream_pins import count_pins


def dbh(graph: LocalityGraph, k: int, *, seed: int = 0) -> Ints:
    """Degree-based hashing: each job goes to the cluster given by the hash of its datum of lowest degree. Labels, int32
    (jobs).

    Jobs of one low-degree datum stay together, hubs are cut. Ties take the first datum of the job; a job without data
    is hashed by its own number. Loads are balanced only in expectation. O(pins).

    Source: Xie et al. 2014, the paper that VertexCut cites for Libra.
    """
    degree = count_pins(words(graph.data), graph.n_data)
    labels = _hash_jobs(longs(graph.offsets), words(graph.data), words(degree), np.uint64(k), np.uint64(seed))
    return labels.view(np.int32)


def expected_replication(degrees: npt.ArrayLike, k: int) -> float:
    """Expected replication factor of a random placement: the mean of k · (1 − (1 − 1/k)^d) over data of degree d > 0.

    Args:
        degrees: number of jobs of each datum, non-negative integers; isolated data (0) do not count.
        k: number of clusters.

    Returns 1 where every datum is isolated. O(data). Source: VertexCut §4.2.1, equation 6.
    """
    check_whole("k", k, 1, 2**31 - 1)
    counts = frozen("degrees", degrees, np.int64)
    check_range("degrees", counts, 0, 2**62)
    used = counts[counts > 0].astype(np.float64)
    return float(_copies(used, k).mean()) if used.size else 1.0


def expected_replication_power_law(n: int, alpha: float, k: int) -> float:
    """The same for n data whose degrees follow a power law: P(d) ∝ d^−alpha for d = 1 … n − 1.

    k − k / h · Σ (1 − 1/k)^d · d^−alpha, h = Σ d^−alpha. O(n) time and memory. Source: VertexCut §4.2.1, equation 10.
    """
    check_whole("n", n, 2, 2**31 - 1)
    check_whole("k", k, 1, 2**31 - 1)
    check_number("alpha", alpha, 0.0)
    degrees = np.arange(1, n, dtype=np.float64)
    share = degrees**-alpha
    return float((_copies(degrees, k) * share).sum() / share.sum())


def _copies(degrees: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.float64]:
    """Expected copies; written with expm1 and log1p because 1 − 1/k cancels for large k."""
    if k == 1:
        return np.ones(degrees.size)
    copies: npt.NDArray[np.float64] = -k * np.expm1(degrees * np.log1p(-1.0 / k))
    return copies


@njit(cache=True, nogil=True)
def _hash_jobs(offsets: Longs, data: Words, degree: Words, k: np.uint64, seed: np.uint64) -> Words:
    labels = np.empty(offsets.size - 1, np.uint32)
    for job in range(labels.size):
        item, low = np.uint64(job), np.uint32(0xFFFFFFFF)
        for pin in range(offsets[job], offsets[job + 1]):
            if degree[data[pin]] < low:
                low = degree[data[pin]]
                item = np.uint64(data[pin])
        labels[job] = _mixed(item + (seed << np.uint64(32))) % k
    return labels


@njit(cache=True, nogil=True)
def _mixed(value: np.uint64) -> np.uint64:
    """The finaliser of splitmix64."""
    x = value + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
