"""Where CPUs lie: which node, which last cache, which physical core. Loads no NumPy: a starting program asks for it.

`detect.py` describes a machine with all that is stated of it; this reads the few files that tell the CPUs of one
process apart. What is missing or contradicts itself makes CPUs look alike: nothing is then made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .sysfs import contents, cpus_in, cpus_of_mask, entries, number_of

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from .machine import Machine

LOCAL, DISTANT = 10, 20  # distances within a node and, where none are stated, to another one
MOST_INDICES = 16  # caches of a CPU


@dataclass(frozen=True)
class CpuPlaces:
    """CPUs and the groups that they are in.

    Attributes:
        cpus: their numbers, ascending.
        nodes, caches, cores: of each CPU its node, the group that shares its last cache, and its physical core; equal
            numbers mean the same group, of caches and cores within one node.
        distances: (node, node) → distance beyond the local one; other pairs are `DISTANT − LOCAL` apart.
        note: what could not be made out.
    """

    cpus: tuple[int, ...]
    nodes: tuple[int, ...]
    caches: tuple[int, ...]
    cores: tuple[int, ...]
    distances: dict[tuple[int, int], int] = field(default_factory=dict)
    note: str = ""

    def distance(self, a: int, b: int) -> int:
        """Between two nodes, 0 for a node and itself."""
        return 0 if a == b else self.distances.get((a, b), DISTANT - LOCAL)


def cpu_places(cpus: Sequence[int], root: Path = Path("/")) -> CpuPlaces:
    """Where the CPUs of a process lie, from sysfs under `root`. Raises nothing on any tree.

    A few files for each group of them: some 0.1 ms on a small machine, milliseconds on 64 cores.
    """
    known = tuple(sorted(set(cpus)))
    nodes, distances, note = _nodes(known, root / "sys/devices/system/node")
    folder = root / "sys/devices/system/cpu"
    caches = _groups(known, lambda cpu: _sharers(folder / f"cpu{cpu}/cache"))
    cores = _groups(known, lambda cpu: _siblings(folder / f"cpu{cpu}/topology"), alone=True)
    return CpuPlaces(known, nodes, caches, cores, distances, note)


def places_of(machine: Machine) -> CpuPlaces:
    """Where the cores of a machine lie, numbered as in `machine.cores`: for machines that are not this one."""
    count = len(machine.cores)
    caches, cores = [-1] * count, list(range(count))
    last = max((cache.level for unit in machine.units for cache in unit.caches), default=0)
    for unit in machine.units:
        shares = any(cache.level == last for cache in unit.caches)
        for core in unit.cores:
            caches[core] = unit.cores[0] if shares else caches[core]
            cores[core] = unit.cores[0] if unit.kind == "core" else cores[core]
    nodes = tuple(core.node for core in machine.cores)
    first = {node: place for place, node in reversed(list(enumerate(nodes)))}
    apart = {(a, b): machine.joined.distance(a, b) for a in first for b in first if a != b}
    return CpuPlaces(tuple(range(count)), nodes, tuple(caches), tuple(cores), apart)


def _nodes(cpus: Sequence[int], folder: Path) -> tuple[tuple[int, ...], dict[tuple[int, int], int], str]:
    """Node of each CPU, the distances of the nodes, and what is wrong with them; one node where anything is."""
    found = sorted(number for entry in entries(folder, "node*") if (number := number_of(entry.name)) >= 0)
    alike = (0,) * len(cpus), dict[tuple[int, int], int]()
    if len(found) < 2:
        return *alike, ""
    node_of: dict[int, int] = {}
    for number in found:
        members = cpus_in(contents(folder / f"node{number}/cpulist"))
        members = members or cpus_of_mask(contents(folder / f"node{number}/cpumap"))
        if members & node_of.keys():
            return *alike, "CPUs are in several nodes at once"
        node_of |= dict.fromkeys(members, number)
    if not node_of.keys() >= set(cpus):
        return *alike, "CPUs are in no node"
    used = sorted({node_of[cpu] for cpu in cpus})
    return tuple(node_of[cpu] for cpu in cpus), _distances(folder, found, used), ""


def _distances(folder: Path, found: Sequence[int], used: Sequence[int]) -> dict[tuple[int, int], int]:
    """Beyond the local distance, of the nodes in use; empty for a table with a hole or a contradiction."""
    online = sorted(cpus_in(contents(folder / "online"))) or list(found)
    table: dict[tuple[int, int], int] = {}
    for number in used:
        words = contents(folder / f"node{number}/distance").split()
        if len(words) != len(online) or not all(word.isdigit() and len(word) < 4 for word in words):
            return {}
        row = dict(zip(online, map(int, words), strict=True))
        for other in used:
            far = row.get(other, 0) - LOCAL
            if (far <= 0) != (other == number) or far < 0:
                return {}
            if other != number:
                table[number, other] = far
    return table


def _groups(
    cpus: Sequence[int], members_of: Callable[[int], frozenset[int]], *, alone: bool = False
) -> tuple[int, ...]:
    """Of each CPU the first one of its group. `alone`: whether one that nothing is said of is a group, or all such."""
    group: dict[int, int] = {}
    for cpu in cpus:
        if cpu not in group:
            members = members_of(cpu)
            for member in (members & set(cpus)) - group.keys() if cpu in members else ():
                group[member] = cpu
            group.setdefault(cpu, cpu if alone else -1)
    return tuple(group[cpu] for cpu in cpus)


def _sharers(folder: Path) -> frozenset[int]:
    """CPUs that share the last cache of one."""
    last: tuple[int, Path] | None = None
    for index in range(MOST_INDICES):
        path = folder / f"index{index}"
        level = contents(path / "level")
        if not level:
            break
        if level.isdigit() and len(level) < 3 and (last is None or int(level) > last[0]):
            last = int(level), path
    if last is None:
        return frozenset()
    return cpus_in(contents(last[1] / "shared_cpu_list")) or cpus_of_mask(contents(last[1] / "shared_cpu_map"))


def _siblings(folder: Path) -> frozenset[int]:
    """CPUs of the same physical core."""
    for name in ("core_cpus_list", "thread_siblings_list"):
        found = cpus_in(contents(folder / name))
        if found:
            return found
    return cpus_of_mask(contents(folder / "thread_siblings"))
