"""Contexts: the threads that a schedule runs on. Each has its own: several can be used beside and within others."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from types import TracebackType

from tracecut.support.errors import ArgumentError

from .binding import MAX_THREADS, Native, support


class Context:
    """Pinned threads that wait for work until the context is closed; a `with` block closes it.

    A context runs one thing at a time: whoever comes while it is busy, from another thread or from within a job, does
    all of its own work alone. So does a child process, in which there are no such threads.

    Args:
        cpus: CPUs of the threads, one each; the first is that of the caller, who is not bound to it. None: all that
            this process may use.

    Raises ArgumentError without CPUs, with more than 64, or with one that this process may not use; MemoryError.
    """

    def __init__(self, cpus: Sequence[int] | None = None) -> None:
        allowed = sorted(os.sched_getaffinity(0))
        chosen = allowed[:MAX_THREADS] if cpus is None else [int(cpu) for cpu in cpus]
        if not 1 <= len(chosen) <= MAX_THREADS:
            raise ArgumentError(f"cpus names {len(chosen)} CPUs, 1 to {MAX_THREADS} were expected")
        if not set(chosen) <= set(allowed):
            raise ArgumentError(f"cpus = {chosen}: this process may use {allowed}")
        count = ctypes.c_int32()
        library = support().library
        start = library.tc_pool_start
        start.argtypes, start.restype = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_void_p
        self._pool = start(len(chosen), (ctypes.c_int32 * len(chosen))(*chosen), ctypes.addressof(count))
        if not self._pool:
            raise MemoryError("no memory for threads")
        self.threads = count.value
        self.native = Native(library, self._pool)

    def close(self) -> None:
        """End its threads. What runs on it has to be over; a second call does nothing."""
        if self._pool:
            end = self.native.library.tc_pool_end
            end.argtypes, end.restype = [ctypes.c_void_p], None
            end(self._pool)
            self._pool = self.native.pool = None
            self.threads = 0

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
