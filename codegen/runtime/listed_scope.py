"""A layout scope as the listing describes it, and what happened to it. Light."""

from __future__ import annotations

from .coming_schedule import ComingSchedule
from .inspection_gain import why_not
from .pauses import Pause

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tracecut.tracer.runtime.hooks import Tables

    from .executor import Executor
    from .saved_schedule import SavedSchedule


class ListedScope:
    """A layout scope as the listing describes it (`schedule_listing.py`), and what happened to it."""

    def __init__(self, listed: Mapping[str, Any], tables: Tables, say: Callable[[str], None]) -> None:
        self.listed = listed
        self.entries = 0
        self.before = 0  # sweeps of its main region before it was entered
        self.used = 0
        self.nanoseconds = 0
        self.guard_nanoseconds = 0
        self.refused = ""
        self.saved: SavedSchedule | None = None
        self.executor: Executor | None = None
        self.seen: tuple[list[int], str, int, int] | None = None  # slots, why, declined and nanoseconds before
        regions = tuple(int(number) for number in listed["regions"].values())
        number, main = int(listed["number"]), int(listed["main"])
        self.pause = Pause(number, main, regions, float(listed["pays_after"]))
        self.coming = ComingSchedule(number, main, bool(listed["single"]), tables.probes, say)

    def expects(self, per_call: float, sweeps: float, **how: bool) -> str | None:
        """Why a new order is not expected to pay (`inspection_gain.py`). Jobs are counted by their time."""
        costs = self.listed["costs"]
        return why_not(costs, per_call / max(costs["original"], 1e-3), sweeps, per_call, **how)
