"""A layout scope of the running program, for the host that looks at loops."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tracecut.codegen.schedule.schedule import Schedule
from tracecut.tracer.legality.row_arenas import Bytes, CopiedRows
from tracecut.tracer.legality.row_columns import Vector
from tracecut.tracer.runtime.fingerprint_key import Secret

from .coming_schedule import ComingSchedule, in_memory
from .executor import Executor
from .pauses import Pause
from .schedule_file import ScopeFile


@dataclass
class ScopeState:
    """A layout scope of the running program."""

    file: ScopeFile
    schedule: Schedule
    secret: Secret
    pause: Pause
    coming: ComingSchedule
    executor: Executor | None = None
    entries: int = 0
    before: int = 0  # sweeps of its main region before it was entered
    used: int = 0
    nanoseconds: int = 0
    guard_nanoseconds: int = 0
    refused: str = ""
    waiting: tuple[dict[str, int | float], str, int, int] | None = None
    used_rows: Mapping[str, Vector] = field(default_factory=dict)
    rows: dict[str, Bytes] = field(default_factory=dict)  # copies of rows behind pointers, by name
    written: tuple[CopiedRows, ...] = ()  # those that go back to the program

    def hear(self) -> bool:
        """Whether a new schedule has come from beside the program; it is the scope's then."""
        found = self.coming.take()
        if found is None:
            return False
        handle = in_memory(found[1])
        try:
            fresh = ScopeFile.load(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)
        self.schedule, self.secret, self.executor = fresh.schedule, fresh.key, None
        self.used_rows = fresh.used_rows
        return True
