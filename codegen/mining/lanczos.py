"""The eigenvector of the largest eigenvalue, by Lanczos steps with thick restarts (Wu and Simon 2000)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tracecut.support.arrays import Floats

STEPS, KEPT = 20, 6  # vectors between two restarts, and those that go on
SAME = 1e-13  # relative difference of eigenvalues that are one but for rounding
LEAST = 1e-14  # of a vector's length: what is left of it by rounding alone


def top_vector(product: Callable[[Floats], Floats], start: Floats, tol: float, most: int) -> tuple[Floats, float, int]:
    """The vector, its residual ‖S v − θ v‖ / θ, and how many products were made.

    Where the largest eigenvalue has several vectors, that is the one into which a power method from `start` runs.

    Args:
        product: v → S v for a symmetric S whose largest eigenvalue is above 0.
        start: float64 (n), not orthogonal to the vector.
        tol: it ends when the residual is at most this.
        most: restarts, after which it ends as well.

    O(20 n) memory. All sums are taken in one order, so that bits do not depend on the number of threads.
    """
    basis, small = np.zeros((STEPS + 1, start.size)), np.zeros((STEPS + 1, STEPS + 1))
    basis[0] = first = start / _length(start)
    kept, products = 0, 0
    for restart in range(most):
        j, rest = kept, 0.0
        while j < STEPS:
            image = product(basis[j])
            products += 1
            shares, rest = _orthogonal(image, basis[: j + 1])
            small[: j + 1, j] = small[j, : j + 1] = shares
            j += 1
            if not rest:
                break
            basis[j] = image / rest
        values, vectors = np.linalg.eigh(small[:j, :j])
        equal = vectors[:, values >= values[-1] * (1.0 - SAME)]  # rounding brings in more than one, perhaps
        found = equal @ (equal.T @ np.array([(vector * first).sum() for vector in basis[:j]]))
        found /= np.linalg.norm(found)
        residual = abs(rest * found[-1]) / values[-1]
        if residual <= tol or restart == most - 1:
            break
        kept = min(KEPT, j)
        borders = rest * vectors[-1, -kept:]
        basis[kept], basis[:kept] = basis[j].copy(), _combined(basis[:j], vectors[:, -kept:])
        small[:] = 0.0
        small[range(kept), range(kept)] = values[-kept:]
        small[kept, :kept] = small[:kept, kept] = borders
    return _combined(basis[:j], found[:, None])[0], float(residual), products


def _length(vector: Floats) -> float:
    return float(np.sqrt((vector * vector).sum()))


def _orthogonal(image: Floats, basis: Floats) -> tuple[Floats, float]:
    """Takes what lies along the vectors of `basis` out of `image`, in place: shares of each, and the length left."""
    shares, whole = np.zeros(len(basis)), _length(image)
    for _ in range(2):  # the second time what rounding left
        for i, vector in enumerate(basis):
            share = float((vector * image).sum())
            image -= share * vector
            shares[i] += share
    rest = _length(image)
    return shares, rest if rest > LEAST * whole else 0.0


def _combined(basis: Floats, shares: Floats) -> Floats:
    """sharesᵀ · basis, (columns of shares, n)."""
    sums = np.zeros((shares.shape[1], basis.shape[1]))
    for own, column in zip(sums, shares.T, strict=True):
        for vector, share in zip(basis, column, strict=True):
            own += share * vector
    return sums
