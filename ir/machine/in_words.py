"""A machine as a short text: its tree, caches, memory and network. Equal branches are printed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tracecut.support.memory_amounts import size

from .machine import Machine
from .parts import Cache
from .toml_text import ranges_of

MOST_LINES = 24  # of the tree
KINDS = {
    "mesh": "mesh of {} routers, messages go along x first",
    "torus": "torus of {} routers, messages go along x first",
    "tree": "tree with fan-outs {}",
    "full": "a link between every two of {} nodes",
    "bus": "one bus for {} nodes",
}


def in_words(machine: Machine) -> str:
    """A description of a machine on one screen. O(cores + units)."""
    lines = [machine.name, *_tree(machine)]
    for cache in machine.caches:
        lines.append(f"  L{cache.level} {_cache(cache)}")
    lines.append(f"  memory {_memory(machine)}")
    network = machine.network
    if network is not None:
        sides = " × ".join(map(str, network.shape))
        lines.append(f"  network {KINDS[network.kind].format(sides)}")
        speed = (
            f"{network.bandwidth:g} bytes per cycle, {network.hop_latency} cycles per hop, flits of {network.flit} "
            f"bytes"
        )
        lines.append(f"          {speed}")
        if network.distances:
            lines.append(f"          distances {_distances(network.distances)}")
    if not machine.clock:
        return "\n".join([*lines, *(f"  note    {note}" for note in machine.notes)])
    core = [f"{machine.clock / 1e9:g} GHz"]
    core += [f"{machine.issue_width} instruction{'s' * (machine.issue_width > 1)} per cycle"]
    core += [f"{machine.mshrs} miss{'es' * (machine.mshrs > 1)} under way"]
    lines.append(f"  core    {', '.join(core)}")
    lines += [f"  note    {note}" for note in machine.notes]
    return "\n".join(lines)


def _tree(machine: Machine) -> list[str]:
    counts = Counter(core.speed for core in machine.cores)
    speeds = sorted(counts, reverse=True)
    kinds = []
    for speed in speeds:
        count = counts[speed]
        kinds.append(f"{count} core{'s' * (count > 1)}" + (f" of speed {speed:g}" if len(speeds) > 1 else ""))
    lines = [f"  {', '.join(kinds)}"]
    found = list(_branches(machine, _shapes(machine), -1, 2))
    if len(found) > MOST_LINES:
        found = [*found[:MOST_LINES], f"    … {len(found) - MOST_LINES} more lines; --json has all"]
    return lines + found


def _branches(machine: Machine, shapes: list[int], parent: int, depth: int) -> Iterator[str]:
    """Lines of the children of a unit; neighbours that look the same are one line."""
    children = machine.children[parent]
    at = 0
    while at < len(children):
        end = at
        while end < len(children) and shapes[children[end]] == shapes[children[at]]:
            end += 1
        unit = machine.units[children[at]]
        cores = [core for child in children[at:end] for core in machine.units[child].cores]
        times = f"{end - at} × " if end - at > 1 else ""
        each = " each" if end - at > 1 else ""
        shared = "".join(f", L{cache.level} {size(cache.size)} shared" for cache in unit.caches)
        count = f"{len(unit.cores)} core{'s' * (len(unit.cores) > 1)}{each}"
        yield f"{'  ' * depth}{times}{unit.kind}: {count} ({ranges_of(sorted(cores))}){shared}"
        if end - at == 1:
            yield from _branches(machine, shapes, children[at], depth + 1)
        else:
            yield from _inner(machine, shapes, children[at], depth)
        at = end


def _inner(machine: Machine, shapes: list[int], place: int, depth: int) -> Iterator[str]:
    """What lies in each of several equal units: the lines of the first, without its core numbers."""
    for line in _branches(machine, shapes, place, depth + 1):
        yield line.split(" (")[0] + (line[line.rindex(")") + 1 :] if ")" in line else "")


def _shapes(machine: Machine) -> list[int]:
    """A number for each unit; equal ones look the same, with all that is in them."""
    known: dict[object, int] = {}
    found = [0] * len(machine.units)
    for place in reversed(range(len(machine.units))):  # children before parents
        unit = machine.units[place]
        speeds = tuple(sorted(machine.cores[core].speed for core in unit.cores))
        inner = tuple(found[child] for child in machine.children[place])
        found[place] = known.setdefault((unit.kind, speeds, unit.caches, inner), len(known))
    return found


def _cache(cache: Cache) -> str:
    ways = f"{cache.ways}-way" if cache.ways else "fully associative"
    shared = f", shared by {cache.shared_by}" if cache.shared_by > 1 else ""
    latency = f", {cache.latency} cycles" if cache.latency else ""
    return f"{size(cache.size)}, {ways}, lines of {cache.line} bytes{shared}{latency}"


def _memory(machine: Machine) -> str:
    latency = f", {machine.memory_latency} cycles" if machine.memory_latency else ""
    if len(machine.banks) < 2:
        return f"{size(machine.memory)}{latency}"
    sizes = {bank.size for bank in machine.banks}
    each = f" of {size(next(iter(sizes)))}" if len(sizes) == 1 else f" of {size(min(sizes))} to {size(max(sizes))}"
    return f"{size(machine.memory)} in {len(machine.banks)} banks{each}{latency}"


def _distances(distances: tuple[object, ...]) -> str:
    if isinstance(distances[0], tuple):
        hops = [hop for row in distances if isinstance(row, tuple) for hop in row if hop]
        return f"from {min(hops)} to {max(hops)}"
    return ", ".join(map(str, distances)) + " from the root"
