"""What the iterations return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError, ConvergenceError


@dataclass(frozen=True)
class Communication:
    """What several ranks sent each other for the products of an iteration.

    Attributes:
        ranks, split, exchange: as of `Ranks`.
        products: vectors that were multiplied.
        sent: bytes that each rank sent for them. predicted: those that the model says.
        split_seconds, iterate_seconds: until all had their part, and from then on.
    """

    ranks: int
    split: str
    exchange: str
    products: int
    sent: tuple[int, ...]
    predicted: tuple[int, ...]
    split_seconds: float
    iterate_seconds: float


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the nodes of a graph.

    Attributes:
        values: float64 (n), or (n, queries), in the order of the graph's nodes.
        iterations: how many products were made; of several queries, the most.
        residual: norm of the last change, for the `norm` that was asked for; of several queries, the largest.
        nodes: names of the nodes in their order; None where they are 0 … n − 1.
        communication: of several ranks, what they sent.
    """

    values: Floats
    iterations: int
    residual: float
    nodes: Sequence[Any] | None = None
    communication: Communication | None = None

    def to_dict(self) -> dict[Any, Any]:
        """Node → its score, a float; with several queries a list of them."""
        names = range(len(self.values)) if self.nodes is None else self.nodes
        return dict(zip(names, self.values.tolist(), strict=True))

    def top(self, count: int, query: int = 0) -> list[tuple[Any, float]]:
        """The nodes of highest score and their scores, falling; equal ones in the order of the nodes."""
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise ArgumentError(f"count is {count!r}, a whole number of at least 0 was expected")
        scores = self.values if self.values.ndim == 1 else self.values[:, query]
        best = np.argsort(-scores, kind="stable")[:count]
        return [(int(i) if self.nodes is None else self.nodes[i], float(scores[i])) for i in best]

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.values.shape))
        return f"<Scores {shape}, {self.iterations} iterations, residual {self.residual:.3g}>"


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a linear system. values: x, (n). residual: ‖b − A x‖₂ as the iteration carries it along.

    communication: of several ranks, what they sent.
    """

    values: npt.NDArray[Any]
    iterations: int
    residual: float
    communication: Communication | None = None

    def __repr__(self) -> str:
        return f"<Solution {self.values.size}, {self.iterations} iterations, residual {self.residual:.3g}>"


def unless_converged(what: str, last: Scores | Solution, bound: float) -> ConvergenceError:
    """The error for an iteration that ended above its bound."""
    return ConvergenceError(
        f"{what} did not converge: after {last.iterations} iterations the residual is {last.residual:.3g}, "
        f"which is not below {bound:.3g}",
        last=last,
        hint="Allow more iterations or a larger tolerance; the error's `last` is the last iterate.",
    )
