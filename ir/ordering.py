"""An order of jobs and of data, made by a reordering method."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tracecut.support.arrays import Ints, Longs, check_offsets, check_permutation, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.files import held, read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class Ordering:
    """A proposed job order and data order of one locality graph.

    Attributes:
        jobs: int32 permutation, `jobs[new position] = old job`.
        data: int32 permutation of all data, `data[new position] = old datum`; every index space keeps its own
            range of ids, so position p and datum `data[p]` lie in the same space.
        blocks: int64 offsets into `jobs`: block b runs jobs `blocks[b] … blocks[b + 1]` of the new order
            (one block when the method makes a linear order).
        method: its name.
    """

    jobs: Ints
    data: Ints
    method: str
    blocks: Longs = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", frozen("jobs", self.jobs, np.int32))
        object.__setattr__(self, "data", frozen("data", self.data, np.int32))
        blocks = self.blocks if len(self.blocks) else [0, self.jobs.size]
        object.__setattr__(self, "blocks", frozen("blocks", blocks, np.int64))
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError unless both orders are permutations and the blocks cover the jobs."""
        check_permutation("jobs", self.jobs)
        check_permutation("data", self.data)
        check_offsets("blocks", self.blocks, self.jobs.size)

    def verify_spaces(self, space_offsets: Longs) -> None:
        """Raises ArgumentError when a datum leaves the id range of its index space."""
        for space, (low, high) in enumerate(itertools.pairwise(space_offsets)):
            part = self.data[low:high]
            if part.size and (part.min() < low or part.max() >= high):
                raise ArgumentError(f"the data order mixes index space {space} with another")

    def save(self, path: str | os.PathLike[str]) -> Path:
        return write_arrays(
            path, "Ordering", {"jobs": self.jobs, "data": self.data, "blocks": self.blocks}, {"method": self.method}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ordering:
        """Read what `save` wrote. Raises ArtefactError, which names the path, on anything else."""
        arrays, meta = read_arrays(path, "Ordering", {"jobs": "int32", "data": "int32", "blocks": "int64"})
        with held(path, "ordering"):
            return cls(arrays["jobs"], arrays["data"], str(meta["method"]), arrays["blocks"])

    def __repr__(self) -> str:
        blocks = self.blocks.size - 1
        return f"<Ordering by {self.method}: {self.jobs.size} jobs in {blocks} blocks, {self.data.size} data>"
