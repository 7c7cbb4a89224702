"""The machine that programs run on: cores, caches, memory."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from tracecut.support import memory_amounts
from tracecut.support.argument_checks import path as checked_path
from tracecut.support.arrays import Floats, Longs, frozen
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import write_atomic

from . import models
from .detect import detected
from .network import Network
from .parts import Bank, Cache, Core, Unit
from .rules import check
from .toml_text import fields_of, line_of, text_of
from .words import fields_named, file_text, names_a_file

NAMED = "tracecut.Machine.named(word) makes one of a word or a file."


@dataclass(frozen=True)
class Machine:
    """A machine description: cores at the nodes of a network, in a tree of units, with caches and memory.

    Attributes:
        name: processor name, or what the model is called.
        cores: the processing units this process may use.
        caches: data and unified caches of the first core, nearest first.
        memory: bytes of main memory.
        memory_latency: cycles until a line comes from main memory; 0 means unknown.
        network: how the nodes are joined; None: all cores at node 0.
        units: the tree, parents before children; () if there are only cores.
        banks: memory by node; () stands for one bank at node 0.
        clock: cycles in a second, 0 means unknown.
        issue_width: instructions that a core begins in a cycle.
        mshrs: largest number of outstanding misses of a core.
        notes: features of the machine that the description omits.
    """

    name: str
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    memory: int
    memory_latency: int = 0
    network: Network | None = None
    units: tuple[Unit, ...] = ()
    banks: tuple[Bank, ...] = ()
    clock: float = 0.0
    issue_width: int = 1
    mshrs: int = 1
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError, which begins with the key, unless all that is stated fits together. O(size)."""
        check(self)

    @cached_property
    def core_nodes(self) -> Longs:
        """Node of each core, int64 (cores)."""
        return frozen("core_nodes", [core.node for core in self.cores], np.int64)

    @cached_property
    def joined(self) -> Network:
        """The network; without one, nodes that are all one hop from each other."""
        return self.network or Network("full", (1 + max(core.node for core in self.cores),))

    def speeds(self) -> Floats:
        """Speed of each core, float64 (cores)."""
        return frozen("speeds", [core.speed for core in self.cores], np.float64)

    def memories(self) -> Floats:
        """Bytes that each core has for itself, float64 (cores): what is at its node, shared evenly; inf if unstated."""
        if not self.banks:
            return frozen("memories", np.full(len(self.cores), np.inf), np.float64)
        there = np.bincount(self.core_nodes, minlength=self.joined.nodes)
        held = np.bincount([bank.node for bank in self.banks], [bank.size for bank in self.banks], self.joined.nodes)
        return frozen("memories", (held / np.maximum(there, 1))[self.core_nodes], np.float64)

    def fan_outs(self) -> tuple[int, ...]:
        """Children of each level of the tree from the root, cores last; (cores,) where units have unequal numbers."""
        if self.network is not None and self.network.kind == "tree" and self.network.nodes == len(self.cores):
            return self.network.shape
        level, found, total = [-1], [], 1
        while level:
            children = [place for unit in level for place in self.children[unit]]
            if len({len(self.children[unit]) for unit in level}) > 1:
                return (len(self.cores),)
            if children and len(children) > total:
                found.append(len(children) // total)
                total = len(children)
            level = children
        sizes = {len(unit.cores) for place, unit in enumerate(self.units) if not self.children[place]}
        if len(sizes) > 1 or len(self.cores) % total or (found and sizes and sizes != {len(self.cores) // total}):
            return (len(self.cores),)
        return (*found, len(self.cores) // total) if len(self.cores) > total or not found else tuple(found)

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Units right below each unit; those below none at −1."""
        found: dict[int, list[int]] = {place: [] for place in range(-1, len(self.units))}
        for place, unit in enumerate(self.units):
            found[unit.parent].append(place)
        return found

    def distances(self) -> npt.NDArray[np.int32]:
        """Hops between each two cores, int32 (cores, cores), of at most 8,192 cores."""
        return self._distances

    @cached_property
    def _distances(self) -> npt.NDArray[np.int32]:
        return frozen("distances", self.joined.table(self.core_nodes), np.int32, ndim=2)

    @classmethod
    def detect(cls, root: str | os.PathLike[str] = "/") -> Machine:
        """This machine from sysfs and the affinity mask, or one whose `/sys` and `/proc` were recorded under `root`.

        Missing facts get common defaults, inconsistent ones are left out; `notes` list both. Raises
        ArgumentError where `root` is no folder.
        """
        folder = checked_path("root", root)
        if not folder.is_dir():
            raise ArgumentError(
                f"root is {os.fspath(root)!r}, a folder was expected",
                hint="It has to hold the files of another machine as sys/… and proc/….",
            )
        return cls(**detected(folder))

    @classmethod
    def named(cls, word: str) -> Machine:
        """The machine of a name on the command line, such as `mesh:8x8`, `detect` or `machine.toml`.

        Raises ArgumentError for an unknown name, with all forms; ArtefactError for a damaged file.
        """
        return cls.load(word) if names_a_file(word) else cls(**fields_named(word))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Machine:
        """Read a TOML file. Raises ArtefactError, which names the path, the line and the key."""
        text = file_text(checked_path("path", path))
        try:
            return cls(**fields_of(text, str(path)))
        except ArgumentError as error:
            line = line_of(text, error.message)
            raise ArtefactError(f"{path}{f', line {line}' if line else ''}: {error.message}") from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a TOML file; `load` gives an equal machine."""
        place = checked_path("path", path)
        text = text_of({field.name: getattr(self, field.name) for field in fields(self)})

        def write(file: BinaryIO) -> None:
            file.write(text.encode())

        return write_atomic(place, write)

    @classmethod
    def model(cls) -> Machine:
        """The core that modelled times are defined on, the same everywhere: caches and memory of VertexCut §6.1."""
        return cls(**models.model())

    @classmethod
    def mesh(cls, width: int, height: int) -> Machine:
        """width × height cores on a mesh, one at each router: VertexCut's Table 2."""
        return cls(**models.mesh(width, height))

    @classmethod
    def mesh_for(cls, cores: int) -> Machine:
        """The mesh of that many cores in VertexCut's tables; of another number the one nearest to a square."""
        return cls(**models.mesh_for(cores))

    @classmethod
    def uma(cls, cores: int) -> Machine:
        """Cores and one memory on a bus: uniform memory access, VertexCut's Figure 6."""
        return cls(**models.uma(cores))

    @classmethod
    def cpu_gpu(cls, cores: int = 24, gpus: int = 1, speed: float = 8.0, memory: float = 8.5) -> Machine:
        """A node of CPU cores (speed 1, 2 GiB each) and GPUs of a speed and memory in GiB."""
        return cls(**models.cpu_gpu(cores, gpus, speed, memory))

    @classmethod
    def topo1(cls, k: int = 96, fast: int = 8, step: int = 0) -> Machine:
        """Hetero's TOPO1: `fast` fast units, then slow ones; `step` is a row of Table III, from 0."""
        return cls(**models.topo1(k, fast, step))

    @classmethod
    def topo2(cls, k: int = 96, fast: int = 8, step: int = 0, files: bool = False) -> Machine:
        """Hetero's TOPO2: fast units and two kinds of slow ones, by Eq. 5 or as in the published files."""
        return cls(**models.topo2(k, fast, step, files))

    @classmethod
    def topo3(cls, nodes: int = 4, fast: int = 1, step: int = 4) -> Machine:
        """Hetero's TOPO3: nodes of 24 units, `fast` whole nodes of fast ones."""
        return cls(**models.topo3(nodes, fast, step))

    def summary(self) -> dict[str, Any]:
        """Plain values for a manifest, equal to what a JSON file gives back."""
        return json.loads(json.dumps({**asdict(self), "cores": len(self.cores)}))

    def like(self, other: Machine) -> bool:
        """Whether both have the same cores, caches and network: what was measured on one holds for the other."""
        fields = ("cores", "caches", "units", "joined")
        return all(getattr(self, name) == getattr(other, name) for name in fields)

    def last_cache(self) -> Cache:
        """The cache furthest from the core. Raises ArgumentError without caches."""
        if not self.caches:
            raise ArgumentError(
                f"{self.name} has no caches, at least one was expected",
                hint="Describe them in its file, as [[caches]] with level and size.",
            )
        return self.caches[-1]

    def __repr__(self) -> str:
        count = len(self.cores)
        parts = [f"{count} core{'s' * (count > 1)}"]
        parts += [f"L{cache.level} {memory_amounts.size(cache.size)}" for cache in self.caches]
        return f"<Machine {self.name}: {', '.join([*parts, memory_amounts.size(self.memory)])}>"
