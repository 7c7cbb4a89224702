"""Builds a DependenceGraph, or its totals, from chunks of an event stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.machine.cache_simulator import levels_of
from tracecut.ir.machine.machine import Machine
from tracecut.support import memory_amounts
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError, ArtefactError, UnsupportedError
from tracecut.support.plain_kernels import FEW, FEW_BYTES, fitting, plain
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import output
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import WalkState
from tracecut.tracer.depgraph.state.frame_stack import FrameStack
from tracecut.tracer.depgraph.state.growable_array import FEWEST, Growing
from tracecut.tracer.depgraph.state.record_steps import WAS_READ, WAS_WRITTEN, Tables
from tracecut.tracer.depgraph.state.segment_steps import tables_of
from tracecut.tracer.depgraph.walk.anti_output import MOST_BYTES, MOST_VERTICES, compact
from tracecut.tracer.depgraph.walk.emit_thread import Writer, output_of
from tracecut.tracer.depgraph.walk.reference import BAD_SEGMENT, CUT, follow_records
from tracecut.tracer.depgraph.walk.resolve import READY, follow
from tracecut.tracer.trace.events.event_words import Words
from tracecut.tracer.trace.tables.static_tables import Static

from .choices import WANTED
from .instruction_names import instructions_of

NARROW = 2**31 - 2  # vertices that 32-bit ids can name, with one more for "none"
WEIGHTS = ("model", "unit", "times")
BATCH = 1 << 16  # vertices that are kept at a time when only sums are asked for


class TooLarge(Exception):
    """The graph exceeds its memory limit. `bytes`: its size so far."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the graph takes {size} bytes")
        self.bytes = size


@dataclass(frozen=True)
class Ending:
    """How the traced program ended, and what the graph lacks.

    Attributes:
        complete: the stream has an END mark.
        reason, status: of the end mark (`event_words.End`); 0 without one.
        lost: records that were not kept.
        unresolved: pointers passed to unknown functions whose object is not known.
    """

    complete: bool
    reason: int
    status: int
    lost: int
    unresolved: int


