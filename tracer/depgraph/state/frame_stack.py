"""The memory of the frames of the traced thread, which grows outside of the kernels."""

from __future__ import annotations

import numpy as np
from tracecut.support.arrays import Longs

from . import call_frames as fr
from .growable_array import Growing
from .record_steps import Tables


class FrameStack:
    """The arrays of `call_frames.Frames`. `slots_each`: stack slots that one record may add."""

    def __init__(self, tables: Tables, slots_each: int = 0) -> None:
        self.arrays = {
            "frames": Growing(np.int64, fr.FRAME_FIELDS << 8),
            "registers": Growing(np.int32, 1 << 14),
            "slots": Growing(np.int64, 2 << 10),
        }
        self._registers = int(tables.slots.max(initial=0))  # of the largest frame
        self._slots_each = slots_each

    def view(self) -> fr.Frames:
        """The arrays as they are now. They can only grow when no view is left."""
        return fr.Frames(**{name: array.array for name, array in self.arrays.items()})

    def limit(self, limits: Longs) -> None:
        """Set the entries of `limits` that speak of frames."""
        limits[fr.MAX_SLOTS] = self.arrays["slots"].capacity // 2 - self._slots_each
        limits[fr.MAX_DEPTH] = self.arrays["frames"].capacity // fr.FRAME_FIELDS - 2
        limits[fr.MAX_REGISTERS] = self.arrays["registers"].capacity - 2 * self._registers - 2

    def grow(self, state: Longs) -> None:
        """Make room for what the next record may add."""
        depth = int(state[fr.DEPTH])
        self.arrays["frames"].reserve((depth + 2) * fr.FRAME_FIELDS)
        self.arrays["slots"].reserve((int(state[fr.SLOTS]) + self._slots_each) * 2)
        if depth:
            top = self.arrays["frames"].array[(depth - 1) * fr.FRAME_FIELDS + fr.BASE]
            self.arrays["registers"].reserve(int(top) + 3 * self._registers + 2)

    def widen(self) -> None:
        """Go on with 64-bit ids of vertices."""
        registers = self.arrays["registers"]
        self.arrays["registers"] = registers.widened(np.int64, registers.capacity)
