"""Where the pieces of jobs begin, in 16 bits: the lower halves of the starts, and the first start of each block.

A block whose pieces have fewer than 2¹⁶ records together knows the upper bits of a start from its own first one:

```
start = first of the block + ((half − first of the block) mod 2¹⁶)
```

The halves lie as the starts did, so a block reads the end of its last job where the next block's first one begins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule
from tracecut.support.arrays import Longs

from .index_copies import Bytes

SPAN = (1 << 16) - 1  # most records of a block
Begins = npt.NDArray[np.uint32]


def piece_starts(region: RegionSchedule, copy: Copy) -> Longs:
    """First record of each job's piece of a copy in the new order, int64 (jobs + 1). O(jobs)."""
    ends = np.cumsum(region.lengths_of(copy)[region.jobs], dtype=np.int64)
    return np.concatenate([[0], ends]).astype(np.int64)


def block_begins(starts: Longs, bounds: Longs) -> Begins | None:
    """The first start of each block; None where 16 bits, or 32 of the first ones, are not enough. O(blocks).

    Args:
        starts: as of `piece_starts`. bounds: int64 (blocks + 1), the jobs of each block.
    """
    firsts = starts[bounds]
    if firsts[-1] >= 1 << 32 or np.any(np.diff(firsts) > SPAN):
        return None
    return firsts[:-1].astype(np.uint32)


def lower_halves(data: Bytes, width: int) -> Bytes:
    """The lower 16 bits of numbers of `width` bytes."""
    return data.view(f"u{width}").astype(np.uint16).view(np.uint8)
