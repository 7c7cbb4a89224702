"""Assigns a CPU to each thread of a running program. Without NumPy, since it runs at program start.

`place` puts any clusters on any machine; here the clusters are the shares of a few threads, the machine is the one that
the program runs on, and the result is needed within about a millisecond.

Threads that fit get the physical cores of one node, that of the program's own thread, whose data most likely lie there;
else the fewest nodes share them evenly. Threads that run neighbouring shares get neighbouring CPUs. If the schedule
states how many values threads exchange, pairs of threads then swap places while that brings communicating threads
closer together (as `swaps.py` does for any clusters). Thread 0 is the main thread of the program and keeps its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from tracecut.ir.machine.cpu_places import CpuPlaces, cpu_places
from tracecut.support.errors import ArgumentError

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

SAME_CACHE, SAME_NODE = 1, 2  # distances between two cores; nodes are further apart than that
ROUNDS = 8  # passes over all pairs, at most
Talk = Mapping[tuple[int, int], float]  # two threads, the smaller number first → values that they exchange


@dataclass(frozen=True)
class ThreadPlacement:
    """Thread → CPU.

    Attributes:
        cpus, nodes: of each thread; thread 0 is the program's own.
        remark: what was decided, and why where nothing was.
    """

    cpus: tuple[int, ...]
    nodes: tuple[int, ...]
    remark: str


def place_threads(
    places: CpuPlaces, threads: int, talk: Talk | None = None, here: int | None = None
) -> ThreadPlacement:
    """The CPU of each thread; no more threads than there are CPUs.

    Args:
        places: the CPUs that may be used, at least one.
        talk: the values that threads exchange; None: each exchanges values with the next.
        here: the CPU that the program's own thread runs on at present.

    Pairs are only exchanged while that is predicted to help, and the order of the CPUs' numbers is kept where the same
    CPUs are predicted to do as well in it. O(cpus log cpus + threads³) in the worst case.
    """
    threads = min(threads, len(places.cpus))
    plain = tuple(range(threads))
    said = f" ({places.note})" if places.note else ""
    if threads < 2:
        return _placement(places, plain, "a single thread runs where the system puts it")
    slots = _slots(places, threads, here)
    near = _distances(places, slots)
    if len({near[a][b] for a in range(threads) for b in range(a)}) == 1:  # all distances are equal
        same = set(slots) == set(plain)
        return _placement(places, plain if same else tuple(slots), _where(places, slots) + _alike(places, slots) + said)
    told = dict.fromkeys(pairwise(range(threads)), 1.0) if talk is None else talk
    tried = [_exchanged(near, told, start) for start in (list(range(threads)), _grown(near, told))]
    order = min(tried, key=lambda at: _cost(near, told, at))
    if set(slots) == set(plain):
        back = {slot: place for place, slot in enumerate(slots)}
        natural = [back[slot] for slot in plain]
        order = natural if _cost(near, told, natural) <= _cost(near, told, order) else order
    chosen = tuple(slots[place] for place in order)
    return _placement(places, chosen, _where(places, chosen) + said)


def threads_here(
    allowed: Sequence[int], threads: int, talk: Talk | None = None, here: int | None = None, root: Path = Path("/")
) -> ThreadPlacement:
    """The CPU of each thread on this machine, of those in the affinity mask, by `place_threads`.

    A placement is a matter of speed alone: whatever goes wrong, the first CPUs of the mask are taken, and it is said.
    """
    try:
        found = place_threads(cpu_places(allowed, root), threads, talk, here)
        check_cpus(found.cpus, allowed)
    except Exception as error:
        why = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
        first = tuple(sorted(allowed)[:threads])
        return ThreadPlacement(first, (0,) * len(first), f"the first CPUs that may be used, as no placement is: {why}")
    return found


def joined_talk(stored: Iterable[Mapping[str, Any]], threads: int) -> Talk | None:
    """The values that `threads` threads exchange in several scopes, from the stored pairs; None if none are stored.

    `parts`: how many shares it is about, `pairs`: of two of them, with the values that they exchange. Threads take
    consecutive parts. O(pairs).
    """
    found: dict[tuple[int, int], float] = {}
    for item in stored:
        parts = int(item["parts"])
        taking = min(threads, parts)
        for a, b, values in item["pairs"]:
            first, second = (((part + 1) * taking - 1) // parts for part in (a, b))
            if first != second:
                pair = min(first, second), max(first, second)
                found[pair] = found.get(pair, 0.0) + values
    return found or None


def check_cpus(cpus: Sequence[int], allowed: Sequence[int]) -> None:
    """Raises ArgumentError unless these are different CPUs, at least one, and all of them allowed."""
    if not cpus or len(set(cpus)) < len(cpus):
        raise ArgumentError(f"CPUs {list(cpus)}: one or more different ones were expected")
    if not set(cpus) <= set(allowed):
        raise ArgumentError(f"CPU {min(set(cpus) - set(allowed))} is not one that this process may use")


def _placement(places: CpuPlaces, chosen: Sequence[int], remark: str) -> ThreadPlacement:
    cpus, nodes = (tuple(column[slot] for slot in chosen) for column in (places.cpus, places.nodes))
    return ThreadPlacement(cpus, nodes, remark)


def _slots(places: CpuPlaces, threads: int, here: int | None) -> list[int]:
    """Indices of the CPUs to be used, neighbours next to each other, those of the first thread's node first."""
    start = places.nodes[places.cpus.index(here) if here in places.cpus else 0]
    order = sorted(set(places.nodes), key=lambda node: (places.distance(start, node), node))
    ranked: dict[int, list[tuple[int, int]]] = {node: [] for node in order}  # (siblings before it, index)
    seen: dict[tuple[int, int], int] = {}
    for slot, key in enumerate(zip(places.nodes, places.cores, strict=True)):
        ranked[key[0]].append((seen.get(key, 0), slot))
        seen[key] = seen.get(key, 0) + 1
    for most in range(max(seen.values())):  # CPUs of a core, less one
        rooms = {node: sum(rank <= most for rank, _ in ranked[node]) for node in order}
        if sum(rooms.values()) >= threads:
            break
    shares = _shares(order, rooms, threads)
    found: list[int] = []
    for node in order:
        best = sorted(ranked[node], key=lambda item: (item[0], places.caches[item[1]], places.cores[item[1]], item[1]))
        chosen = [slot for _, slot in best[: shares[node]]]
        found += sorted(chosen, key=lambda slot: (places.caches[slot], places.cores[slot], slot))
    return found


