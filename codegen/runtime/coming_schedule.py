"""A schedule that is made beside the running program (SPAC §4, overhead control). Light.

While the program waits for an inspection, its time passes; beside it, sweeps go on in the original order until the new
schedule is there, and it is asked for between them. A child of the process makes it (`beside.py`), of the memory as it
was when it began. The guard of the schedule is asked when it comes into force, as at every entry: it tells whether the
input is still the same.
"""

from __future__ import annotations

import json
import math
import os
import time

from tracecut.support.process.beside import Beside

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

LEAST = 0.005  # seconds between two questions; one takes some 20 microseconds
SHARE = 0.05  # of the time that has passed: how long a schedule may lie there unasked for
TRIED = 3  # sweeps after which a new order that is slower than the original one is left
MOST = (1 << 31) - 1  # calls that a probe counts


class ComingSchedule:
    """The schedule that a scope gets while the program runs.

    Args:
        number: of the scope. main: its main region. single: whether many sweeps follow each other in an entry of it.
        probes: by region, calls until it asks (`hooks.py`). say: where remarks go.
    """

    def __init__(self, number: int, main: int, single: bool, probes: Any, say: Callable[[str], None]) -> None:
        self._number, self._main, self._single = number, main, single
        self._probes, self._say = probes, say
        self._beside: Beside | None = None
        self._why, self.per_call = "", 0.0
        self._tried: tuple[int, int] | None = None  # calls and nanoseconds of the main region before it was in force
        self._settled: set[str] = set()  # input for which no inspection will bring anything, as it was told
        self._vain = False  # none brings anything, whatever the input

    @property
    def awaited(self) -> bool:
        """Whether it is being made."""
        return self._beside is not None

    def settled(self, why: str) -> bool:
        """Whether no inspection is begun for such input any more."""
        return self._vain or why in self._settled

    def settle(self, why: str) -> bool:
        """None is begun for such input any more; returns whether that is new."""
        new = not self.settled(why)
        self._settled.add(why)
        return new

    def unfit(self, why: str) -> None:
        """The guard refuses what was made: the input changes sooner than schedules for it are there. For good."""
        self._vain = True
        self._say(f"scope {self._number}: {why} when its new schedule is there; the original order runs from now on")

    def begin(self, work: Callable[[], Iterable[bytes]], cpus: Collection[int], why: str, per_call: float) -> bool:
        """Begin to make it on `cpus`; False where the program has to wait for it: on one CPU, or without a child.

        work: makes what `packed` says. why: what the scope's schedule was not made for. per_call: nanoseconds of a
        sweep in the original order.
        """
        if self._beside is None and len(cpus) > 1:
            self._beside = Beside.start(work, cpus)
            self._why, self.per_call = why, per_call
            self.ask_later()
        return self.awaited

    def ask_later(self) -> None:
        """Have the main region ask for it, if it is being made. A scope of one sweep asks when it is entered."""
        if self._beside is not None and self._single:
            seconds = time.perf_counter() - self._beside.started
            self._probes[self._main] = calls_until_asked(seconds, self.per_call)

    def take(self) -> tuple[dict[str, Any], bytes] | None:
        """Its entry in the listing and its file, once, when they are there."""
        found = None if self._beside is None else self._beside.poll()
        if found is None or self._beside is None:
            return None
        seconds, self._beside = time.perf_counter() - self._beside.started, None
        about = f"scope {self._number}: {self._why}"
        if isinstance(found, str):
            self._vain = True  # asking again, for other numbers at each entry, would take the program's time again
            self._say(f"{about}; it was not inspected anew: {found}")
            return None
        self._say(f"{about}; inspected anew beside the program in {seconds:.2f} s")
        end = 8 + int.from_bytes(found[:8], "little")
        return json.loads(found[8:end]), found[end:]

    def try_out(self, times: Any) -> None:
        """It has come into force: have the main region say how long it takes. `times`: its counters (`hooks.py`)."""
        if self._single:
            self._tried = times.calls, times.nanoseconds
            self._probes[self._main] = TRIED + 1

    def slower(self, times: Any) -> bool:
        """Whether the new order was tried out, and took longer than the original one."""
        tried, self._tried = self._tried, None
        if tried is None or times.calls == tried[0]:
            return False
        found = (times.nanoseconds - tried[1]) / (times.calls - tried[0])
        if found <= self.per_call:
            return False
        self.settle(self._why)
        self._say(
            f"scope {self._number}: the new order takes {found / self.per_call:.2f} times as long as the original one"
        )
        return True

    def stop(self) -> None:
        """It is not wanted any more."""
        if self._beside is not None:
            self._beside.stop()
            self._beside = None


def calls_until_asked(seconds: float, per_call: float) -> int:
    """Sweeps of `per_call` nanoseconds each until an inspection that began `seconds` ago is asked for again."""
    wait = max(LEAST, SHARE * seconds) * 1e9
    return max(1, min(MOST, math.ceil(wait / max(1.0, per_call))))


def packed(listed: dict[str, Any], data: bytes) -> Iterable[bytes]:
    """A schedule's entry in the listing and the bytes of its file, as the child hands them over."""
    text = json.dumps(listed).encode()
    return len(text).to_bytes(8, "little"), text, data


def in_memory(data: bytes) -> int:
    """A descriptor of a file in memory with these bytes. To be closed before the program goes on."""
    handle = os.memfd_create("schedule")
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    return handle
