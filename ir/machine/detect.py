"""This machine, as the operating system describes it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from .parts import Cache, Core

_SYSFS = Path("/sys/devices/system/cpu")


def detected() -> dict[str, Any]:
    """Fields of a Machine from sysfs and the affinity mask; whatever is not stated gets a common default."""
    allowed = sorted(os.sched_getaffinity(0))
    cores = tuple(Core(cpu, _node_of(cpu)) for cpu in allowed)
    caches = _caches_of(allowed[0]) or (Cache(1, 32 << 10, ways=8), Cache(2, 1 << 20, ways=16))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"name": _processor_name(), "cores": cores, "caches": caches, "memory": memory}


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
