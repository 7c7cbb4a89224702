"""The objects of a layout scope on a card, and which side has the newest bytes of each."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.kernels.device import Device

from .host_layout import HostLayout


@dataclass
class Counts:
    """What was copied to the card and back, and what ran there: bytes, nanoseconds, launches; nanoseconds by loop."""

    sent: int = 0
    fetched: int = 0
    copying: int = 0
    launches: int = 0
    running: int = 0
    loops: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class Mirror:
    """Objects in the program's memory, in its order, and on the card, in the order of a schedule.

    Attributes:
        layout: how data lie on the card. data: the program's memory of each object of its guard.
        arrays: number of an object → its array on the card.
        fresh: objects whose array holds what the program has, or newer. ahead: those that only the card has.
    """

    device: Device
    layout: HostLayout
    data: Sequence[Bytes]
    counts: Counts
    arrays: dict[int, Any] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)
    ahead: set[int] = field(default_factory=set)

    def array(self, number: int) -> Any:
        """An object's array on the card, with what the program has. O(bytes) unless it is there. Raises KernelError."""
        if number not in self.fresh:
            start = time.perf_counter_ns()
            data = self.layout.moved(number, self.data[number])
            self.counts.copying += time.perf_counter_ns() - start
            self.arrays[number] = self.send(data, self.arrays.get(number))
            self.fresh.add(number)
        return self.arrays[number]

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
            found = self.device.get(self.arrays[number])
            self.layout.restore(number, found, self.data[number])
            self.ahead.discard(number)
            self.counts.fetched += found.size
            self.counts.copying += time.perf_counter_ns() - start
