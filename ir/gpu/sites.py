"""The places of a kernel's text that access memory: one row each, in the order of their numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Sites:
    """The accesses to memory in a kernel, by number.

    Attributes:
        space: uint8[n]: 0 global, 1 shared.
        kind: uint8[n]: 0 load, 1 store, 2 atomic.
        bytes: uint8[n]: of one thread's access.
        hint: uint8[n]: 0 none, 1 read-only path (`ld.global.nc`), 2 evict-first (streaming).
        where: `file:line` of each, empty where that is not known.
    """

    space: Bytes
    kind: Bytes
    bytes: Bytes
    hint: Bytes
    where: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.where)
