"""The traced run: the child process fills chunks, this process takes them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracecut.support.errors import ArgumentError, ProgramError
from tracecut.support.process.runner import UNLIMITED, Finished, Limits, run
from tracecut.tracer.trace.tables.static_tables import Static

from .reader import ALL, Reader, Sink, Totals
from .shared_chunks import Ring

MEMORY = 8 << 20  # bytes of buffers: larger ones do not fit the caches
NAP = 100e-6  # seconds between two polls of an empty queue


class Stopped(Exception):
    """Raised to stop the program."""


@dataclass(frozen=True)
class Window:
    """The part of a run that is kept.

    Attributes:
        start: instructions to skip first; the stream then begins with RESUMED.
        size: instructions to keep from there, rounded to whole records, None: all. The others are counted; TRUNCATED
            says how many records were not kept.
        stop: whether to stop the program at the end of the window.
    """

    start: int = 0
    size: int | None = None
    stop: bool = False


WHOLE = Window()


@dataclass(frozen=True)
class Recorded:
    """How a traced run went.

    Attributes:
        finished: of the child runner, None when the program was stopped at the end of the window.
        totals: counts. streams: one per thread, and one per level of nested signal handlers.
        forks: processes that the program forked; what they do is not recorded.
        waited: seconds that the program waited because buffers were full.
        truncated: some stream has a TRUNCATED mark. damaged: the program wrote into the buffers; records are lost.
        crashed: (stream, segment) of records that were incomplete when the program ended.
    """

    finished: Finished | None
    totals: Totals
    streams: int
    threads: int
    forks: int
    waited: float
    truncated: bool
    damaged: bool = False
    crashed: tuple[tuple[int, int], ...] = ()


def record(
    command: Sequence[str | Path],
    static: Static,
    sink: Sink,
    *,
    folder: Path,
    name: str = "traced",
    stdin: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limits: Limits = UNLIMITED,
    memory: int = MEMORY,
    window: Window = WHOLE,
    runs: bool = False,
) -> Recorded:
    """Run a traced program and pass its words to `sink(stream, words)`, chunk by chunk, while it runs.

    Chunks hold whole records; the array is only valid during the call. Each stream begins with a THREAD mark and ends
    with END. The program waits when the sink is slower; nothing is lost, however the program ends.

    Args:
        command: the executable made of `compile.traced_objects`, and its arguments.
        memory: bytes of buffers. window: the part of the run to keep.
        runs: pass compact records (`loop_runs`, `strided_loops`) to the sink, not the records that they stand for.

    Raises ProgramError if the program cannot be started or destroys the buffers, and whatever the sink raises; the
    program is stopped then. Memory: `memory` + 1 MiB a thread.
    """
    if window.start < 0 or (window.size is not None and window.size < 0) or memory < 1:
        raise ArgumentError(f"start {window.start}, max_instructions {window.size} or memory {memory} is negative")
    outcome: list[Finished] = []
    failure: list[BaseException] = []
    stop = threading.Event()
    done = threading.Event()

    def tick(elapsed: float) -> None:
        if stop.is_set():
            raise Stopped

    def child() -> None:
        try:
            environment = {**(os.environ if env is None else env), "TRACECUT_RING": str(ring.file)}
            outcome.append(
                run(
                    command,
                    stdin=stdin,
                    folder=folder,
                    name=name,
                    env=environment,
                    cwd=cwd,
                    limits=limits,
                    pass_fds=(ring.file,),
                    tick=tick,
                )
            )
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    with Ring(memory) as ring:
        reader = Reader(ring, static, sink, window.start, ALL if window.size is None else window.size, runs=runs)
        thread = threading.Thread(target=child, name="tracecut-child")
        thread.start()
        try:
            while True:
                last = done.is_set()
                busy = reader.take_all()
                if window.stop and reader.full:
                    break
                if last and not busy:
                    break
                if not busy:
                    time.sleep(NAP)
        finally:
            stop.set()
            while thread.is_alive():
                thread.join()
        full = window.stop and reader.full and not outcome
        if failure and not (full and isinstance(failure[0], Stopped)):
            raise failure[0]
        if not ring.count("started") and not full:
            said = outcome[0].stderr.read_text(errors="replace").strip()[-500:] if outcome else ""
            raise ProgramError(
                "the traced program ended before it began", detail=said, hint="One of its libraries may not load."
            )
        finished = outcome[0] if outcome else None
        reader.finish(finished)
        return Recorded(
            finished=finished,
            totals=reader.totals,
            streams=len(reader.streams),
            threads=ring.count("threads"),
            forks=ring.count("forks"),
            waited=ring.count("waited") / 1e9,
            truncated=reader.truncated,
            damaged=reader.damaged,
            crashed=tuple(reader.crashed),
        )
