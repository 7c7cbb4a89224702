"""The job level once more, slowly, from the docstring of `job_steps` alone: lists, sets and dictionaries."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .reference_caches import Level


class Jobs:
    """One machine with its caches, memory and cores."""

    def __init__(self, machine: Any, cycles: float, instructions: float, forward: float, window: int) -> None:
        self.machine, self.cycles, self.instructions = machine, cycles, instructions
        self.forward, self.window = forward, window
        cores = len(machine.cores)
        self.levels = [[Level(cache) for _ in range(-(-cores // cache.shared_by))] for cache in machine.caches]
        self.line = machine.caches[0].line
        bandwidth = sum(bank.bandwidth for bank in machine.banks)
        self.busy = self.line / bandwidth if bandwidth else 0.0
        self.bank = 0.0
        self.dirty: set[int] = set()
        self.may_hold: dict[int, set[int]] = defaultdict(set)
        self.front = [0.0] * cores
        self.retired = [0.0] * cores
        self.slots = [[0.0] * machine.mshrs for _ in range(cores)]
        self.steps: list[list[tuple[float, float]]] = [[] for _ in range(cores)]  # instructions so far, end
        self.pages: list[dict[int, int]] = [{} for _ in range(cores)]  # the last line missed there, oldest page first
        self.issued = [0.0] * cores
        self.updated: dict[tuple[int, int], float] = {}
        self.found = [0] * (len(machine.caches) + 1)
        self.moved = 0

    def memory(self, begin: float) -> float:
        begin = max(begin, self.bank)
        self.bank = begin + self.busy
        self.moved += 1
        return begin

    def look(self, core: int, line: int, begin: float, changes: bool) -> int:
        caches = self.machine.caches
        level = len(caches)
        for place, cache in enumerate(caches):
            number = line * self.line // cache.line
            there, gone = self.levels[place][core // cache.shared_by].keep(number, number)
            if there:
                level = place
                break
            if place == len(caches) - 1 and gone in self.dirty:
                self.dirty.discard(gone)
                self.memory(begin)
        self.found[level] += 1
        if changes:
            self.dirty.add(line * self.line // caches[-1].line)
            for other in self.may_hold[line] - {core}:
                for place, cache in enumerate(caches):
                    if other // cache.shared_by != core // cache.shared_by:
                        self.levels[place][other // cache.shared_by].drop(line * self.line // cache.line)
            self.may_hold[line] = set()
        self.may_hold[line].add(core)
        return level

    def fetch(self, core: int, line: int, begin: float, changes: bool) -> float:
        level = self.look(core, line, begin, changes)
        if level == 0:
            return begin + self.machine.caches[0].latency
        pages, page = self.pages[core], line * self.line // 4096
        near = page in pages and abs(pages[page] - line) <= 20
        pages.pop(page, None)
        pages[page] = line
        if len(pages) > 32:
            del pages[next(iter(pages))]
        if near:
            if level == len(self.machine.caches):
                begin = self.memory(begin) + self.busy
            return begin + self.machine.caches[0].latency
        slot = self.slots[core].index(min(self.slots[core]))
        begin = max(begin, self.slots[core][slot])
        if level < len(self.machine.caches):
            done = begin + self.machine.caches[level].latency
        else:
            done = self.memory(begin) + self.machine.memory_latency
        self.slots[core][slot] = done
        return done

    def job(self, core: int, streamed: range, pins: list[tuple[int, int, int, int, str]]) -> None:
        """`streamed`: bytes. `pins`: array, record, first byte, bytes, how."""
        inputs = self.front[core]
        for byte in streamed:
            if byte % self.line == 0 and self.look(core, byte // self.line, inputs, False) == len(self.machine.caches):
                inputs = self.memory(inputs) + self.busy
        for array, record, first, size, how in pins:
            self.issued[core] += self.instructions
            gone = [end for count, end in self.steps[core] if self.issued[core] - count > self.window]
            begin = max([self.front[core], *gone])
            self.front[core] = begin + self.cycles
            done = begin
            for line in range(first // self.line, (first + size - 1) // self.line + 1):
                done = max(done, self.fetch(core, line, begin, how != "read"))
            if how == "read":
                inputs = max(inputs, done)
            elif how == "write":
                done = begin
            else:
                before = self.updated.get((array, record), float("-inf"))
                done = self.updated[array, record] = max(done, inputs, before + self.forward)
            self.retired[core] = max(self.retired[core] + self.cycles, done)
            self.steps[core].append((self.issued[core], self.retired[core]))
        self.retired[core] = max(self.retired[core], inputs)

    def sweep(self, waves: list[list[list[Any]]]) -> float:
        """Jobs by wave and core."""
        start = max(self.retired)
        for shares in waves:
            begin = max(self.retired)
            self.front = [begin] * len(shares)
            self.retired = [begin] * len(shares)
            left = [list(share) for share in shares]
            while any(left):
                core = min((core for core in range(len(left)) if left[core]), key=lambda core: self.front[core])
                self.job(core, *left[core].pop(0))
        return max(self.retired) - start
