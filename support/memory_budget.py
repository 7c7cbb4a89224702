"""How much memory a process may use: free memory, the requested limit, and the limit of this process.

Data that grow with the analysed program are estimated before they are allocated, and refused with the estimate if they
would not fit. The limit that the guardian sets for workers (RLIMIT_DATA) is only the last safety net.
"""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEAST = 256 << 20  # the smallest budget: an interpreter with its libraries takes as much
SHARE = 2  # the default budget is the free memory divided by this
MAPPED = 32 << 20  # bytes from which on GNU's C library gives back at once what is freed, as it does by itself
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def free_memory() -> int:
    """Bytes that processes may still allocate, by the kernel and the control group of this process."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")))
    with suppress(OSError, ValueError, StopIteration):
        group = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        folder = Path("/sys/fs/cgroup") / group[3:].strip("/")
        most = (folder / "memory.max").read_text().strip()
        if most != "max":
            found.append(int(most) - int((folder / "memory.current").read_text()))
    return max(0, min(found, default=4 << 30))


def default_budget() -> int:
    """The default budget in bytes: a share of the free memory, or of the limit of this process."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    free = free_memory() // SHARE
    return max(LEAST, free if limit == resource.RLIM_INFINITY else min(free, limit))


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Have the C library use what is freed again meanwhile, instead of giving it back to the system page by page.

    Long vectors that are made and dropped all the time otherwise cost more for clearing new pages than for their
    numbers. Afterwards what it keeps is given back, and long vectors are as soon as they are dropped. Other C libraries
    than GNU's do as they do.
    """
    import ctypes  # slow to import: every command asks for the budget

    trim, map_from, most = -1, -3, (1 << 31) - 1  # of malloc.h, and the largest number that it takes
    library = ctypes.CDLL(None)
    with suppress(AttributeError):
        library.mallopt(trim, most)
        library.mallopt(map_from, most)
    try:
        yield
    finally:
        with suppress(AttributeError):
            library.mallopt(trim, 2 * MAPPED)
            library.mallopt(map_from, MAPPED)
            library.malloc_trim(0)


def give_back_freed() -> None:
    """Have GNU's C library give back what it keeps of freed vectors, between two parts of the work."""
    import ctypes  # as above

    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def read_size(text: str) -> int:
    """Bytes of a size such as `800M`, `2G`, `1.5 GB` (units of 1,024). Raises ValueError."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if not found:
        raise ValueError(f"{text}: a size such as 800M or 2G expected")
    return int(float(found[1]) * _UNITS[found[2]])
