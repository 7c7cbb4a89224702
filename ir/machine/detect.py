"""This machine, as the operating system describes it in sysfs; or another one, of which that tree was recorded."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tracecut.support import memory_amounts

from .network import Network
from .parts import Bank, Cache, Core, Unit
from .sysfs import byte_count, contents, cpus_in, cpus_of_mask, entries, number_of, whole
from .toml_text import MOST_ENTRIES

DEFAULT_CACHES = (Cache(1, 32 << 10, ways=8), Cache(2, 1 << 20, ways=16))
DEFAULT_MEMORY = 4 << 30
MOST_CACHE, MOST_LINE = 1 << 40, 1 << 20  # bytes; what states more is left out
LOCAL = 10  # what a NUMA table states for a node and itself, by the ACPI standard


def detected(root: Path = Path("/")) -> dict[str, Any]:
    """Fields of a Machine from sysfs, control groups and, of the running system, the affinity mask.

    Offline processors are left out. NUMA nodes are numbered without holes; those without processors are memory banks.
    Distances are the table's beyond the local one; a table that contradicts itself is left out, with a note. Whatever
    is not stated, or cannot be read, gets a common default. Caches whose lines are no powers of two are left out; ways
    that make no whole sets are the next fewer that do. Raises nothing on any tree.
    """
    notes: list[str] = []
    cpus = _allowed(root)
    if root != Path("/") and not _stated_cpus(root):
        notes.append("no processors are described in sys/devices/system/cpu: one is assumed")
    nodes = _nodes(root, cpus)
    if len({cpu for _, members in nodes for cpu in members}) != sum(len(members) for _, members in nodes):
        notes.append("processors are in several NUMA nodes at once: the nodes are left out")
        nodes = [(0, cpus)]
    node_of = {cpu: place for place, (_, members) in enumerate(nodes) for cpu in members}
    speeds = _speeds(root, cpus)
    cores = tuple(Core(cpu, node_of.get(cpu, 0), speeds[cpu]) for cpu in cpus)
    caches = tuple(cache for cache, _ in _caches_of(root, cpus[0]))
    if not caches:
        caches = DEFAULT_CACHES
        notes.append(
            f"no caches are described: {' and '.join(memory_amounts.size(each.size) for each in caches)} are assumed"
        )
    limit = _memory_limit(root)
    memory = _memory(root)
    if not memory:
        memory = DEFAULT_MEMORY
        notes.append(f"no memory is described in proc/meminfo: {memory_amounts.size(memory)} are assumed")
    if limit is not None and limit < memory:
        notes.append("a control group limits the memory")
        memory = limit
    fields: dict[str, Any] = {"name": _processor_name(root), "cores": cores, "caches": caches, "memory": memory}
    numbers = [number for number, _ in nodes]
    if len(nodes) > 1:
        distances = _distances(root, numbers)
        if distances is None:
            notes.append("the NUMA distances are missing or contradict themselves: all nodes lie one hop apart")
        fields["network"] = Network("full", (len(nodes),), distances=distances or ())
        fields["banks"] = tuple(
            Bank(place, size) for place, number in enumerate(numbers) if (size := _node_memory(root, number)) > 0
        )
        notes.append("the system does not state what its links carry: 16 bytes a cycle and 2 cycles a hop are assumed")
        if numbers != list(range(len(numbers))):
            notes.append(f"NUMA nodes {', '.join(map(str, numbers))} of the system are numbered from 0")
    fields["units"] = _units(root, cpus, nodes)
    return {**fields, "notes": tuple(notes)}


def _allowed(root: Path) -> list[int]:
    """CPUs that are online and that this process, or the recorded one, may use; at least one."""
    found = _stated_cpus(root)
    online = cpus_in(contents(root / "sys/devices/system/cpu/online"))
    known = [cpu for cpu in sorted(found) if _online(root, cpu) and (not online or cpu in online)]
    group = _cpuset(root)
    known = [cpu for cpu in known if not group or cpu in group]
    if root == Path("/"):
        mask = sorted(os.sched_getaffinity(0))
        known = [cpu for cpu in known if cpu in mask] or mask
    return known[:MOST_ENTRIES] or [0]


def _stated_cpus(root: Path) -> list[int]:
    folder = root / "sys/devices/system/cpu"
    return [number for entry in entries(folder, "cpu*") if (number := number_of(entry.name)) >= 0]


def _online(root: Path, cpu: int) -> bool:
    return contents(root / f"sys/devices/system/cpu/cpu{cpu}/online", "1") != "0"


def _groups(root: Path, name: str) -> list[str]:
    """Paths of the control group of the process, the named controller's first; the root group last."""
    found = [contents(root / "proc/self/cpuset")] if name == "cpuset" else []
    for line in contents(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers or name in controllers.split(","):
            found.append(path)
    return [*dict.fromkeys(path.strip("/") for path in found if path), ""]


def _cpuset(root: Path) -> frozenset[int]:
    """CPUs of the control group, empty where there is no limit."""
    for path in _groups(root, "cpuset"):
        for place in (
            *(f"sys/fs/cgroup/{path}/cpuset.cpus.effective", f"sys/fs/cgroup/cpuset/{path}/cpuset.effective_cpus"),
            *(f"sys/fs/cgroup/cpuset/{path}/cpuset.cpus", f"dev/cpuset/{path}/cpus"),
        ):
            found = cpus_in(contents(root / place))
            if found:
                return found
    return frozenset()


def _memory_limit(root: Path) -> int | None:
    """The least limit of the control group and of those that it lies in; None without one."""
    found = []
    for group in _groups(root, "memory"):
        parts = group.split("/")
        for path in ("/".join(parts[:length]) for length in range(len(parts), -1, -1)):
            for place in (f"sys/fs/cgroup/{path}/memory.max", f"sys/fs/cgroup/memory/{path}/memory.limit_in_bytes"):
                text = contents(root / place)
                if text.isdigit() and len(text) < 19 and 0 < int(text) < 1 << 60:
                    found.append(int(text))
    return min(found, default=None)


def _memory(root: Path) -> int:
    """Bytes, 0 where they are not stated."""
    found = re.search(r"^MemTotal:\s*(\d{1,15})", contents(root / "proc/meminfo"), re.MULTILINE)
    if root == Path("/"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(found[1]) << 10 if found else 0


def _nodes(root: Path, cpus: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Number of each NUMA node with CPUs that may be used or memory, and these CPUs; nodes of CPUs first come first."""
    known = []
    for entry in entries(root / "sys/devices/system/node", "node*"):
        number = number_of(entry.name)
        if number < 0:
            continue
        stated = cpus_in(contents(entry / "cpulist")) or cpus_of_mask(contents(entry / "cpumap"))
        members = [cpu for cpu in cpus if cpu in stated]
        if members or (not stated and _node_memory(root, number) > 0):
            known.append((number, members))
    return sorted(known) if any(members for _, members in known) else [(0, list(cpus))]


def _node_memory(root: Path, number: int) -> int:
    text = contents(root / f"sys/devices/system/node/node{number}/meminfo")
    found = re.search(r"MemTotal:\s*(\d{1,15})", text)
    return int(found[1]) << 10 if found else 0


def _distances(root: Path, numbers: Sequence[int]) -> tuple[tuple[int, ...], ...] | None:
    """Distances between the nodes beyond the local one, None for a table with a hole or a contradiction."""
    online = sorted(cpus_in(contents(root / "sys/devices/system/node/online"))) or [
        number for entry in entries(root / "sys/devices/system/node", "node*") if (number := number_of(entry.name)) >= 0
    ]
    rows = []
    for number in numbers:
        words = contents(root / f"sys/devices/system/node/node{number}/distance").split()
        if len(words) != len(online) or not all(word.isdigit() and int(word) < 256 for word in words):
            return None
        stated = dict(zip(sorted(online), map(int, words), strict=True))
        if any(other not in stated for other in numbers):
            return None
        rows.append([stated[other] for other in numbers])
    far = [rows[a][b] for a in range(len(rows)) for b in range(len(rows)) if a != b]
    if any(rows[a][a] != LOCAL for a in range(len(rows))) or min(far) <= LOCAL:
        return None
    return tuple(tuple(hops - LOCAL for hops in row) for row in rows)


def _speeds(root: Path, cpus: Iterable[int]) -> dict[int, float]:
    """Relative speeds, the slowest 1: of hybrid processors, by their capacity or else their highest frequency."""
    folder = root / "sys/devices/system/cpu"
    for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        texts = {cpu: contents(folder / f"cpu{cpu}" / name) for cpu in cpus}
        if texts and all(text.isdigit() and 0 < int(text) < 1 << 40 for text in texts.values()):
            least = min(map(int, texts.values()))
            return {cpu: round(int(text) / least, 3) for cpu, text in texts.items()}
    return dict.fromkeys(cpus, 1.0)


def _units(root: Path, cpus: Sequence[int], nodes: Sequence[tuple[int, list[int]]]) -> tuple[Unit, ...]:
    """The tree: packages, NUMA nodes, dies, groups that share a cache, cores; only levels that divide anything."""
    place = {cpu: number for number, cpu in enumerate(cpus)}
    shared = {cpu: _caches_of(root, cpu) for cpu in cpus}
    levels: list[tuple[str, dict[int, Any]]] = [
        ("package", _by(root, cpus, "package_cpus_list", "core_siblings", "physical_package_id")),
        ("node", {cpu: number for number, members in nodes for cpu in members}),
        ("die", _by(root, cpus, "die_cpus_list", "die_cpus", "die_id")),
    ]
    deepest = max((cache.level for caches in shared.values() for cache, _ in caches), default=0)
    for level in range(deepest, 0, -1):
        users = {cpu: next((own for cache, own in shared[cpu] if cache.level == level), None) for cpu in cpus}
        levels.append((f"L{level} group", users))
    levels.append(("cluster", _by(root, cpus, "cluster_cpus_list", "cluster_cpus", "")))
    levels.append(("core", _by(root, cpus, "core_cpus_list", "thread_siblings", "")))
    units: list[Unit] = []

    def divide(members: list[int], parent: int, depth: int) -> None:
        for at in range(depth, len(levels)):
            kind, key_of = levels[at]
            parts = _parts(members, key_of)
            if len(parts) < 2 or all(len(part) == 1 for part in parts):
                continue
            for part in parts:
                own = [cache for cache, users in shared[part[0]] if users == frozenset(part) and len(part) > 1]
                units.append(Unit(kind, tuple(sorted(place[cpu] for cpu in part)), parent, tuple(own)))
                divide(part, len(units) - 1, at + 1)
            return

    divide(list(cpus), -1, 0)
    return tuple(units)


def _parts(members: Sequence[int], key_of: dict[int, Any]) -> list[list[int]]:
    """Members by key, each of those without one on its own."""

    def key(cpu: int) -> tuple[bool, Any]:
        found = key_of.get(cpu)
        return found is None, cpu if found is None else min(found) if isinstance(found, frozenset) else found

    return sorted(list(part) for _, part in groupby(sorted(members, key=key), key=key))


def _by(root: Path, cpus: Iterable[int], listed: str, masked: str, number: str) -> dict[int, Any]:
    """What of the topology each CPU shares: the CPUs of it that are stated, else its number."""
    found: dict[int, Any] = {}
    for cpu in cpus:
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        members = cpus_in(contents(folder / listed)) or cpus_of_mask(contents(folder / masked))
        text = contents(folder / number) if number else ""
        if members:
            found[cpu] = members
        elif text.isdigit():
            found[cpu] = int(text)
    kinds = {type(value) for value in found.values()}
    return found if len(kinds) == 1 else {}


def _caches_of(root: Path, cpu: int) -> list[tuple[Cache, frozenset[int]]]:
    """Data and unified caches of a CPU, nearest first, and which CPUs share each."""
    caches = []
    for index in sorted(entries(root / f"sys/devices/system/cpu/cpu{cpu}/cache", "index*")):
        level, size, kind = (contents(index / name) for name in ("level", "size", "type"))
        amount = byte_count(size)
        if kind == "Instruction" or not re.fullmatch("[1-9]", level) or amount is None:
            continue
        line = whole(contents(index / "coherency_line_size"), 64)
        ways = whole(contents(index / "ways_of_associativity"), 0)
        users = (
            cpus_in(contents(index / "shared_cpu_list"))
            or cpus_of_mask(contents(index / "shared_cpu_map"))
            or frozenset([cpu])
        )
        if 0 < line <= amount <= MOST_CACHE and line <= MOST_LINE and not line & (line - 1) and not amount % line:
            caches.append((Cache(int(level), amount, line, _whole_sets(amount // line, ways), len(users)), users))
    return sorted(caches, key=lambda pair: pair[0].level)


def _whole_sets(lines: int, ways: int) -> int:
    """The ways that are stated, or the most below them that make whole sets of the lines."""
    return next((fewer for fewer in range(min(ways, lines), 0, -1) if lines % fewer == 0), 0)


def _processor_name(root: Path) -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", contents(root / "proc/cpuinfo"), re.MULTILINE | re.IGNORECASE)
    name = found[1].strip() if found else ""
    return name if name and name.isprintable() else (platform.machine() if root == Path("/") else "recorded")
