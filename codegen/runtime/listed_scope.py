"""A layout scope as the listing describes it, and what happened to it. Light."""

from __future__ import annotations

import math

from tracecut.tracer.runtime.hook_slots import number_of

from .coming_schedule import ComingSchedule
from .inspection_gain import why_not
from .pauses import Pause

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
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
        self.only_waits = False  # nothing is inspected: it is only waited for what the first iteration makes
        self.seen: tuple[list[int], str, int, int] | None = None  # slots, why, declined and nanoseconds before
        regions = tuple(int(number) for number in listed["regions"].values())
        number, main = int(listed["number"]), int(listed["main"])
        self.pause = Pause(number, main, regions, float(listed["pays_after"]), float(listed["lookup_gain"]))
        self.coming = ComingSchedule(number, main, bool(listed["single"]), tables.probes, say)

    @property
    def comes_back(self) -> bool:
        """Whether the first iteration may make what the schedule expects, in an exit, and this host can ask again."""
        return bool(self.listed["exits"] and self.listed["complete"] and self.listed["single"])

    def expects(self, per_call: float, sweeps: float, **how: bool) -> str | None:
        """Why a new order is not expected to pay (`inspection_gain.py`). Jobs are counted by their time."""
        costs = self.listed["costs"]
        return why_not(costs, per_call / max(costs["original"], 1e-3), sweeps, per_call, **how)

    def sweeps(self, raw: Sequence[int]) -> float:
        """How often the main region runs in an entry of the scope; infinite where only the loop itself knows.

        raw: the values that it is entered with.
        """
        terms, sweeps = self.listed["sweeps"], self.listed["traced_sweeps"]
        if terms is not None:
            types = self.listed["values"]
            first, step, bound = (
                number if place < 0 else number_of(raw[place], types[place][1]) or 0 for place, number in terms
            )
            sweeps = max(sweeps or 0, abs(bound - first) / max(1, abs(step)) + 1)
        return math.inf if sweeps is None else float(sweeps)

    def too_few(self, raw: Sequence[int]) -> str:
        """Why the sweeps of an entry do not pay for its copies; "" where they may, as those that were traced did."""
        sweeps, needed = self.sweeps(raw), float(self.listed["pays_after"])
        if sweeps >= min(needed, float(self.listed["costs"]["sweeps"])):
            return ""
        return f"its copies would pay after {needed:.3g} sweeps, {sweeps:.0f} are expected"
