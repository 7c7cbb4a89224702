"""What all walks over the jobs of one loop share: the loop, the frames, and where the walk is."""

from __future__ import annotations

import numpy as np
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.growable_array import Growing
from tracecut.support.plain_kernels import FEW_BYTES, Kernel, plain
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.segment_steps import tables_of
from tracecut.tracer.trace.tables.static_tables import Static


class LoopWalker:
    """State of a walk. Raises ArgumentError for a loop that is not there; `header` is the name of its first block.

    `few`: the whole trace has few instructions: it is walked through without compiling the walk (see `ir.plain`).
    """

    def __init__(self, static: Static, function: str, header: str, *, few: bool = False) -> None:
        self.few = few  # until it turns out that these few touch many bytes
        name = function if function.startswith("@") else f"@{function}"
        if name not in static.functions:
            raise ArgumentError(f"the traced program has no function {function!r}")
        body = static.module.functions[name]
        found = [loop for loop in ControlFlow(body).loops if loop.header == header]
        if not found:
            raise ArgumentError(f"{function} has no loop that begins at {header!r}")
        self.static, self.loop, self.body = static, found[0], body
        self.tables = tables_of(static)
        number = static.functions.index(name)
        base = int(static.function_block[number])
        inside = np.zeros(static.n_blocks + 1, np.uint8)
        for place, block in enumerate(body.blocks):
            inside[base + place] = block.name in self.loop.blocks
            if block.name == header:
                self.header = int(static.block_segment[base + place])
        self.base = int(static.block_first[base])
        blocks = np.where(static.segment_block >= 0, static.segment_block, static.n_blocks)
        self.inside = np.ascontiguousarray(inside[blocks] & (self.tables.function == number))
        self.state = np.zeros(fr.STATE, np.int64)
        self.state[fr.UNWINDER] = -1
        self.where = np.zeros(2, np.int64)
        self.unknown = np.zeros(static.n_instructions, np.uint8)
        steps = int(np.diff(self.tables.step).max(initial=0)) + 2
        self.slack = int(self.tables.pages.max(initial=0)) + 2 * steps
        self.reads = int(self.tables.edges.max(initial=0)) + 8 * steps
        self.frames = {
            "frames": Growing(np.int64, fr.FRAME_FIELDS << 8),
            "registers": Growing(np.int32, 1 << 14),
            "slots": Growing(np.int64, 2 << 10),
        }
        self.nothing = _no_shadow()

    def frame_limits(self) -> Longs:
        """Limits with the entries that frames need."""
        limits = np.zeros(fr.LIMITS, np.int64)
        limits[fr.MAX_DEPTH] = self.frames["frames"].capacity // fr.FRAME_FIELDS - 2
        limits[fr.MAX_REGISTERS] = self.frames["registers"].capacity - 2 * int(self.tables.slots.max(initial=0)) - 2
        limits[fr.MAX_GLOBALS] = 1 << 62
        limits[fr.MAX_WORK] = FEW_BYTES if self.few else 1 << 62
        return limits

    def fitting(self, kernel: Kernel) -> Kernel:
        """The kernel, or its plain twin."""
        if int(self.state[fr.WORK]) > FEW_BYTES:
            self.few = False
        return plain(kernel) if self.few else kernel

    def grow_frames(self) -> None:
        """Room for one more frame."""
        depth = int(self.state[fr.DEPTH])
        self.frames["frames"].reserve((depth + 2) * fr.FRAME_FIELDS)
        if depth:
            top = self.frames["frames"].array[(depth - 1) * fr.FRAME_FIELDS + fr.BASE]
            self.frames["registers"].reserve(int(top) + 3 * int(self.tables.slots.max(initial=0)) + 2)


def _no_shadow() -> sh.Shadow:
    """For the frames, which here have no stack slots to clear."""
    one, ids = np.zeros(1, np.int64), np.zeros(1, np.int32)
    counts = np.zeros(sh.COUNTERS, np.int64)
    return sh.Shadow(one, one, one, ids, ids, ids, one, one, one, ids, one, counts)
