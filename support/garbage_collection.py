"""Python's search for objects that hold each other, left out while a module is read and rewritten."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Have nothing searched until the end, in all threads.

    A module is hundreds of thousands of small objects that are made at once and stay: to look through them again and
    again for circles takes a third of the time, and finds a few loops of a control flow.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
