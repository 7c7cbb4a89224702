"""Expected cost of a random vertex cut: VertexCut §4.2.1, exact and for power-law degrees.

Edges go to k clusters at random, each with the same probability. A vertex of degree d then has a replica in
k · (1 − (1 − 1/k)^d) of them (Eq. 6). Vertices without edges have none and count nowhere, as in
`metrics.replication_factor`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import frozen
from tracecut.support.errors import ArgumentError


def exact_expectation(degrees: npt.ArrayLike, k: int) -> float:
    """Mean replication factor of a random vertex cut into k clusters, of given degrees (Eqs. 4 to 6); 1 without edges.

    Args:
        degrees: int64 (n), edges at each vertex.
        k: clusters.

    O(n). Raises ArgumentError for a negative degree or k below 1.
    """
    clusters = whole_number("k", k, 1)
    degree = frozen("degrees", degrees, np.int64)
    if degree.min(initial=0) < 0:
        raise ArgumentError(f"degrees[{int(degree.argmin())}] = {degree.min()} is negative")
    touched = degree[degree > 0]
    return float(_replicas(touched, clusters).mean()) if touched.size else 1.0


def power_law_expectation(n: int, exponent: float, k: int) -> float:
    """The same for degrees of a power law: P(d) ∝ d^−exponent, d from 1 to n − 1 (Eq. 10).

    The equation is lost in the text at hand; this is Eqs. 6 and 9 put together. O(n).
    Raises ArgumentError for n below 2, k below 1, or an exponent that is not finite.
    """
    vertices, clusters = whole_number("n", n, 2), whole_number("k", k, 1)
    if not np.isfinite(exponent):
        raise ArgumentError(f"exponent = {exponent}, a finite number was expected")
    degree = np.arange(1, vertices, dtype=np.float64)
    log = -exponent * np.log(degree)
    share = np.exp(log - log.max())
    return float((share * _replicas(degree, clusters)).sum() / share.sum())


def _replicas(degree: npt.NDArray[np.float64] | npt.NDArray[np.int64], k: int) -> npt.NDArray[np.float64]:
    if k == 1:
        return np.ones(degree.size)
    return -k * np.expm1(degree * np.log1p(-1.0 / k))
