"""Waiting for an event, never for a time: how fast the machine is decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

HUNG = 3600.0  # seconds after which something is taken to hang; a loaded machine may compile all kernels within them


def wait_until(event: Callable[[], object], state: Callable[[], object] = lambda: "") -> None:
    """Return once the event is there. state: what is shown if it never comes."""
    end = time.monotonic() + HUNG
    while not event():
        assert time.monotonic() < end, f"hung: {state()}"
        time.sleep(0.01)


def longer_and_longer(first: float = 0.5) -> Iterator[float]:
    """Time limits in seconds, for a program that has to reach a place before its time is over: leave the loop then."""
    limit = first
    while limit <= HUNG:
        yield limit
        limit *= 3
    raise AssertionError(f"hung: it did not come that far in {limit / 3:g} s")


def burn(seconds: float) -> None:
    """Take so many seconds of CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))
