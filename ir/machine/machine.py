"""The machine that programs run on: cores, caches, memory."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracecut.support import memory_amounts
from tracecut.support.errors import ArgumentError

_SYSFS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Core:
    """One processing unit. `cpu` is the operating system's number, `node` its NUMA node, `speed` is relative."""

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
class Machine:
    """A machine description.

    Attributes:
        name: processor name.
        cores: the processing units this process may use.
        caches: data and unified caches of the first core, nearest first.
        memory: bytes of main memory.
        memory_latency: cycles until a line comes from main memory; 0 means unknown.
    """

    name: str
    cores: tuple[Core, ...]
    caches: tuple[Cache, ...]
    memory: int
    memory_latency: int = 0

    def __post_init__(self) -> None:
        if not self.cores:
            raise ArgumentError("a machine needs at least one core")
        for cache in self.caches:
            if cache.size < cache.line or cache.line < 1:
                raise ArgumentError(f"cache level {cache.level}: {cache.size} bytes in lines of {cache.line}")

    @classmethod
    def detect(cls) -> Machine:
        """Describe this machine from sysfs and the affinity mask; whatever is not stated gets a common default."""
        allowed = sorted(os.sched_getaffinity(0))
        cores = tuple(Core(cpu, _node_of(cpu)) for cpu in allowed)
        caches = _caches_of(allowed[0]) or (Cache(1, 32 << 10, ways=8), Cache(2, 1 << 20, ways=16))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return cls(_processor_name(), cores, caches, memory)

    @classmethod
    def model(cls) -> Machine:
        """The core that modelled times are defined on, the same everywhere: caches and memory of VertexCut §6.1.

        The seed states sizes, ways and the first level's blocks; the latencies are those of a processor of its clock.
        """
        caches = (Cache(1, 64 << 10, 32, 4, latency=4), Cache(2, 256 << 10, 32, 8, latency=14))
        return cls("model", (Core(0),), caches, 4 << 30, memory_latency=200)

    def summary(self) -> dict[str, Any]:
        """Plain values for a manifest."""
        return {**asdict(self), "cores": len(self.cores), "caches": [asdict(cache) for cache in self.caches]}

    def last_cache(self) -> Cache:
        """The cache furthest from the core."""
        return self.caches[-1]

    def __repr__(self) -> str:
        caches = ", ".join(f"L{cache.level} {memory_amounts.size(cache.size)}" for cache in self.caches)
        return f"<Machine {self.name}: {len(self.cores)} cores, {caches}, {memory_amounts.size(self.memory)}>"


def _processor_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        return platform.machine()
    return platform.machine()


def _node_of(cpu: int) -> int:
    for entry in (_SYSFS / f"cpu{cpu}").glob("node*"):
        digits = entry.name.removeprefix("node")
        if digits.isdigit():
            return int(digits)
    return 0


def _caches_of(cpu: int) -> tuple[Cache, ...]:
    caches = []
    for index in sorted((_SYSFS / f"cpu{cpu}" / "cache").glob("index*")):
        try:
            fields = {name: (index / name).read_text().strip() for name in ("level", "type", "size")}
            if fields["type"] == "Instruction":
                continue
            line = int(_optional(index / "coherency_line_size", "64"))
            ways = int(_optional(index / "ways_of_associativity", "0"))
            shared = _count_cpus(_optional(index / "shared_cpu_list", str(cpu)))
            caches.append(Cache(int(fields["level"]), _bytes(fields["size"]), line, ways, shared))
        except (OSError, ValueError):
            continue
    return tuple(sorted(caches, key=lambda cache: cache.level))


def _optional(path: Path, default: str) -> str:
    try:
        return path.read_text().strip() or default
    except OSError:
        return default


def _bytes(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def _count_cpus(text: str) -> int:
    count = 0
    for part in text.split(","):
        low, _, high = part.partition("-")
        count += int(high or low) - int(low) + 1
    return count