class Builder:
    """Follows the stream of one thread: `feed` takes it chunk by chunk, `graph` completes the graph.

    Peak memory is at most 24 bytes per edge, plus about 1.1 times the memory that the program touches, plus 5 MB of
    buffers; with "war" 16 bytes more per reader that is still listed, and up to 8 per word of every page that was read.

    Args:
        static: tables of the traced module.
        weights: of memory accesses: "model": cycles of simulated caches; "unit": 1; "times": the times of a timed trace
            for single loads and stores (see `measured_weights`), the model for all others.
        machine: its caches and latencies; None takes `Machine.model()`.
        kinds: of WANTED: "raw", true dependences, always; "war": of a write on each instruction that read one of its
            bytes since that was written ("anti"); "waw": of a write on the last writers of its bytes ("output");
            "control": of each instruction that is no phi on the latest branch of its function that its block is
            control dependent on. Memory that is freed, allocated, or a stack slot of a function that returned, has no
            readers or writers.
        addresses: keep the address and the kind of the first access of each vertex; the walk is then slower.
        totals: only sum up, in memory that does not grow with the run.
        most: largest size of the graph in bytes, None: no limit.
        narrow: vertices from which ids have 64 bits.
        threads: 2 writes the graph on a second thread. simple: whether records of simple segments are written by
            templates (see `templates`). Both have no effect with totals, "war" or "waw". few: words up to which the
            walk is not compiled (see `plain_kernels`), if they mean at most FEW instructions. None of these three
            changes the graph.
    """

    def __init__(
        self,
        static: Static,
        *,
        weights: str = "model",
        machine: Machine | None = None,
        kinds: Collection[str] = ("raw",),
        addresses: bool = False,
        totals: bool = False,
        most: int | None = None,
        narrow: int = NARROW,
        threads: int = 1,
        simple: bool = True,
        few: int = 0,
    ) -> None:
        if weights not in WEIGHTS:
            raise ArgumentError(f"weights = {weights!r}, one of {', '.join(WEIGHTS)} expected")
        if weights == "times" and not static.timed:
            raise ArgumentError("weights = 'times', but the trace has no times", hint="Trace with timed=True.")
        if isinstance(kinds, str) or not {"raw"} <= set(kinds) <= set(WANTED):
            raise ArgumentError(f"kinds = {kinds!r}, some of {', '.join(WANTED)} with 'raw' among them expected")
        if addresses and totals:
            raise ArgumentError("totals keep no addresses")
        machine = Machine.model() if machine is None else machine
        self.static = static
        self.hazards = hazards = WAS_READ * ("war" in kinds) + WAS_WRITTEN * ("waw" in kinds)
        self.tables: Tables = tables_of(static, control="control" in kinds, hazards=hazards)
        self.sums = output.Sums() if totals else None
        self.most = most
        self.few = few  # 0 from the first chunk on that is walked by compiled code
        self.modelled, self.timed = weights != "unit", weights == "times"
        self.levels = levels_of(machine.caches, machine.memory_latency)
        self.narrow = narrow
        self.state = fr.fresh_state()
        self.of_nodes = {**output.NODES, **output.ADDRESSES} if addresses else output.NODES
        self.arrays: dict[str, Growing] = {
            name: Growing(dtype, BATCH if totals else FEWEST, dense=True)
            for name, dtype in {**output.EDGES, **self.of_nodes}.items()
        }
        self.followed: dict[str, Growing] = {
            "pages": Growing(np.int64, sh.FIELDS << 10),
            "writers": Growing(np.int32, sh.WORDS << 6),
            "singles": Growing(np.int32, sh.PAGE << 4),
            "owners": Growing(np.int32, sh.GRANULES << 6),
            "objects": Growing(np.int64, 4 << 10),
            "globals": Growing(np.int64, 2 << 10),
            "heads": Growing(np.int32, sh.WORDS << (6 if hazards else 0)),
            "reads": Growing(np.int64),
        }
        self.bins = np.zeros(sh.BINS, np.int64)
        self.counts = np.zeros(sh.COUNTERS, np.int64)
        self.counts[sh.N_OBJECTS] = self.counts[sh.N_READS] = 1
        self.keys, self.values = sh.new_table(1 << 12)
        steps = np.diff(self.tables.step)
        site_most = int(self.tables.site_count.max(initial=0)) + 2
        self.most_edges = int(self.tables.edges.max(initial=0)) + site_most
        self.most_steps = int(steps.max(initial=0)) + 2
        self.most_pages = int(self.tables.pages.max(initial=0)) + 2 * self.most_steps
        self.stack = FrameStack(self.tables, self.most_steps)
        self.records_at = 0
        self.threads = threads
        self.simple = simple and self.sums is None and not hazards and not addresses
        self.nowhere = np.zeros(static.n_segments, np.uint8)  # segments in front of which the reference walk stops
        self.writer: Writer | None = None  # from the first chunk on that is walked by compiled code

    def feed(self, words: Words) -> None:
        """Follow the records of one chunk, which is cut at their borders.

        Raises ArtefactError for words that are no records of this program, and TooLarge. O(words) plus the memory they
        touch.
        """
        words = np.ascontiguousarray(words, np.uint32)
        self.state[fr.POSITION] = 0
        if self.records_at + words.size > self.few:
            self.few = 0
        while True:
            found = self._follow(words)
            if found == READY and self.writer is not None:
                self.writer.hand_over()
                continue
            if found == fr.DONE:
                break
            if found in (BAD_SEGMENT, fr.BAD_FRAME, CUT):
                place = self.records_at + int(self.state[fr.POSITION])
                what = {
                    BAD_SEGMENT: "is no segment of this program",
                    fr.BAD_FRAME: "belongs to a function that is not running",
                    CUT: "is cut off, or a mark that is not known",
                }[found]
                raise ArtefactError(
                    f"the event stream is damaged: the record at word {place} {what}", hint="Trace the program again."
                )
            if self.few and self._lengthy():
                self.few = 0
                continue
            self._grow()
        self.records_at += words.size
        if self.most is not None and self.sums is None and self.bytes > self.most:
            raise TooLarge(self.bytes)

    def _follow(self, words: Words) -> int:
        """Follow records until the arrays have to grow or the words end. No view of the arrays is left then."""
        out, walk, limits = output_of(self.arrays), self.walk_state(), self.limits()
        wide = self.arrays["src"].dtype == np.int64  # so seldom that leaving steps out is not worth compiling it twice
        origin = int(self.state[fr.ORIGIN]) if self.sums is not None or self.hazards or wide else None
        if self.few:
            return plain(follow_records)(words, self.tables, walk, out, limits, self.timed, origin, self.nowhere)
        if self.simple and self.writer is None:
            self.writer = Writer(self.tables, self.threads, self.arrays)
        if self.writer is not None:
            templates, order = self.writer.templates, self.writer.order
            return follow(words, self.tables, templates, order, walk, out, limits, self.timed)
        return follow_records(words, self.tables, walk, out, limits, self.timed, origin, self.nowhere)

    def graph(self) -> DependenceGraph:
        """The graph of everything that was fed. The builder cannot be used any more."""
        if self.sums is not None:
            raise ArgumentError("the builder keeps totals only: there is no graph")
        self._settle()
        sizes = dict.fromkeys(output.EDGES, int(self.state[fr.EDGES])) | dict.fromkeys(
            self.of_nodes, int(self.state[fr.NODES])
        )
        self.followed, self.stack = {}, FrameStack(self.tables)
        arrays = {name: array.taken(sizes[name]) for name, array in self.arrays.items()}
        return DependenceGraph(**arrays, table=instructions_of(self.static))

    def totals(self) -> output.GraphTotals:
        """Sums over everything that was fed, of a builder with `totals`."""
        if self.sums is None:
            raise ArgumentError("the builder keeps a graph", hint="Its arrays have the sums.")
        self._forget()
        return self.sums.totals()

    def ending(self) -> Ending:
        """How the stream ended so far."""
        value = self.state.tolist()
        return Ending(bool(value[fr.ENDED]), value[fr.REASON], value[fr.STATUS], value[fr.LOST], value[fr.UNRESOLVED])

    def _settle(self) -> None:
        if self.writer is not None:
            self.writer.settle()

    def walk_state(self) -> WalkState:
        """The state of the walk, with views of the arrays as they are now: they can only grow when none is left."""
        followed = {name: array.array for name, array in self.followed.items()}
        memory = sh.Shadow(keys=self.keys, values=self.values, bins=self.bins, counts=self.counts, **followed)
        return WalkState(self.stack.view(), memory, self.levels, self.state, self.modelled)

    def limits(self) -> Longs:
        """How far each count may have come for the next record to fit."""
        limits = np.zeros(fr.LIMITS, np.int64)
        limits[fr.MAX_EDGES] = self.arrays["src"].capacity - self.most_edges
        limits[fr.MAX_NODES] = int(self.state[fr.ORIGIN]) + self.arrays["time"].capacity
        limits[fr.MAX_NODES] -= int(self.tables.size.max(initial=0))
        if self.arrays["src"].dtype == np.int32:
            limits[fr.MAX_NODES] = min(limits[fr.MAX_NODES], self.narrow - int(self.tables.size.max(initial=0)))
        for place, name, row in (
            (fr.MAX_PAGES, "pages", sh.FIELDS),
            (fr.MAX_WRITERS, "writers", sh.WORDS),
            (fr.MAX_SINGLES, "singles", sh.PAGE),
            (fr.MAX_OWNERS, "owners", sh.GRANULES),
        ):
            limits[place] = self.followed[name].capacity // row - self.most_pages
        limits[fr.MAX_PAGES] = min(limits[fr.MAX_PAGES], self.keys.size // 2 - self.most_pages)
        limits[fr.MAX_OBJECTS] = self.followed["objects"].capacity // 4 - self.most_steps
        limits[fr.MAX_HEADS] = self.followed["heads"].capacity // sh.WORDS - 5 * self.most_pages
        limits[fr.MAX_READS] = self.followed["reads"].capacity - self.most_steps
        limits[fr.MAX_GLOBALS] = self.followed["globals"].capacity // 2 - 2
        limits[fr.MAX_WORK] = 1 << 62
        if self.few:
            limits[fr.MAX_WORK] = FEW_BYTES
            limits[fr.MAX_NODES] = min(limits[fr.MAX_NODES], FEW)
        self.stack.limit(limits)
        return limits

    def _grow(self) -> None:
        """Make room for the next record."""
        state, counts = self.state, self.counts
        edges, pages = int(state[fr.EXTRA_EDGES]), int(state[fr.EXTRA_PAGES])
        if max(edges, pages << sh.PAGE_BITS) > MOST_BYTES:
            raise ArtefactError(
                f"the event stream is damaged: the record at word {self.records_at + int(state[fr.POSITION])} touches "
                f"{memory_amounts.size(max(edges, pages << sh.PAGE_BITS))}",
                hint="Trace the program again.",
            )
        self._forget()
        self._settle()
        nodes = int(state[fr.NODES])
        if self.arrays["src"].dtype == np.int32 and nodes + int(self.tables.size.max(initial=0)) > self.narrow:
            self._widen()
        for name in output.EDGES:
            self.arrays[name].reserve(int(state[fr.EDGES]) + edges + self.most_edges)
        for name in self.of_nodes:
            self.arrays[name].reserve(nodes - int(state[fr.ORIGIN]) + int(self.tables.size.max(initial=0)))
        self._grow_reads(5 * (pages + self.most_pages), int(state[fr.EXTRA_READS]) + self.most_steps)
        for place, name, row, extra in (
            (sh.N_PAGES, "pages", sh.FIELDS, pages),
            (sh.N_WRITERS, "writers", sh.WORDS, pages),
            (sh.N_SINGLES, "singles", sh.PAGE, 0),
            (sh.N_OWNERS, "owners", sh.GRANULES, 0),
        ):
            self.followed[name].reserve((int(counts[place]) + extra + self.most_pages) * row)
        self.followed["objects"].reserve((int(counts[sh.N_OBJECTS]) + self.most_steps) * 4)
        self.followed["globals"].reserve((int(counts[sh.N_GLOBALS]) + 2) * 2)
        self.stack.grow(state)
        fill = fitting(sh.rehash, self.keys.size)
        self.keys, self.values = sh.with_room(
            self.keys, self.values, int(counts[sh.N_PAGES]) + pages + self.most_pages, fill
        )

    def _grow_reads(self, heads: int, reads: int) -> None:
        """Room for more readers: entries that no word leads to are removed before memory is allocated."""
        counts, entries = self.counts, self.followed["reads"]
        self.followed["heads"].reserve((int(counts[sh.N_HEADS]) + heads) * sh.WORDS)
        if int(counts[sh.N_READS]) + reads <= entries.capacity:
            return
        used = int(counts[sh.N_HEADS]) * sh.WORDS
        sweep = fitting(compact, used + entries.capacity)
        counts[sh.N_READS] = sweep(self.followed["heads"].array, used, entries.array, int(counts[sh.N_READS]))
        entries.reserve(max(2 * int(counts[sh.N_READS]), used) + reads)  # so that most calls remove nothing
        if max(int(self.state[fr.NODES]) >> 1, entries.capacity) >= MOST_VERTICES >> 1:
            raise UnsupportedError(
                "the run is too long for 'war' dependences",
                hint="Record a part of it (max_instructions, functions), or leave these dependences out.",
            )

    def _lengthy(self) -> bool:
        """Whether the walk stopped because it should be compiled."""
        return int(self.state[fr.NODES]) > FEW or int(self.state[fr.WORK]) > FEW_BYTES

    def _forget(self) -> None:
        """Add what is finished to the sums, and drop it."""
        edges, nodes = int(self.state[fr.EDGES]), int(self.state[fr.NODES]) - int(self.state[fr.ORIGIN])
        if self.sums is not None:
            self.sums.add(output_of(self.arrays), edges, nodes)
            self.state[fr.EDGES] = 0
            self.state[fr.ORIGIN] = self.state[fr.NODES]

    @property
    def n(self) -> int:
        """Vertices so far."""
        return int(self.state[fr.NODES])

    @property
    def bytes(self) -> int:
        """Size of the graph so far, without the shadow memory."""
        wide = self.arrays["src"].dtype == np.int64
        each = output.WIDE_EDGE_BYTES if wide else output.EDGE_BYTES
        return int(self.state[fr.EDGES]) * each + int(self.state[fr.NODES]) * (
            output.NODE_BYTES + output.ADDRESS_BYTES * ("address" in self.arrays)
        )

    def _widen(self) -> None:
        """Go on with 64-bit ids, and without templates."""
        self.writer, self.simple = None, False
        state, counts = self.state, self.counts
        for name in ("src", "dst"):
            self.arrays[name] = self.arrays[name].widened(np.int64, int(state[fr.EDGES]))
        self.followed["writers"] = self.followed["writers"].widened(np.int64, int(counts[sh.N_WRITERS]) * sh.WORDS)
        self.followed["singles"] = self.followed["singles"].widened(np.int64, int(counts[sh.N_SINGLES]) * sh.PAGE)
        self.stack.widen()


def dependence_graph(static: Static, chunks: Iterable[Words], **options: Any) -> DependenceGraph:
    """The graph of one thread's stream, given as chunks that are cut at record borders. `options`: see Builder."""
    builder = Builder(static, **options)
    for chunk in chunks:
        builder.feed(chunk)
    return builder.graph()
