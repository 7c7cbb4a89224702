"""What looking for an order may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

TIMES = 10.0  # looking for an order for more than this many times what the loop takes is seldom worth it


@dataclass(frozen=True)
class TimeLimits:
    """What looking for an order may take.

    Attributes:
        budget: seconds for clusters. in_proportion: clusters get at most `TIMES` what the loop takes in a run of the
            program.
        deadline: on the clock; then no further order is begun but the first one. clock: seconds.
    """

    budget: float
    in_proportion: bool = False
    deadline: float | None = None
    clock: Callable[[], float] = time.monotonic
