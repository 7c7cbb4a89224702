"""What a machine must be to be one: types and domains of its fields, and that they fit together.

Every message begins with the key of what is wrong (`units[2].parent`), so that a file's reader can tell its line.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from tracecut.support.errors import ArgumentError

from . import network
from .network import MOST_NODES, Network
from .parts import Bank, Cache, Core, Unit

MOST_CORES = 1 << 17
MOST_BYTES = 1 << 62
MOST_CYCLES = 1 << 30
MOST_WIDTH = 1 << 16  # instructions begun in a cycle; misses under way
DEEPEST = 64  # units within each other
# Of each record: field → the least and the largest whole number, or what else it is.
_CORE = {"cpu": (0, 2**31 - 1), "node": (0, MOST_NODES - 1), "speed": "positive"}
_BANK = {"node": (0, MOST_NODES - 1), "size": (1, MOST_BYTES), "bandwidth": "bandwidth"}
_CACHE = {
    "level": (1, 9),
    "line": (1, 1 << 20),
    "size": (1, MOST_BYTES),
    "ways": (0, MOST_BYTES),
    "shared_by": (1, MOST_BYTES),
    "latency": (0, MOST_CYCLES),
}
_MACHINE = {
    "name": "word",
    "memory": (1, MOST_BYTES),
    "memory_latency": (0, MOST_CYCLES),
    "clock": "number",
    "issue_width": (1, MOST_WIDTH),
    "mshrs": (1, MOST_WIDTH),
}
SLOWEST, FASTEST = 1e-9, 1e9  # speeds of cores
_BANDWIDTH = f"0 for unknown or from {network.SLOWEST:g} to {network.FASTEST:g}"
_WORDS = {
    "word": "a text without line breaks",
    "positive": "a positive number",
    "number": "a number of at least 0",
    "bandwidth": _BANDWIDTH,
}


def check(machine: Any) -> None:
    """Raises ArgumentError, which begins with the key of what is wrong. O(size)."""
    _check_fields("", machine, _MACHINE)
    for name, kind in (("cores", Core), ("caches", Cache), ("banks", Bank), ("units", Unit), ("notes", str)):
        _check_sequence(name, getattr(machine, name), kind)
    if not 0 < len(machine.cores) <= MOST_CORES:
        raise ArgumentError(f"cores: {len(machine.cores)} given, a machine has from 1 to {MOST_CORES}")
    for place, note in enumerate(machine.notes):
        _word(f"notes[{place}]", note)
    _check_caches("", machine.caches)
    slowest = max((cache.latency for cache in machine.caches), default=0)
    if machine.memory_latency and machine.memory_latency < slowest:
        raise ArgumentError(f"memory_latency = {machine.memory_latency}: a cache answers in {slowest} cycles")
    if machine.network is not None and not isinstance(machine.network, Network):
        raise ArgumentError(f"network is a {type(machine.network).__name__}, a Network was expected")
    for place, core in enumerate(machine.cores):
        if not _is_plain(core):
            _check_fields(f"cores[{place}].", core, _CORE)
    _check_cpus(machine.cores)
    nodes = machine.network.nodes if machine.network else 1 + max(core.node for core in machine.cores)
    for place, bank in enumerate(machine.banks):
        _check_fields(f"banks[{place}].", bank, _BANK)
    for name in ("cores", "banks"):
        for place, each in enumerate(getattr(machine, name)):
            if each.node >= nodes:
                raise ArgumentError(f"{name}[{place}].node = {each.node}, the network has {nodes} nodes")
    _check_tree(machine.units, len(machine.cores))


def _check_cpus(cores: Sequence[Core]) -> None:
    place_of: dict[int, int] = {}
    for place, core in enumerate(cores):
        before = place_of.setdefault(core.cpu, place)
        if before != place:
            raise ArgumentError(
                f"cores[{place}].cpu = {core.cpu}: cores[{before}] has that number, too, another one was expected"
            )


def check_speed(key: str, value: Any) -> None:
    """Raises ArgumentError, which begins with the key, unless the value is a speed of a core."""
    _number(key, value, "positive")


def _is_plain(core: Core) -> bool:
    """Whether a core is good, of speed 1: what most of a large machine are, found out fast."""
    plain = type(core.cpu) is type(core.node) is int and type(core.speed) is float and core.speed == 1.0
    return plain and 0 <= core.cpu < 2**31 and 0 <= core.node < MOST_NODES


def _check_sequence(name: str, found: Any, kind: type) -> None:
    if not isinstance(found, tuple):
        raise ArgumentError(f"{name} is a {type(found).__name__}, a tuple was expected")
    for place, each in enumerate(found):
        if not isinstance(each, kind):
            raise ArgumentError(f"{name}[{place}] is a {type(each).__name__}, a {kind.__name__} was expected")


def _check_caches(before: str, caches: Sequence[Cache]) -> None:
    _check_sequence(f"{before}caches", caches, Cache)
    for place, cache in enumerate(caches):
        name = f"{before}caches[{place}]."
        _check_fields(name, cache, _CACHE)
        if cache.size < cache.line:
            raise ArgumentError(f"{name}size = {cache.size}, less than a line of {cache.line} bytes")
        if cache.line & (cache.line - 1):
            raise ArgumentError(f"{name}line = {cache.line}, a power of two was expected")
        if cache.size % (cache.line * max(1, cache.ways)):
            ways = f" and {cache.ways} ways" if cache.ways else ""
            raise ArgumentError(
                f"{name}size = {cache.size}: in lines of {cache.line} bytes{ways} that is no whole "
                "number of sets, which was expected"
            )
        before_it = max((other.latency for other in caches[:place]), default=0)
        if cache.latency and cache.latency < before_it:
            raise ArgumentError(f"{name}latency = {cache.latency}: a nearer cache answers in {before_it} cycles")
        if place and cache.level < caches[place - 1].level:
            raise ArgumentError(f"{name}level = {cache.level}: nearest caches first was expected")


def _check_fields(before: str, record: Any, rules: Mapping[str, Any]) -> None:
    for name, rule in rules.items():
        key, value = f"{before}{name}", getattr(record, name)
        if rule == "word":
            _word(key, value)
        elif isinstance(rule, tuple):
            _whole(key, value, *rule)
        else:
            _number(key, value, rule)


def _word(key: str, value: Any) -> None:
    if not isinstance(value, str) or not value.isprintable():
        raise ArgumentError(f"{key} = {value!r}, {_WORDS['word']} was expected")


def _whole(key: str, value: Any, low: int, high: int) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low:
        raise ArgumentError(f"{key} = {value!r}, a whole number of at least {low} was expected")
    if number > high:
        raise ArgumentError(f"{key} = {value!r}, at most {high} was expected")


def _number(key: str, value: Any, rule: str) -> None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    good = 0 < number < float("inf") if rule == "positive" else 0 <= number < float("inf")
    if isinstance(value, str | bool) or not good:
        raise ArgumentError(f"{key} = {value!r}, {_WORDS[rule]} was expected")
    if rule == "bandwidth" and number and not network.SLOWEST <= number <= network.FASTEST:
        raise ArgumentError(f"{key} = {value!r}, {_BANDWIDTH} was expected")
    if rule == "positive" and not SLOWEST <= number <= FASTEST:
        raise ArgumentError(f"{key} = {value!r}, from {SLOWEST:g} to {FASTEST:g} was expected")


def _check_tree(units: Sequence[Unit], cores: int) -> None:
    seen: dict[int, set[int]] = {}  # of each parent, cores of the children so far
    depth: list[int] = []
    sets: list[set[int]] = []
    for place, unit in enumerate(units):
        name = f"units[{place}]"
        _word(f"{name}.kind", unit.kind)
        if type(unit.parent) is not int or not -1 <= unit.parent < place:
            raise ArgumentError(f"{name}.parent = {unit.parent!r}: -1 or a unit before it was expected")
        depth.append(1 + depth[unit.parent] if unit.parent >= 0 else 1)
        if depth[-1] > DEEPEST:
            raise ArgumentError(f"{name}.parent = {unit.parent}: it lies in {DEEPEST} others, at most as many fit")
        if not isinstance(unit.cores, tuple) or not all(type(core) is int for core in unit.cores):
            raise ArgumentError(f"{name}.cores: a tuple of whole numbers was expected")
        own, others = set(unit.cores), seen.setdefault(unit.parent, set())
        around = range(cores) if unit.parent < 0 else sets[unit.parent]
        outside = [core for core in unit.cores if core not in around]
        if not own or outside or list(unit.cores) != sorted(own):
            given = f"{outside[0]} given" if outside else "other than rising" if own else "none given"
            whose = f"units[{unit.parent}]" if unit.parent >= 0 else f"the machine, from 0 to {cores - 1},"
            raise ArgumentError(f"{name}.cores: {given}, rising numbers of cores of {whose} were expected")
        if not own.isdisjoint(others):
            raise ArgumentError(f"{name}.cores: core {min(own & others)} lies in a unit before it, too")
        others |= own
        sets.append(own)
        _check_caches(f"{name}.", unit.caches)
