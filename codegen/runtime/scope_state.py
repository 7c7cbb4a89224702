"""A layout scope of the running program, for the host that looks at loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracecut.codegen.schedule.schedule import Schedule
from tracecut.tracer.legality.row_arenas import Bytes, CopiedRows
from tracecut.tracer.legality.row_columns import Vector
from tracecut.tracer.runtime.fingerprint_key import Secret

from .coming_schedule import ComingSchedule
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
    used: int = 0
    nanoseconds: int = 0
    guard_nanoseconds: int = 0
    refused: str = ""
    waiting: tuple[dict[str, int | float], str, int, int] | None = None
    used_rows: Mapping[str, Vector] = field(default_factory=dict)
    rows: dict[str, Bytes] = field(default_factory=dict)  # copies of rows behind pointers, by name
    written: tuple[CopiedRows, ...] = ()  # those that go back to the program
