"""The instrumented run: a child process that hosts the program, `python -m tracecut.tracer.capture.child SPEC`"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops import nest_json
from tracecut.ir.loops.nest import Nest
from tracecut.support import memory_amounts
from tracecut.support.dataclass_json import from_json
from tracecut.support.files import load_json, write_json
from tracecut.support.process.load_and_run import at_exit, load_library, run_main
from tracecut.support.process.own_stack import own_stack
from tracecut.support.process.program_identity import become
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import Memory, Object
from tracecut.tracer.legality.live_memory import LiveObjects
from tracecut.tracer.legality.row_arenas import Load, row_places, written_arrays
from tracecut.tracer.legality.row_columns import FlatScope
from tracecut.tracer.runtime.hook_slots import named_numbers

from .kept_bytes import KeptBytes
from .request import CaptureRequest
from .snapshot import Capture, keep_only, objects_at, surely_fewer, touched_objects, written_objects
from .watch import begin_watching, own_work

LoopCall = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64))


class Tracer:
    """Receives the hooks of an instrumented program.

    Captures a hooked loop at its `first_entry`-th entry when it has at least `min_jobs` iterations then, and again
    when an entry is four times larger than what was captured.
    """

    def __init__(self, request: CaptureRequest) -> None:
        self.folder = request.folder
        self.first_entry, self.min_jobs = request.first_entry, request.min_jobs
        self.byte_limit, self.memory = request.byte_limit, request.memory
        self.n_loops, self.n_blocks = request.n_loops, request.n_blocks
        self.nests: dict[int, Nest] = {loop: nest_json.from_json(data) for loop, data in request.nests.items()}
        self.flattened = {loop: nest_json.from_json(data) for loop, data in request.flattened.items()}
        self.tables = request.tables
        self.values = {loop: list(found) for loop, found in request.values.items()}
        self.library = load_library(request.library)
        self.kept = KeptBytes(self.folder, self.library)
        self.objects = LiveObjects(self.library, list(request.globals))
        self.latest: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.captured: dict[int, tuple[int, str]] = {}
        self.notes: list[str] = []
        self.refused: dict[int, str] = {}
        # loop → (entry that was captured, what it writes, nests and what is live into them)
        self.pending: dict[int, tuple[int, list[Object], list[tuple[Nest, dict[str, int | float]]]]] = {}
        self.started = time.perf_counter()
        slots = max(1, self.n_loops)
        self.next = np.ones(slots, np.int64)
        self.next[:] = np.iinfo(np.int64).max
        for loop in self.nests:
            self.next[loop] = 1
        self.entries = np.zeros(slots, np.int64)
        self.awaited = np.zeros(slots, np.uint8)
        ctypes.c_void_p.in_dll(self.library, "tc_loop_awaited").value = self.awaited.ctypes.data
        ctypes.c_void_p.in_dll(self.library, "tc_loop_next").value = self.next.ctypes.data
        ctypes.c_void_p.in_dll(self.library, "tc_loop_entries").value = self.entries.ctypes.data
        self._callback = LoopCall(self.on_loop)
        ctypes.c_void_p.in_dll(self.library, "tc_on_loop").value = ctypes.cast(self._callback, ctypes.c_void_p).value

    def on_loop(self, loop: int, pointer: Any) -> None:
        """A hooked loop is entered, or (as ~loop) one that was captured is left."""
        try:
            with own_work():
                if loop < 0:
                    self._left(~loop)
                else:
                    self._on_loop(loop, pointer)
        except Exception as error:  # a failure to observe must never reach the program
            self.notes.append(f"loop {loop} could not be captured: {type(error).__name__}: {error}")
            self.next[loop if loop >= 0 else ~loop] = np.iinfo(np.int64).max

    def _left(self, loop: int) -> None:
        """Keep what the loop itself made of the captured memory: the reference of the self-test."""
        entry, written, nests = self.pending.pop(loop)
        kept = keep_only(self.objects.memory(nests), written)
        # After an exit that was not seen (a longjmp) this is the end of another entry.
        if int(self.entries[loop]) == entry and any(site.writes for site in self.nests[loop].sites):
            Capture(loop, entry, {}, kept).save(self.folder / f"after-{loop}.npz", self.kept)

    def _on_loop(self, loop: int, pointer: Any) -> None:
        entry = int(self.entries[loop])
        raw = tuple(int(pointer[place]) for place in range(len(self.values[loop])))
        self.latest[loop] = (entry, raw)
        self.next[loop] = max(entry * 2, entry + 1)
        if entry < self.first_entry:
            return
        nest = self.nests[loop]
        numbers = self.numbers(loop, raw)
        least = max(self.min_jobs, 4 * self.captured.get(loop, (0, ""))[0])
        if surely_fewer(nest, numbers, least):
            return
        memory = self.objects.memory([(nest, numbers)])
        jobs = self._jobs(Evaluation(nest, memory, numbers, limit=self.memory))
        if jobs < least:
            return
        around = {
            other: values
            for other, (seen, values) in self.latest.items()
            if other != loop and seen == int(self.entries[other])
        }
        live = {loop: numbers} | {other: self.numbers(other, values) for other, values in around.items()}
        nests = [(self.nests[each], found) for each, found in live.items()]
        if around:  # what these loops keep on the stack is needed in their scopes
            memory = self.objects.memory(nests)
        wanted: set[Object] = set()
        rows, seen = np.zeros(len(memory.objects), np.bool_), set[Load]()
        for other in (*around, loop):  # what a scope around reaches holds what the loop does
            wanted |= touched_objects(self.nests[other], memory, live[other])
            rows |= self._rows(other, memory, live[other], seen, single=other != loop)
        wider = wanted | self._reached_at_entry(around, memory)
        of_rows = int(memory.columns().sizes[rows].sum())
        if sum(item.size for item in wider) + of_rows <= self.byte_limit:
            wanted = wider
        size = sum(item.size for item in wanted) + of_rows
        if size > self.byte_limit:
            self.refused[loop] = (
                f"its inspection would copy {memory_amounts.size(size)} of memory that it touches, "
                f"{memory_amounts.size(self.byte_limit)} are allowed (a part of --memory)"
            )
            self.next[loop] = np.iinfo(np.int64).max
            return
        name = f"capture-{loop}.npz"
        kept = keep_only(memory, wanted, rows)
        Capture(loop, entry, {**around, loop: raw}, kept, own_stack()).save(self.folder / name, self.kept)
        self.captured[loop] = (jobs, name)
        (self.folder / f"after-{loop}.npz").unlink(missing_ok=True)  # it belonged to an earlier capture
        written = [*written_objects(nest, memory, numbers), *self._arrays(loop, memory, numbers)]
        self.pending[loop] = entry, written, nests
        self.awaited[loop] = 1

    def _rows(
        self, loop: int, memory: Memory, numbers: dict[str, int | float], seen: set[Load], *, single: bool
    ) -> npt.NDArray[np.bool_]:
        """Which objects a loop reaches through tables of pointers; `seen`: loads of these that were, grows."""
        nest = self.flattened.get(loop)
        if nest is None:
            return np.zeros(len(memory.objects), np.bool_)
        found, names = row_places(FlatScope(nest, self.tables, memory, numbers, single), seen)
        seen |= names
        return found

    def _arrays(self, loop: int, memory: Memory, numbers: dict[str, int | float]) -> list[Object]:
        """Arrays of the program that a loop writes through pointers to their records."""
        nest = self.flattened.get(loop)
        return [] if nest is None else written_arrays(FlatScope(nest, self.tables, memory, numbers, single=False))

    def _reached_at_entry(self, around: Mapping[int, tuple[int, ...]], memory: Memory) -> set[Object]:
        """Objects that all pointers at the entries of scopes lead to: without its exits, a scope may need any."""
        found: set[Object] = set()
        for loop, raw in around.items():
            numbers = self.numbers(loop, raw)
            for name, type in self.values[loop]:
                if type == "ptr":
                    found |= objects_at(memory, int(numbers[name]))
        return found

    def _jobs(self, evaluation: Evaluation) -> int:
        """Iterations of this entry of a loop, 0 when they are not known."""
        root = evaluation.nest.root
        if not evaluation.nest.loops[root].ends_early:
            return evaluation.root_size() or 0
        domain = evaluation.whole(root)
        return 0 if domain is None else domain.size

    def numbers(self, loop: int, raw: tuple[int, ...]) -> dict[str, int | float]:
        """Live values of a hooked loop by name."""
        return named_numbers(self.values[loop], raw)

    def report(self) -> None:
        """Write what was counted; runs when the program exits."""
        with own_work():
            self._report()

    def _report(self) -> None:
        counts = (ctypes.c_int64 * max(1, self.n_loops + self.n_blocks)).in_dll(self.library, "tc_counts")
        write_json(
            self.folder / "profile.json",
            {
                "iterations": [int(counts[loop]) for loop in range(self.n_loops)],
                "blocks": [int(counts[self.n_loops + place]) for place in range(self.n_blocks)],
                "entries": {str(loop): int(self.entries[loop]) for loop in self.nests},
                "captures": {str(loop): name for loop, (_, name) in self.captured.items()},
                "seconds": time.perf_counter() - self.started,
                "notes": self.notes,
                "refused": {str(loop): why for loop, why in self.refused.items()},
            },
        )


def main() -> None:
    request = from_json(CaptureRequest, load_json(Path(sys.argv[1]), limit=1 << 30))
    words = list(request.argv)
    if request.watch is not None:
        begin_watching(request.watch, request.folder)
    place = become(words)  # before the library is loaded: its constructors may look
    tracer = Tracer(request)
    at_exit(tracer.report)
    tracer.started = time.perf_counter()
    run_main(tracer.library, words, place)


if __name__ == "__main__":
    main()
