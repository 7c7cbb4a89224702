"""How long it is looked for a loop that may be reordered, before it is said that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

TIMES, SECONDS = 5.0, 10.0  # of what the program takes; and what a newcomer waits for anyway


@dataclass(frozen=True)
class LookingTime:
    """CPU seconds that loops which gain nothing may take in all.

    What is left of them limits the inspection of the next loop. The trial of its orders has no limit here, but counts
    for the loops behind it: these have smaller shares of the work, and so less to gain. Seconds of the processor, so
    that it does not matter what else the machine does.

    Attributes:
        program: seconds of a run of it. used: so far, by loops that gained nothing.
    """

    program: float
    used: float = 0.0

    @property
    def left(self) -> float:
        return max(0.0, SECONDS + TIMES * self.program - self.used)

    def share(self, part: float, rest: float) -> float:
        """Of the next of several loops. `part`: its share of the work. `rest`: of all that are left, it included."""
        return self.left * (part / rest if rest > 0 else 1.0)

    def after(self, data: Mapping[str, Any], *, gained: bool) -> LookingTime:
        """What is left behind a loop. `data`: the result of its worker. gained: whether it runs in another order."""
        took = float(data.get("inspected", 0.0)) + float(data.get("tried", 0.0))
        return self if gained else replace(self, used=self.used + took)

    @property
    def why(self) -> str:
        """Why a loop was not looked at."""
        return f"no loop that was looked at before it gained anything, which took {self.used:.2g} s; {self.hint}"

    @property
    def hint(self) -> str:
        return f"the program takes {self.program:.2g} s: --budget S looks for longer"