def _shares(order: Sequence[int], rooms: Mapping[int, int], threads: int) -> dict[int, int]:
    """Threads of each node: all on the nearest one with room for them, else even ones on the fewest nodes."""
    shares = dict.fromkeys(order, 0)
    alone = next((node for node in order if rooms[node] >= threads), None)
    if alone is not None:
        return {**shares, alone: threads}
    used, room = 0, 0
    while room < threads:
        room += rooms[order[used]]
        used += 1
    left = threads
    for place, node in enumerate(sorted(order[:used], key=lambda node: rooms[node])):  # what does not fit goes on
        shares[node] = min(rooms[node], left // (used - place) + (left % (used - place) > 0))
        left -= shares[node]
    return shares


def _distances(places: CpuPlaces, slots: Sequence[int]) -> list[list[int]]:
    """Between the CPUs that are used."""
    keys = [(places.nodes[slot], places.caches[slot], places.cores[slot]) for slot in slots]

    def apart(a: tuple[int, int, int], b: tuple[int, int, int]) -> int:
        if a[0] != b[0]:
            return SAME_NODE + places.distance(a[0], b[0])
        return 0 if a[2] == b[2] else SAME_CACHE if a[1] == b[1] else SAME_NODE

    return [[apart(a, b) for b in keys] for a in keys]


def _cost(near: Sequence[Sequence[int]], talk: Talk, at: Sequence[int]) -> float:
    return sum(values * near[at[a]][at[b]] for (a, b), values in talk.items())


def _partners(count: int, talk: Talk) -> list[dict[int, float]]:
    """Of each thread, what it exchanges with which other ones."""
    others: list[dict[int, float]] = [{} for _ in range(count)]
    for (a, b), values in talk.items():
        others[a][b] = others[b][a] = values
    return others


def _grown(near: Sequence[Sequence[int]], talk: Talk) -> list[int]:
    """Place of each thread: places are filled one after the other, with who talks most to those that are nearest."""
    count = len(near)
    others = _partners(count, talk)
    at = [0] * count
    placed, left = [0], list(range(1, count))
    for place in range(1, count):
        close = {other: 1.0 / (1 + near[place][at[other]]) for other in placed}
        drawn = [sum(values * close.get(other, 0.0) for other, values in others[thread].items()) for thread in left]
        chosen = left.pop(drawn.index(max(drawn)))
        at[chosen] = place
        placed.append(chosen)
    return at


def _exchanged(near: Sequence[Sequence[int]], talk: Talk, start: list[int]) -> list[int]:
    """Place of each thread, after exchanges of pairs that bring talkers closer. Thread 0 keeps its place."""
    count, at = len(near), start
    others = _partners(count, talk)
    # cost[t][p]: of thread t at place p, with all others where they are.
    cost = [
        [sum(values * row[at[other]] for other, values in others[thread].items()) for row in near]
        for thread in range(count)
    ]
    for _ in range(ROUNDS):
        before = list(at)
        for a in range(1, count):
            for b in range(a + 1, count):
                p, q = at[a], at[b]
                gain = cost[a][p] - cost[a][q] + cost[b][q] - cost[b][p]
                # Each of a pair counts the other one where it is not any more: at their distance, twice.
                gain -= 2 * others[a].get(b, 0.0) * near[p][q]
                if gain > 1e-9 * (cost[a][p] + cost[b][q]):
                    at[a], at[b] = q, p
                    for moved, old, new in ((a, p, q), (b, q, p)):
                        for other, values in others[moved].items():
                            row = cost[other]
                            for place in range(count):
                                row[place] += values * (near[place][new] - near[place][old])
        if at == before:
            break
    return at


def _where(places: CpuPlaces, chosen: Sequence[int]) -> str:
    """`CPUs 0-3 of node 0 and 8-11 of node 1`."""
    parts = []
    for node in dict.fromkeys(places.nodes[slot] for slot in chosen):
        cpus = sorted(places.cpus[slot] for slot in chosen if places.nodes[slot] == node)
        runs = [[cpu for _, cpu in run] for _, run in groupby(enumerate(cpus), key=lambda pair: pair[1] - pair[0])]
        words = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
        parts.append(f"{words} of node {node}")
    return "CPUs " + " and ".join(parts)


def _alike(places: CpuPlaces, chosen: Sequence[int]) -> str:
    """Why it does not matter which thread is where."""
    if len({places.nodes[slot] for slot in chosen}) > 1:
        return ", all as far from each other"
    shared = len({places.caches[slot] for slot in chosen}) == 1
    what = "share their last cache" if shared else "share no cache"
    return f": they are on one node and {what}, so placement cannot matter"
