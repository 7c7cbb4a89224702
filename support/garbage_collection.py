"""Python's cyclic garbage collection: none while a module is parsed and rewritten, little in processes of our own."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (20_000, 20, 50)  # thresholds of Python's three generations


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable cyclic garbage collection within the context, in all threads.

    A module consists of hundreds of thousands of small long-lived objects: scanning them again and again for cycles
    takes a third of the time and frees almost nothing.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def from_the_start() -> None:
    """For a process of our own, before its modules are loaded: nearly all that they make stays until its end.

    There, Python would look through all of it twice, with nothing to gain: what a process leaves is freed with it.
    """
    gc.set_threshold(*SELDOM)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def collect_seldom() -> None:
    """For a process of our own, once its modules are loaded: they stay, and large work leaves few cycles behind."""
    gc.freeze()
    gc.set_threshold(*SELDOM)
