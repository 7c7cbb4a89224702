"""The objects of a layout scope on a card, and which side has the newest bytes of each."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tracecut.codegen.devices.device import Device
from tracecut.codegen.gpu.index_copies import Bytes

from .host_layout import HostLayout

NEAR = 4096  # bytes between two objects, such that a pointer beside one may lie in the other


@dataclass
class Counts:
    """What was copied to the card and back, and what ran there: bytes, nanoseconds, launches; nanoseconds by loop."""

    sent: int = 0
    fetched: int = 0
    copying: int = 0
    launches: int = 0
    running: int = 0
    loops: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """Where an object lies on the card: `first` bytes behind the begin of an array of `size`, which has others too.

    `key`: the numbers of all objects of the array.
    """

    key: tuple[int, ...]
    first: int
    size: int


def neighbours(places: Mapping[int, tuple[int, int]], groups: Iterable[Collection[int]]) -> dict[int, Piece]:
    """Objects that have to lie on the card as they lie in the program, by number.

    A pointer that leads to one of several objects may lie behind its end, or in front of it: where another one begins
    or ends. It means the same on the card if they lie there side by side, too.

    Args:
        places: number of an object → its address and its bytes. groups: objects that one pointer leads to.
    """
    found: dict[int, Piece] = {}
    for members in _joined(groups):
        ordered = sorted((place for place in members), key=lambda number: places[number][0])
        runs: list[list[int]] = []
        for number in ordered:
            base, _ = places[number]
            if runs and base - sum(places[runs[-1][-1]]) <= NEAR:
                runs[-1].append(number)
            else:
                runs.append([number])
        for run in runs:
            begin = places[run[0]][0]
            size = sum(places[run[-1]]) - begin
            if len(run) > 1:
                found |= {number: Piece(tuple(run), places[number][0] - begin, size) for number in run}
    return found


def _joined(groups: Iterable[Collection[int]]) -> list[set[int]]:
    """Unions of the groups that have a member in common."""
    found: list[set[int]] = []
    for group in groups:
        apart = [other for other in found if not other & set(group)]
        found = [*apart, set(group).union(*(other for other in found if other not in apart))]
    return found


@dataclass(eq=False)
class Mirror:
    """Objects in the program's memory, in its order, and on the card, in the order of a schedule.

    Attributes:
        layout: how data lie on the card. data: the program's memory of each object of its guard.
        pieces: of `neighbours`; other objects have arrays of their own.
        arrays: the arrays on the card, by the numbers of their objects.
        fresh: objects whose bytes on the card are what the program has, or newer. ahead: those that only the card has.
    """

    device: Device
    layout: HostLayout
    data: Sequence[Bytes]
    counts: Counts
    pieces: Mapping[int, Piece] = field(default_factory=dict)
    arrays: dict[tuple[int, ...], Any] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)
    ahead: set[int] = field(default_factory=set)

    def piece(self, number: int) -> Piece:
        return self.pieces.get(number) or Piece((number,), 0, self.data[number].size)

    def take_over(self, before: Mirror) -> None:
        """Use the arrays of an earlier entry, where they are as large."""
        sizes = {self.piece(number).key: self.piece(number).size for number in range(len(self.data))}
        known = {before.piece(number).key: before.piece(number).size for number in range(len(before.data))}
        self.arrays = {key: array for key, array in before.arrays.items() if sizes.get(key) == known[key]}

    def place(self, number: int) -> tuple[Any, int]:
        """The array that an object lies in on the card, and where, with what the program has.

        O(bytes) unless it is there. Raises KernelError.
        """
        piece = self.piece(number)
        if number not in self.fresh:
            start = time.perf_counter_ns()
            data = self.layout.moved(number, self.data[number])
            if piece.key in self.arrays:
                self.device.write(self.arrays[piece.key], data, piece.first)
            elif len(piece.key) == 1:
                self.arrays[piece.key] = self.device.put(data)
            else:
                self.arrays[piece.key] = self.device.put(np.zeros(piece.size, np.uint8))
                self.device.write(self.arrays[piece.key], data, piece.first)
            self.counts.sent += data.size
            self.counts.copying += time.perf_counter_ns() - start
            self.fresh.add(number)
        return self.arrays[piece.key], piece.first

    def send(self, data: Bytes, array: Any = None) -> Any:
        """Bytes on the card, in an array of as many bytes where there is one."""
        start = time.perf_counter_ns()
        if array is None:
            array = self.device.put(data)
        else:
            self.device.write(array, data)
        self.counts.sent += data.size
        self.counts.copying += time.perf_counter_ns() - start
        return array

    def stale(self, numbers: Collection[int]) -> None:
        """The program may have changed these objects."""
        self.fresh.difference_update(numbers)

    def home(self, numbers: Collection[int] | None = None) -> None:
        """Give the program what only the card has, of all objects or of these. O(bytes). Raises KernelError."""
        for number in sorted(self.ahead if numbers is None else self.ahead & set(numbers)):
            start = time.perf_counter_ns()
            piece = self.piece(number)
            found = self.device.get(self.arrays[piece.key], piece.first, self.data[number].size)
            self.layout.restore(number, found, self.data[number])
            self.ahead.discard(number)
            self.counts.fetched += found.size
            self.counts.copying += time.perf_counter_ns() - start

    def peek(self, number: int, low: int, high: int) -> None:
        """Give the program the bytes [low, high) of an object that keeps its order, if only the card has them."""
        high = min(high, self.data[number].size)
        if number not in self.ahead or low >= high:
            return
        start = time.perf_counter_ns()
        piece = self.piece(number)
        self.data[number][low:high] = self.device.get(self.arrays[piece.key], piece.first + low, high - low)
        self.counts.fetched += high - low
        self.counts.copying += time.perf_counter_ns() - start
