"""Trees like `/sys` and `/proc`: recorded ones of real machines where these are there, and small ones of our own."""

from __future__ import annotations

import atexit
import re
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "data" / "sysfs"
# Devices on buses, and of a processor its idle states, counters and drivers: most of the files.
_OTHERS = re.compile(r"/sys/(bus|class|kernel|devices/pci)|/(power|cpuidle|thermal_throttle|uevent|driver)(/|$)")
needs_recorded = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="the recorded trees of other machines do not belong to the repository"
)


@cache
def recorded(name: str) -> Path:
    """What says something of processors, caches, memory and limits of a recorded tree, unpacked once; only read it."""
    folder = Path(tempfile.mkdtemp(prefix="recorded-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(RECORDED / f"{name}.tar.bz2") as archive:
        kept = [member for member in archive if not _OTHERS.search(member.name)]
        archive.extractall(folder, kept, filter="data")
    (root,) = folder.iterdir()
    return root


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def cpus(count: int, package: int = 2) -> dict[str, str]:
    """Processors in packages of `package`, each with a first cache of its own and a second one of the package."""
    found = {"proc/meminfo": "MemTotal: 1024 kB\n", "proc/cpuinfo": "model name : Toy\n"}
    for cpu in range(count):
        here = f"sys/devices/system/cpu/cpu{cpu}"
        first = cpu // package * package
        found[f"{here}/topology/physical_package_id"] = str(cpu // package)
        found[f"{here}/topology/package_cpus_list"] = f"{first}-{first + package - 1}"
        for index, (level, size, users) in enumerate(
            [(1, "32K", str(cpu)), (2, "1M", f"{first}-{first + package - 1}")]
        ):
            cache = {"level": str(level), "size": size, "type": "Unified", "shared_cpu_list": users}
            found |= {f"{here}/cache/index{index}/{key}": value for key, value in cache.items()}
    return found


def numa(number: int, members: str, distance: str, kilobytes: int = 512) -> dict[str, str]:
    here = f"sys/devices/system/node/node{number}"
    memory = f"Node {number} MemTotal: {kilobytes} kB\n"
    return {f"{here}/cpulist": members, f"{here}/distance": distance, f"{here}/meminfo": memory}
