"""The parts of a machine: cores, caches, memory banks, and the units between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Core:
    """One processing unit. `cpu` is the operating system's number, `node` that of its node, `speed` is relative."""

    cpu: int
    node: int = 0
    speed: float = 1.0


@dataclass(frozen=True)
class Cache:
    """One cache level as a core sees it: bytes, line bytes, ways (0: fully associative), cores sharing it.

    `latency` is the cycles until a line that it holds is there; 0 means unknown.
    """

    level: int
    size: int
    line: int = 64
    ways: int = 0
    shared_by: int = 1
    latency: int = 0


@dataclass(frozen=True)
class Bank:
    """Main memory at one node: bytes, bytes in a cycle (0: unknown, else within the limits of a link's).

    A node may have a bank and no core.
    """

    node: int
    size: int
    bandwidth: float = 0.0


@dataclass(frozen=True)
class Unit:
    """A package, die, group of cores, physical core, …: what lies between the machine and its cores.

    Attributes:
        kind: what it is, in one word.
        cores: indices into `Machine.cores` of all cores within, rising.
        parent: index into `Machine.units` of the unit around it, −1 for the machine itself; parents come first.
        caches: those that just the cores within share.
    """

    kind: str
    cores: tuple[int, ...]
    parent: int = -1
    caches: tuple[Cache, ...] = ()
