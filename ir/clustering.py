"""An assignment of jobs or data to k clusters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Ints, check_range, frozen
from .errors import ArgumentError
from .files import read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class Clustering:
    """Labels of a partition (DESIGN §2).

    Attributes:
        labels: int32 in [0, k): of each job (`kind="jobs"`, an edge partition) or of each datum (`kind="data"`,
            a vertex partition).
        k: number of clusters; some may be empty.
        kind: `"jobs"` or `"data"`.
        method, seed, options: how it was made, enough to make it again.
    """

    labels: Ints
    k: int
    kind: str = "jobs"
    method: str = "given"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", frozen("labels", self.labels, np.int32))
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError unless every label lies in [0, k)."""
        if self.k < 1:
            raise ArgumentError(f"k = {self.k}, at least 1 expected")
        if self.kind not in ("jobs", "data"):
            raise ArgumentError(f"kind = {self.kind!r}, 'jobs' or 'data' expected")
        check_range("labels", self.labels, 0, self.k)

    def sizes(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Members of each cluster, int64 (k)."""
        return np.bincount(self.labels, minlength=self.k).astype(np.int64)

    def save(self, path: str | os.PathLike[str]) -> Path:
        meta = {
            "k": self.k,
            "labels_of": self.kind,
            "method": self.method,
            "seed": self.seed,
            "options": dict(self.options),
        }
        return write_arrays(path, "Clustering", {"labels": self.labels}, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Clustering:
        arrays, meta = read_arrays(path, "Clustering", {"labels": "int32"})
        return cls(
            arrays["labels"],
            int(meta["k"]),
            str(meta["labels_of"]),
            str(meta["method"]),
            int(meta["seed"]),
            dict(meta["options"]),
        )

    def __repr__(self) -> str:
        sizes = self.sizes()
        return (
            f"<Clustering of {self.labels.size} {self.kind} into {self.k} by {self.method}; "
            f"sizes {int(sizes.min())} … {int(sizes.max())}>"
        )
