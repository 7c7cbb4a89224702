"""The memory reports of two launches, one behind the other, as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.gpu.sites import Sites


def one_behind_the_other(first: MemoryReport, second: MemoryReport) -> MemoryReport:
    """The sites of the second launch stand behind those of the first; times and counts add up.

    What the first leaves in the L2 does not help the second. `time` is that of the part that takes longest in both
    together: not more than the sum of their times. Occupancy is the first's. O(sites).
    """
    one, other = first.sites, second.sites
    space, kind, bytes, hint = (
        np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("space", "kind", "bytes", "hint")
    )
    return replace(
        first,
        sites=Sites(space, kind, bytes, hint, one.where + other.where),
        counts=np.concatenate([first.counts, second.counts]),
        hbm_read=first.hbm_read + second.hbm_read,
        hbm_written=first.hbm_written + second.hbm_written,
        seconds=tuple(a + b for a, b in zip(first.seconds, second.seconds, strict=True)),
        launch=first.launch + second.launch,
        warps=first.warps + second.warps,
    )
