"""Slow caches, directory and banks, written from the docstring of `caches` alone: lists, sets and generators."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

Step = int | tuple[int, int, bool]  # cycles to wait; or from node, to node, whether it is a line


class Level:
    """Sets of one cache, the most recent line last."""

    def __init__(self, cache: Any) -> None:
        lines = cache.size // cache.line
        self.ways = cache.ways or lines
        self.count = lines // self.ways
        self.sets: dict[int, list[int]] = defaultdict(list)

    def keep(self, line: int, place: int) -> tuple[bool, int | None]:
        """Whether it was there; what gave way."""
        own = self.sets[place % self.count]
        there = line in own
        if there:
            own.remove(line)
        own.append(line)
        return there, own.pop(0) if len(own) > self.ways else None

    def drop(self, line: int) -> None:
        for own in self.sets.values():
            if line in own:
                own.remove(line)


class Memory:
    def __init__(self, machine: Any) -> None:
        self.machine, self.place = machine, [core.node for core in machine.cores]
        self.near = [Level(machine.caches[0]) for _ in machine.cores]
        self.line, self.last = machine.caches[0].line, machine.caches[-1].line
        self.l1, self.all = machine.caches[0].latency, machine.memory_latency
        self.banks = [(bank.node, bank.bandwidth) for bank in machine.banks] or [(0, 0.0)]
        self.two = len(machine.caches) == 2
        self.l2 = machine.caches[-1].latency
        by, cores = machine.caches[-1].shared_by, range(len(machine.cores))
        groups = [[core for core in cores if core // by == core0 // by] for core0 in cores]
        self.slices: list[list[tuple[int, Level]]] = []  # of each core
        for core in cores:
            if not self.two:
                self.slices.append([(node, Level(machine.caches[0])) for node, _ in self.banks])
            elif core == groups[core][0]:
                nodes = [self.place[other] for other in groups[core]]
                nodes = nodes if len(set(nodes)) > 1 else nodes[:1]
                self.slices.append([(node, Level(machine.caches[1])) for node in nodes])
            else:
                self.slices.append(self.slices[groups[core][0]])
        self.holders: dict[int, set[int]] = defaultdict(set)
        self.owner: dict[int, int] = {}
        self.dirty: set[int] = set()
        self.free: dict[int, int] = defaultdict(int)
        self.found: Counter[str] = Counter()
        self.sent: Counter[int] = Counter()
        self.dropped = self.written_back = self.now = 0

    def write(self, core: int, line: int) -> None:
        self.dirty.add(line)
        for other in range(len(self.place)):
            if self.two and self.slices[other] is not self.slices[core]:
                for _, level in self.slices[other]:
                    level.drop(line * self.line // self.last)

    def clean(self, line: int) -> None:
        self.written_back += line in self.dirty
        self.dirty.discard(line)

    def hit(self, core: int, line: int, write: bool) -> bool:
        if core not in self.holders[line] or (write and self.owner.get(line) != core):
            return False
        self.near[core].keep(line, line)
        if write and line not in self.dirty:
            self.write(core, line)
        return True

    def request(self, core: int, line: int, write: bool) -> Iterator[Step]:
        mine, number = self.place[core], line * self.line // self.last
        home, level = self.slices[core][number % len(self.slices[core])]
        yield self.l1
        yield mine, home, False
        others, owner = self.holders[line] - {core}, self.owner.get(line)
        held, there = core in self.holders[line], False
        if self.two and not held:
            there, _ = level.keep(number, number // len(self.slices[core]))
        where = "own" if held else "other" if owner is not None else "shared" if there else "memory"
        self.found[where] += 1
        wait = self.l2 - self.l1 if self.two else 0
        if write:
            for other in others:
                self.near[other].drop(line)
                self.dropped += 1
            if where != "other":
                hops = [self.machine.joined.distance(home, self.place[other]) for other in others]
                wait += 2 * self.machine.joined.hop_latency * max(hops, default=0)
            self.holders[line] = set()
        else:
            self.clean(line)
        _, gone = self.near[core].keep(line, line)
        if gone is not None:
            self.holders[gone].discard(core)
            if self.owner.get(gone) == core:
                self.clean(gone)
                del self.owner[gone]
        self.holders[line].add(core)
        if write:
            self.write(core, line)
        self.owner.pop(line, None)
        if write or not others:
            self.owner[line] = core
        yield wait
        if where == "other":
            assert owner is not None
            yield home, self.place[owner], False
            yield self.l1
            home = self.place[owner]
        elif where == "memory":
            bank = number % len(self.banks)
            node, bandwidth = self.banks[bank]
            self.sent[bank] += 1
            yield home, node, False
            start = max(self.now, self.free[bank])
            self.free[bank] = start + (max(1, math.ceil(self.last / bandwidth)) if bandwidth else 1)
            yield start - self.now + self.all - (self.l2 if self.two else self.l1)
            home = node
        yield home, mine, where != "own"
