"""Python's cyclic garbage collection: none while a module is parsed and rewritten, little in processes of our own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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


def collect_seldom() -> None:
    """For a process of our own, once its modules are loaded: they stay, and large work leaves few cycles behind."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
