"""The locality graph: which jobs touch which data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.support.arrays import Bytes, Floats, Ints, Longs, check_offsets, check_range, check_weights, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.files import held, read_arrays, write_arrays

READ, WRITE, REDUCE = 1, 2, 4
PIECE = 1 << 20  # pins that are counted together, at least


@dataclass(frozen=True, eq=False)
class LocalityGraph:
    """Bipartite incidence jobs × data in CSR form; with two data a job it is the graph of SPAC §3.1.

    Attributes:
        offsets: int64, `n_jobs + 1`. The data of job j are `data[offsets[j]:offsets[j + 1]]`, in program order;
            a datum that a job touches twice may stand twice.
        data: int32 datum ids. Data of several index spaces are numbered one space after the other.
        n_data: number of data, isolated ones included.
        access: uint8 per pin, a mask of READ, WRITE and REDUCE; empty when unknown.
        site: int32 per pin, the memory instruction that made it; empty when unknown.
        space_offsets: int64, `n_spaces + 1`. Space s owns the ids in `[space_offsets[s], space_offsets[s + 1])`.
        job_weights: float64, 0 or more; empty means 1 each. The load of a job where jobs are partitioned, and what it
            costs to cut it where data are.
        data_weights: float64, 0 or more; empty means 1 each. What a copy of a datum costs where jobs are partitioned
            (its bytes, say), and its load where data are.
        more_data_weights: float64 (n_data, loads): further loads of each datum, which a partition of the data
            balances one by one beside `data_weights`.
        names: one name per space, for reports.
    """

    offsets: Longs
    data: Ints
    n_data: int
    access: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    site: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    space_offsets: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    job_weights: Floats = field(default_factory=lambda: np.zeros(0, np.float64))
    data_weights: Floats = field(default_factory=lambda: np.zeros(0, np.float64))
    more_data_weights: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, dtype in (_MEMBERS | _OPTIONAL).items():
            ndim = 2 if name in _OPTIONAL else 1
            object.__setattr__(self, name, frozen(name, getattr(self, name), dtype, ndim=ndim))
        if self.space_offsets.size == 0:
            object.__setattr__(self, "space_offsets", frozen("space_offsets", [0, self.n_data], np.int64))
        if not self.names:
            object.__setattr__(self, "names", tuple(f"space{i}" for i in range(self.n_spaces)))
        self.verify()

    @property
    def n_jobs(self) -> int:
        return self.offsets.size - 1

    @property
    def n_pins(self) -> int:
        return self.data.size

    @property
    def n_spaces(self) -> int:
        return self.space_offsets.size - 1

    def verify(self) -> None:
        """Check every rule of the class docstring; O(pins). Raises ArgumentError."""
        if not 0 <= self.n_data < 2**31 or self.n_jobs >= 2**31:
            raise ArgumentError(f"{self.n_jobs} jobs and {self.n_data} data: both must be below 2**31")
        check_offsets("offsets", self.offsets, self.data.size)
        check_range("data", self.data, 0, self.n_data)
        check_offsets("space_offsets", self.space_offsets, self.n_data)
        for name, values, size in (
            ("access", self.access, self.n_pins),
            ("site", self.site, self.n_pins),
            ("job_weights", self.job_weights, self.n_jobs),
            ("data_weights", self.data_weights, self.n_data),
            ("more_data_weights", self.more_data_weights, self.n_data),
        ):
            if values.size and values.shape[0] != size:
                raise ArgumentError(f"{name} has {values.shape[0]} entries, {size} expected")
        if self.access.size and not np.isin(self.access, np.arange(1, 8)).all():
            raise ArgumentError("access holds a value that is no mask of READ, WRITE and REDUCE")
        for name in ("job_weights", "data_weights", "more_data_weights"):
            check_weights(name, getattr(self, name))
        if self.more_data_weights.size and not self.data_weights.size:
            raise ArgumentError("more_data_weights without data_weights, which are the first of them")
        if len(self.names) != self.n_spaces:
            raise ArgumentError(f"{len(self.names)} names for {self.n_spaces} spaces")

    @cached_property
    def transpose(self) -> tuple[Longs, Ints]:
        """CSR data → jobs: `(offsets, jobs)`, jobs ascending in each row. O(pins)."""
        from .transpose import transposed  # slow to import, and few need it

        offsets, jobs = transposed(self.offsets, self.data, self.n_data)
        return frozen("offsets", offsets, np.int64), frozen("jobs", jobs, np.int32)

    def degrees(self) -> Longs:
        """Number of pins of each datum, int64 (`n_data`)."""
        if "transpose" in self.__dict__:  # made before
            return np.diff(self.transpose[0])
        found = np.zeros(self.n_data, np.int64)
        piece = max(self.n_data, PIECE)  # NumPy counts in a copy with twice the bytes
        for low in range(0, self.n_pins, piece):
            found += np.bincount(self.data[low : low + piece], minlength=self.n_data)
        return found

    def forget(self) -> None:
        """Drop what is made again when somebody asks for it."""
        self.__dict__.pop("transpose", None)

    @classmethod
    def from_edges(cls, u: Ints, v: Ints, n: int | None = None) -> LocalityGraph:
        """One job an edge: job i touches the data `u[i]` and `v[i]` (a self-loop touches one datum twice)."""
        first, second = frozen("u", u, np.int32), frozen("v", v, np.int32)
        if first.size != second.size:
            raise ArgumentError(f"u has {first.size} entries, v has {second.size}")
        count = n if n is not None else int(max(first.max(initial=-1), second.max(initial=-1))) + 1
        pins = np.empty(2 * first.size, np.int32)
        pins[0::2], pins[1::2] = first, second
        return cls(np.arange(first.size + 1, dtype=np.int64) * 2, pins, count)

    def save(self, path: str | os.PathLike[str]) -> Path:
        arrays = {name: getattr(self, name) for name in _MEMBERS}
        arrays |= {name: getattr(self, name) for name in _OPTIONAL if getattr(self, name).size}
        return write_arrays(path, "LocalityGraph", arrays, {"n_data": self.n_data, "names": list(self.names)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LocalityGraph:
        """Read what `save` wrote. Raises ArtefactError, which names the path, on anything else."""
        optional = {f"{name}?": dtype for name, dtype in _OPTIONAL.items()}
        arrays, meta = read_arrays(path, "LocalityGraph", _MEMBERS | optional)
        with held(path, "locality graph"):
            return cls(n_data=int(meta["n_data"]), names=tuple(map(str, meta["names"])), **_cast(arrays))

    def __repr__(self) -> str:
        spaces = ", ".join(
            f"{name}: {int(size)}" for name, size in zip(self.names, np.diff(self.space_offsets), strict=True)
        )
        return f"<LocalityGraph {self.n_jobs} jobs × {self.n_data} data, {self.n_pins} pins; {spaces}>"


_MEMBERS = {
    "offsets": "int64",
    "data": "int32",
    "access": "uint8",
    "site": "int32",
    "space_offsets": "int64",
    "job_weights": "float64",
    "data_weights": "float64",
}
_OPTIONAL = {"more_data_weights": "float64"}  # two dimensions; files of graphs without them lack the member


def _cast(arrays: dict[str, Any]) -> dict[str, Any]:
    return arrays
