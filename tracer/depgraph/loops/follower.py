"""What both analyses of one loop share: the loop, the frames, and the events that they take."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.plain_kernels import FEW_BYTES, Kernel, plain
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.frame_stack import FrameStack
from tracecut.tracer.depgraph.state.segment_steps import tables_of
from tracecut.tracer.trace.events.event_words import Words
from tracecut.tracer.trace.tables.static_tables import Static

from . import loop_events as ev

BUFFER = 1 << 13  # events that are made before they are taken: they stay in the caches


class LoopWalker(ABC):
    """Follows one loop through the stream of one thread.

    Args:
        static: tables of the traced module. function, header: the loop, by the name of its first block.
        few: the whole trace has few instructions: it is followed without compiling (see `support.plain_kernels`).

    Raises ArgumentError for a loop that does not exist.
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
        self.base = int(static.block_first[base])
        names = [block.name for block in body.blocks]
        inside = np.zeros(static.n_blocks + 1, np.uint8)
        inside[base : base + len(names)] = [name in self.loop.blocks for name in names]
        blocks = np.where(static.segment_block >= 0, static.segment_block, static.n_blocks)
        self.followed = ev.Loop(
            inside=np.ascontiguousarray(inside[blocks] & (self.tables.function == number)),
            header=static.block_segment[base + names.index(header) :][:1].astype(np.int64),
            unknown=np.zeros(static.n_instructions, np.uint8),
            where=np.zeros(ev.WHERE, np.int64),
        )
        self.state = fr.fresh_state()
        self.stack = FrameStack(self.tables)
        self._most_events = ev.most_events(self.tables)
        self._events = np.zeros(ev.FIELDS * (BUFFER + self._most_events), np.int64)
        self._nothing = sh.no_shadow()

    def feed(self, words: Words) -> None:
        """Follow whole records. O(words + bytes touched).

        Raises ArtefactError for a damaged stream, and what the analysis raises.
        """
        words = np.ascontiguousarray(words, np.uint32)
        self.state[fr.POSITION] = 0
        limits = np.full(fr.LIMITS, 1 << 62, np.int64)
        limits[fr.MAX_EDGES] = ev.FIELDS * BUFFER
        while True:
            self.stack.limit(limits)
            limits[fr.MAX_WORK] = FEW_BYTES if self.few else 1 << 62
            stack = self.stack.view()
            found = self.fitting(ev.loop_events)(
                words, self.tables, stack, self._nothing, self.followed, limits, self.state, self._events
            )
            del stack  # a view would keep the arrays from growing
            taken, count = 0, int(self.followed.where[ev.COUNT])
            while taken < count:
                taken = self.take(self._events, taken, count)
            if found == fr.DONE:
                return
            if found != fr.FULL:
                raise ArtefactError("the event stream is damaged", hint="Trace the program again.")
            self.stack.grow(self.state)

    @abstractmethod
    def take(self, events: Longs, first: int, end: int) -> int:
        """Take the events from `first` up to `end`, or those that there is room for; where the next one stands."""

    def fitting(self, kernel: Kernel) -> Kernel:
        """The kernel, or its plain twin."""
        if int(self.state[fr.WORK]) > FEW_BYTES:
            self.few = False
        return plain(kernel) if self.few else kernel

    @property
    def unknown(self) -> tuple[int, ...]:
        """Static instructions of the loop whose effect on memory is not known."""
        return tuple(np.flatnonzero(self.followed.unknown).tolist())
