"""Active layouts: applies them to the program's data, and binds its main thread meanwhile."""

from __future__ import annotations

import ctypes
import os

from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.binding import Native
from tracecut.tracer.runtime.lookup_table import LookupTable

from .executor import Executor

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from tracecut.codegen.schedule.schedule import Schedule
    from tracecut.tracer.runtime.hooks import Tables

    from .executor import RegionCode

    class Written(Protocol):
        """Rows of an arena, an address, that go back to the program: where, their bytes, and their places there."""

        @property
        def arena(self) -> int: ...
        @property
        def bases(self) -> Any: ...
        @property
        def sizes(self) -> Any: ...
        @property
        def starts(self) -> Any: ...


class ActiveLayouts:
    """Activates and deactivates layouts; nested scopes can have several active layouts.

    Args:
        library: the woven program. tables: what its hooks read. cpus: of the threads, the first is the program's own.
    """

    def __init__(self, library: ctypes.CDLL, tables: Tables, cpus: Sequence[int]) -> None:
        self.library = library
        self.native = Native(library)
        self.tables = tables
        self.cpus = list(cpus) or [0]
        self.threads = 0  # 0: not started
        self.allowed: set[int] = set()  # CPUs of the program, while a layout is in force
        self.pinned = 0  # layouts in force
        self.written: dict[Executor, Sequence[Written]] = {}  # rows that go back when a layout is left

    def start(self) -> None:
        """Have the threads; the process that calls this is the one whose scopes count."""
        if not self.threads:
            self.threads = max(1, self.native.threads(self.cpus))

    def put(
        self,
        executor: Executor | None,
        schedule: Schedule,
        bases: Sequence[int],
        codes: Mapping[int, RegionCode],
        numbers: Mapping[int, int],
        homes: Sequence[int] | None = None,
        written: Sequence[Written] = (),
    ) -> Executor:
        """Put a schedule in force; `executor` has applied it before, or is None. `numbers`: region → its number.

        bases, codes, homes: as for `Executor`. written: rows that go back to the program when it is left.

        Raises UnsupportedError when the program has left the threads' CPUs; a scope around this one may have.
        """
        self.start()
        self._require_cpus()
        if executor is None:
            count = len(schedule.lookups)
            lookups = LookupTable(self.library, schedule.scope, count) if count else None
            executor = Executor(self.native, schedule, bases, codes, homes=homes, threads=self.threads, lookups=lookups)
        else:
            executor.rebind(bases, codes, homes)
        self.written[executor] = written
        executor.enter()
        try:
            self._pin(True)
        # the CPUs were taken away meanwhile: restore the data here, since no caller knows that they are moved
        except OSError:
            executor.leave()
            raise
        for region, plan in executor.plans.items():
            self.tables.plans[numbers[region]] = ctypes.addressof(plan)
        return executor

    def off(self, executor: Executor | None, numbers: Mapping[int, int]) -> None:
        """Restore the data, if they are moved, and the rows that were written; the original loops run."""
        for region in numbers.values():
            self.tables.plans[region] = None
            self.tables.probes[region] = 0
        if executor is not None and executor.active:
            executor.leave()
            for rows in self.written.pop(executor, ()):
                self.native.spread(rows.arena, rows.bases, rows.sizes, rows.starts, threads=self.threads)
            self._pin(False)

    def _require_cpus(self) -> None:
        if self.threads == 1:
            return
        now = os.sched_getaffinity(0)
        if not (self.pinned and now == {self.cpus[0]}):
            if not now >= set(self.cpus):
                raise UnsupportedError(f"the program has bound itself to {len(now)} CPUs")
            self.allowed = now

    def _pin(self, pinned: bool) -> None:
        """Keep the program's own thread off the CPUs of the others while a layout, or several, is in force."""
        if self.threads == 1:
            return
        own = {self.cpus[0]}
        if pinned:
            os.sched_setaffinity(0, own)
            self.pinned += 1
            return
        self.pinned -= 1
        if not self.pinned and os.sched_getaffinity(0) == own:  # else the program has chosen others since
            os.sched_setaffinity(0, self.allowed)
