"""A trace: the tables of the module, the records of the run, and how it ended."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tracecut.ir.job_region import Region
from tracecut.tracer.trace.events.event_words import Words
from tracecut.tracer.trace.file.trace_file import TraceFile
from tracecut.tracer.trace.record.record import Recorded
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.static_tables import Static

ENDS_EARLY = "ends before the run does (it was cut off): it is good up to its last whole chunk"


class Trace:
    """The recorded run of a program: `chunks()` yields its words, `static` says what they mean.

    Attributes:
        static: tables of the traced module. meta: how the trace was made (sources, flags, arguments, versions).
        path: the file, None when nothing was kept.
        totals: exact counts of the whole run: records, instructions, words, and kept_… of what is in the file; empty
            when the file ends early.
        outcome: how the program ended, such as "left with status 0". ok: it exited with status 0.
        regions: of a trace of level "jobs": the hottest loops as jobs; there are no records then.
        notes: what the trace lacks, in sentences. stderr: the end of the program's standard error.
    """

    def __init__(
        self, static: Static, meta: Mapping[str, Any], tail: Mapping[str, Any] | None, file: TraceFile | None
    ) -> None:
        self.static = static
        self.meta = dict(meta)
        self._file = file
        self.path = None if file is None else file.path
        tail = tail or {}
        self.totals: dict[str, int] = dict(tail.get("totals", {}))
        self.outcome = str(tail.get("outcome", "unknown: the recording was cut off"))
        self.ok = bool(tail.get("ok", False))
        self.notes: tuple[str, ...] = tuple(tail.get("notes", ()))
        self.stderr = str(tail.get("stderr", ""))
        self.streams = int(tail.get("streams", 0))
        self.regions: tuple[Region, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Open a trace file, complete or cut off. Raises ArtefactError for a damaged one."""
        file = TraceFile(path)
        return cls(file.static, file.meta, file.tail, file)

    @property
    def complete(self) -> bool:
        """Whether the recording reached the end of the run, however the program ended."""
        return bool(self.totals)

    def chunks(self, *, runs: bool = False) -> Iterator[tuple[int, Words]]:
        """(stream, uint32 words of whole records), see `event_words`. Empty when nothing was kept.

        Args:
            runs: yield compact records as they are stored (`loop_runs`, `strided_loops`); otherwise they are expanded.
        """
        if self._file is None:
            return
        expander = Expander(self.static)
        for stream, words in self._file.chunks():
            for part in [words] if runs else expander.pieces(words, stream):
                yield stream, part

    def reduced(self, regions: Sequence[Region]) -> Trace:
        """The same run without its records, as jobs."""
        other = copy(self)
        other.regions = tuple(regions)
        other._file = other.path = None
        return other

    def own(self, folder: Path) -> None:
        """Remove a folder when this object is deleted."""
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def __repr__(self) -> str:
        if self.regions:
            jobs = sum(region.graph.n_jobs for region in self.regions)
            return f"<Trace of {jobs} jobs of {len(self.regions)} loops, {self.outcome}: {self.static!r}>"
        count = self.totals.get("kept_instructions", "an unknown number of")
        return f"<Trace of {count} instructions, {self.outcome}: {self.static!r}>"


def tail_of(recorded: Recorded, outcome: str, notes: list[str], stderr: str) -> dict[str, Any]:
    """The TAIL of a trace file."""
    return {
        "totals": asdict(recorded.totals),
        "outcome": outcome,
        "ok": recorded.finished is not None and recorded.finished.ok,
        "notes": notes,
        "stderr": stderr,
        "streams": recorded.streams,
        "threads": recorded.threads,
        "forks": recorded.forks,
        "truncated": recorded.truncated,
    }
