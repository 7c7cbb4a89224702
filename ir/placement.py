"""Which processing unit runs which cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Ints, check_range, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.files import held, read_arrays, write_arrays

if TYPE_CHECKING:
    from .machine.machine import Machine


@dataclass(frozen=True, eq=False)
class Placement:
    """Cluster → core.

    Attributes:
        core_of: int32 (k): index into `Machine.cores` of each cluster.
        n_cores: cores of the machine that it was made for.
        method: how it was made.
        machine: name of the machine that it was made for, empty when that is not known.
    """

    core_of: Ints
    n_cores: int
    method: str = "given"
    machine: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "core_of", frozen("core_of", self.core_of, np.int32))
        self.verify()
        object.__setattr__(self, "n_cores", int(self.n_cores))

    def verify(self) -> None:
        """Raises ArgumentError unless every cluster lies on a core that exists."""
        whole_number("n_cores", self.n_cores, 1)
        check_range("core_of", self.core_of, 0, self.n_cores)

    def save(self, path: str | os.PathLike[str]) -> Path:
        return write_arrays(path, "Placement", {"core_of": self.core_of}, self._meta())

    def _meta(self) -> dict[str, object]:
        return {"n_cores": self.n_cores, "method": self.method, "machine": self.machine}

    def check_fits(self, machine: Machine) -> None:
        """Raises ArgumentError unless it was made for a machine of this name and as many cores."""
        if self.n_cores != len(machine.cores):
            raise ArgumentError(f"the placement is for {self.n_cores} cores, {machine.name} has {len(machine.cores)}")
        if self.machine and self.machine != machine.name:
            raise ArgumentError(f"the placement was made for {self.machine}, not for {machine.name}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Placement:
        """Read what `save` wrote. Raises ArtefactError, which names the path, on anything else."""
        arrays, meta = read_arrays(path, "Placement", {"core_of": "int32"})
        with held(path, "placement"):
            return cls(arrays["core_of"], meta["n_cores"], str(meta["method"]), str(meta.get("machine", "")))

    def __repr__(self) -> str:
        return f"<Placement of {self.core_of.size} clusters on {self.n_cores} cores by {self.method}>"
