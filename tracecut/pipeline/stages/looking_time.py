"""How long it is looked for a loop that may be reordered, before it is said that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

TIMES, SECONDS = 5.0, 10.0  # of what the program takes; and what a newcomer waits for anyway


@dataclass(frozen=True)
class LookingTime:
    """CPU seconds that the inspections of the loops may take in all; what the orders of a loop take is not among them.

    Seconds of the processor, so that it does not matter what else the machine does.

    Attributes:
        program: seconds of a run of it. used: so far, by loops that no order was made for.
    """

    program: float
    used: float = 0.0

    @property
    def left(self) -> float:
        return max(0.0, SECONDS + TIMES * self.program - self.used)

    def share(self, part: float, rest: float) -> float:
        """Of the next of several loops. `part`: its share of the work. `rest`: of all that are left, it included."""
        return self.left * (part / rest if rest > 0 else 1.0)

    def after(self, data: Mapping[str, Any]) -> LookingTime:
        """What is left behind a loop. `data`: the result of its worker."""
        return self if "candidates" in data else replace(self, used=self.used + float(data.get("inspected", 0.0)))

    @property
    def why(self) -> str:
        """Why a loop was not looked at."""
        return f"no loop that was looked at before it could be reordered, which took {self.used:.2g} s; {self.hint}"

    @property
    def hint(self) -> str:
        return f"the program takes {self.program:.2g} s: --budget S looks for longer"
