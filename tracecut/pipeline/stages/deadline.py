"""`--budget`: when a job is to stop looking for something better."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

GRACE = 10.0  # seconds that an inspection has beyond the end of the budget, and half of the budget


@dataclass(frozen=True)
class Deadline:
    """The end of a job's budget. `seconds`: the budget, None: there is none. `began`: of `clock`, the same in all
    processes."""

    seconds: float | None = None
    began: float = 0.0
    clock: Callable[[], float] = time.monotonic

    @property
    def left(self) -> float:
        """Seconds until then, negative afterwards; infinite without a budget."""
        return math.inf if self.seconds is None else self.began + self.seconds - self.clock()

    @property
    def spent(self) -> bool:
        """Whether nothing new should be begun."""
        return self.left <= 0

    @property
    def why(self) -> str:
        """Why something was not begun."""
        return f"the budget of {self.seconds:g} s for the whole job was spent"

    def share_ends(self, part: float, rest: float) -> float | None:
        """When the next of several pieces of work ends, on the clock; None: whenever it does.

        `part`: its size. `rest`: the size of all that is left, this one included.
        """
        if self.seconds is None:
            return None
        return self.clock() + max(0.0, self.left) * (part / rest if rest > 0 else 1.0)

    def limit(self, most: float) -> float:
        """Seconds after which an inspection that begins now is stopped; at most `most`."""
        return most if self.seconds is None else min(most, max(0.0, self.left) + GRACE + self.seconds / 2)
