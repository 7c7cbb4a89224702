"""Loop-carried dependences of the hottest loops: `loop_summaries`, `tracecut graph --loops`.

The records of a kept trace are read twice: to find the hottest loops, and to follow their dependences.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecut.ir.job_region import DATUM, Region
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.debug_info import Lines, Place
from tracecut.support.argument_checks import AnyPath, whole_number
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.support.plain_kernels import FEW
from tracecut.tracer.depgraph.loops.iteration_dependences import LoopFollower, LoopSummary
from tracecut.tracer.depgraph.loops.job_graph import JobFollower
from tracecut.tracer.trace.line_profile import SegmentCounter, instruction_counts, places_of
from tracecut.tracer.trace.tables.static_tables import Static
from tracecut.tracer.trace.trace import Trace

MOST_LOOPS = 8
SHOWN = 4  # number of distances that are printed


def loop_summaries(source: Trace | AnyPath, *, most: int = MOST_LOOPS) -> list[LoopSummary]:
    """Dependences between the iterations of the loops that did the most work, exact and in bounded memory.

    Args:
        source: a Trace that was kept, or a trace file (`.tct`).
        most: how many loops; those that executed the most instructions of their own function come first. Loops that
            never reached a second iteration are left out.

    Raises ArgumentError, ArtefactError, and UnsupportedError for programs with several threads.
    """
    most = whole_number("most", most, 1)
    source = source if isinstance(source, Trace) else Trace.load(os.fspath(source))
    names = hottest_loops(source.static, segments_of(source), most)
    found = [LoopFollower(source.static, *name, few=_few(source)) for name in names]
    feed_all(source, found)
    return [follower.summary() for follower in found]


def job_regions(kept: Trace, *, most: int = MOST_LOOPS, datum: int = DATUM) -> list[Region]:
    """The hottest loops of a kept trace as jobs.

    Args:
        most: how many loops. datum: bytes of a datum, a power of two; 64 makes it a line of the caches.

    Memory: 6 bytes per pin (a job and a datum that it touches) and 32 per datum. Raises ArgumentError, and
    UnsupportedError for programs with several threads.
    """
    names = hottest_loops(kept.static, segments_of(kept), most)
    found = [JobFollower(kept.static, *name, datum=datum, few=_few(kept)) for name in names]
    feed_all(kept, found)
    return [follower.region() for follower in found]


def _few(kept: Trace) -> bool:
    return kept.totals.get("kept_instructions", FEW + 1) <= FEW


def segments_of(kept: Trace) -> npt.NDArray[np.int64]:
    """How often each segment of a kept trace ran. Raises ArgumentError; UnsupportedError for several streams."""
    if kept.path is None:
        raise ArgumentError("the trace was made with keep=False: it has no records")
    counter = SegmentCounter(kept.static)
    streams = set()
    for stream, words in kept.chunks():
        streams.add(stream)
        counter.take(stream, words)
    if len(streams) > 1:
        raise UnsupportedError(
            "the program has several threads or signal handlers: the order of their accesses is not known",
            hint="Run it with one thread (OMP_NUM_THREADS=1).",
        )
    return counter.counts


def feed_all(kept: Trace, followers: Sequence[LoopFollower | JobFollower]) -> None:
    """Pass all records to each sink, chunk by chunk."""
    for _, words in kept.chunks() if followers else ():
        for follower in followers:
            follower.feed(words)


def hottest_loops(static: Static, segments: npt.NDArray[np.int64], most: int) -> list[tuple[str, str]]:
    """(function, header) of the loops with the most executed instructions; `segments`: how often each one ran."""
    counts = instruction_counts(static, segments)
    rows: list[tuple[int, int, str, str]] = []
    for number, name in enumerate(static.functions):
        body = static.module.functions[name]
        base = int(static.function_block[number])
        block = {one.name: base + place for place, one in enumerate(body.blocks)}
        for loop in ControlFlow(body).loops:
            first = static.block_first
            work = sum(int(counts[first[block[one]] : first[block[one] + 1]].sum()) for one in loop.blocks)
            if segments[static.block_segment[block[loop.header]]] > 1:
                rows.append((-work, len(rows), name, loop.header))
    return [(name, header) for _, _, name, header in sorted(rows)[:most]]


def loop_rows(static: Static, summaries: Sequence[LoopSummary]) -> list[dict[str, Any]]:
    """The summaries as plain values with source lines, for JSON."""
    places = places_of(static, nearest=True)

    def shown(place: Place | None) -> str:
        return "" if place is None else f"{Path(place.file).name}:{place.line}"

    def line(instruction: int) -> str:
        return shown(places[instruction])

    lines = Lines(static.module.metadata())
    rows = []
    for loop in summaries:
        flow = ControlFlow(static.module.functions[f"@{loop.function}"])
        own = next(one for one in flow.loops if one.header == loop.header)
        row = asdict(loop) | {"line": shown(lines.loop_place(flow, own)), "parallel": loop.parallel}
        for kind in ("flow", "anti", "output"):
            row[kind] = {str(distance): pairs for distance, pairs in row[kind].items()}
        for datum in row["data"]:
            datum["lines"] = sorted({text for text in map(line, datum.pop("instructions")) if text})
        row["unknown"] = sorted({text for text in map(line, row["unknown"]) if text})
        rows.append(row)
    return rows


def loop_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The summaries as lines of text."""
    yield "loops (by work)" if rows else "no loop reached a second iteration"
    for row in rows:
        name = f"{row['function']} {row['line'] or row['header']}"
        verdict = "iterations are independent" if row["parallel"] else "iterations depend on each other"
        runs = "1 run" if row["runs"] == 1 else f"{row['runs']:,} runs"
        yield f"  {name}: {row['jobs']:,} iterations in {runs}; {verdict}"
        for kind in ("flow", "anti", "output"):
            if row[kind]:
                yield f"    {kind:<8} {_distances(row[kind])}"
        for name, what in row["carried"].items():
            if what != "counter":
                yield f"    carried  {name} in a register: {what}"
        for datum in row["data"]:
            where = ", ".join(datum["lines"]) or "an unknown line"
            if datum["reduction"]:
                yield f"    reduced  by {datum['reduction']} at {where}"
            elif datum["private"]:
                first = ", with the value from before the loop" if datum["copied_in"] else ""
                yield f"    private  each iteration may have its own copy of the data that {where} touches{first}"
        if row["unknown"]:
            yield f"    unknown  the memory effects of {', '.join(row['unknown'])}: iterations may depend on each other"


def _distances(pairs: Mapping[str, int]) -> str:
    ordered = sorted(pairs.items(), key=lambda item: -item[1])
    shown = ", ".join(
        f"{count:,} {'pair' if count == 1 else 'pairs'} at distance {distance}" for distance, count in ordered[:SHOWN]
    )
    return shown if len(ordered) <= SHOWN else f"{shown}, {len(ordered) - SHOWN} more distances"


__all__ = ["feed_all", "hottest_loops", "job_regions", "loop_lines", "loop_rows", "loop_summaries", "segments_of"]
