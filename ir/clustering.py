"""An assignment of jobs or data to k clusters."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tracecut.support.arrays import Floats, Ints, check_range, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.files import held, read_arrays, write_arrays

if TYPE_CHECKING:
    from .locality_graph import LocalityGraph

# Stand-ins for programs that are not available; every output with their results says so.
STAND_INS = {"compnet": "CompNet (Xiao et al. 2017)"}


@dataclass(frozen=True, eq=False)
class Clustering:
    """Labels of a partition.

    Attributes:
        labels: int32 in [0, k): of each job (`kind="jobs"`, an edge partition) or of each datum (`kind="data"`,
            a vertex partition).
        k: number of clusters; some may be empty.
        kind: `"jobs"` or `"data"`.
        method, seed, options: how it was made, sufficient to reproduce it.
        why: sentences of `"auto"` about its choice, empty for a method that was asked for. Not saved.
        graph: what was partitioned, None when that is not known; the quality numbers need it. Not saved.
        weights: float64, of each member, where others than the graph's were balanced; several of each in two
            dimensions. Not saved.
    """

    labels: Ints
    k: int
    kind: str = "jobs"
    method: str = "given"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    graph: LocalityGraph | None = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    why: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", frozen("labels", self.labels, np.int32))
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError unless k is a whole number, the kind is known, and every label lies in [0, k)."""
        try:
            k = operator.index(self.k)
        except TypeError:
            raise ArgumentError(f"k = {self.k!r}, a whole number of at least 1 was expected") from None
        if k < 1:
            raise ArgumentError(f"k = {k}, at least 1 expected")
        if self.kind not in ("jobs", "data"):
            raise ArgumentError(f"kind = {self.kind!r}, 'jobs' or 'data' expected")
        check_range("labels", self.labels, 0, self.k)

    def sizes(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Members of each cluster, int64 (k)."""
        return np.bincount(self.labels, minlength=self.k).astype(np.int64)

    def cost(self) -> float:
        """What the partition costs: the weight of the vertex copies of a job partition, of the cut jobs of a data
        partition. What has no weights weighs 1.

        Raises ArgumentError when `graph` is not known, as the other numbers do. O(pins).
        """
        from . import metrics

        return (metrics.copy_weight if self.kind == "jobs" else metrics.edge_cut)(self._known_graph(), self)

    def replication_factor(self) -> float:
        """1 + vertex copies / non-isolated data; of job partitions. O(pins)."""
        from .metrics import replication_factor

        return replication_factor(self._known_graph(), self)

    def imbalance(self) -> float:
        """Largest load over its target (the mean without targets), by the weights that were balanced. O(labels).

        Where data have several weights each, the largest over all of them.
        """
        graph = self._known_graph()
        own = graph.job_weights if self.kind == "jobs" else graph.data_weights
        given = own if self.weights is None else self.weights
        weights = list(given.T) if given.ndim == 2 else [given]
        if self.kind == "data" and self.weights is None:
            weights += list(graph.more_data_weights.T)
        shares = np.asarray(self.options.get("targets", np.full(self.k, 1.0 / self.k)))
        worst = []
        for each in weights:
            loads = np.bincount(self.labels, each if each.size else None, self.k)
            total = float(loads.sum())
            worst.append(float((loads / (shares / shares.sum())).max()) / total if total else 1.0)
        return max(worst)

    def loads(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Load of each cluster by the weights that were balanced, of several the first; float64 (k). O(labels)."""
        graph = self._known_graph()
        own = graph.job_weights if self.kind == "jobs" else graph.data_weights
        weights = own if self.weights is None else self.weights.reshape(self.labels.size, -1)[:, 0]
        return np.bincount(self.labels, weights if weights.size else None, self.k).astype(np.float64)

    def memory_violations(self) -> int:
        """Clusters whose load exceeds the capacity that was asked for, by the weights that were balanced. O(labels)."""
        rooms = self.options.get("capacities", [None] * self.k)
        room = np.array([np.inf if each is None else each for each in rooms])
        return int(np.count_nonzero(self.loads() > room * (1 + 1e-12)))

    def report(self) -> dict[str, Any]:
        """How it was made, and every number of `metrics` that its kind has, by name. O(pins)."""
        from . import metrics

        graph = self._known_graph()
        found: dict[str, Any] = {
            "method": self.method,
            "kind": self.kind,
            "k": self.k,
            "seed": self.seed,
            "options": dict(self.options),
            "jobs": graph.n_jobs,
            "data": graph.n_data,
            "cost": self.cost(),
            "imbalance": self.imbalance(),
        }
        if self.method in STAND_INS:
            found["stand_in_for"] = STAND_INS[self.method]
        if self.why:
            found["why"] = list(self.why)
        for name in metrics.OF_JOBS if self.kind == "jobs" else metrics.OF_DATA:
            found[name] = getattr(metrics, name)(graph, self)
        if "capacities" in self.options:
            found["memory_violations"] = self.memory_violations()
        return found | {"empty_parts": metrics.empty_parts(self)}

    def _known_graph(self) -> LocalityGraph:
        if self.graph is None:
            raise ArgumentError(
                "the clustering has no graph",
                hint="Clusterings from tracecut.partition have one; those that were loaded or made by hand do not.",
            )
        return self.graph

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
        """Read what `save` wrote. Raises ArtefactError, which names the path, on anything else."""
        arrays, meta = read_arrays(path, "Clustering", {"labels": "int32"})
        with held(path, "clustering"):
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
            f"<Clustering of {self.labels.size} {self.kind} into {self.k} by {self.method}"
            f"{' (stand-in)' if self.method in STAND_INS else ''}; "
            f"sizes {int(sizes.min())} … {int(sizes.max())}>"
        )
