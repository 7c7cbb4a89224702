"""The dynamic dependence graph of a program (VertexCut §3), as a Python call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.support.argument_checks import AnyPath, whole_number
from tracecut.support.errors import ArgumentError, ProgramError, UnsupportedError
from tracecut.support.memory_amounts import size
from tracecut.support.plain_kernels import FEW
from tracecut.support.private_folders import private_folder
from tracecut.support.process.standard_input import kept_input, problem_of
from tracecut.tracer.depgraph.builder import Builder, Ending, TooLarge
from tracecut.tracer.depgraph.choices import WEIGHTS
from tracecut.tracer.depgraph.measured_weights import measured_graph
from tracecut.tracer.depgraph.state.output import GraphTotals
from tracecut.tracer.depgraph.totals import Folder
from tracecut.tracer.trace.events.event_words import Words
from tracecut.tracer.trace.tables.static_tables import Static
from tracecut.tracer.trace.trace import ENDS_EARLY, Trace

REPEATS = 3  # number of runs whose times are measured
FREE_SHARE = 0.75  # share of the free memory that a graph without a stated limit may take
UNFENCED = (
    "weights are pairs of time stamps without fences, as in the vertex-cut paper, which do not wait for memory: "
    "around independent accesses they read about 20 cycles for an empty pair, a hit in the nearest cache and a miss "
    "in all caches alike; where they read more, the processor stalled there for some reason"
)
Source = Trace | AnyPath | Sequence[AnyPath] | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Built:
    """A graph, its trace, how the event stream ended, and the rank correlation of measured times."""

    graph: DependenceGraph
    trace: Trace
    ending: Ending
    correlation: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Summed:
    """As `Built`, where only the totals of the graph are kept."""

    graph: GraphTotals
    trace: Trace
    ending: Ending
    correlation: None = None
    notes: tuple[str, ...] = ()


class PartialGraphWarning(UserWarning):
    """The program failed, or was recorded in part: the graph is incomplete."""


def dependence_graph(
    source: Source,
    argv: Sequence[Any] = (),
    *,
    weights: str = "model",
    machine: Machine | None = None,
    kinds: Collection[str] = ("raw",),
    addresses: bool = False,
    memory: int | None = None,
    **options: Any,
) -> DependenceGraph:
    """The dynamic dependence graph of one run: all executed IR instructions and the dependences between them.

    A graph depends only on the program, its input and the weights: not on the addresses that the system gives the
    program, nor on the current folder.

    Args:
        source: a Trace, a trace file (`.tct`), or what `trace` takes: the graph is then built while the program runs.
        argv: arguments of the program.
        weights: `"model"`: cycles of simulated caches; `"unit"`: 1 for every memory access; `"measured"`: medians of
            the times of three runs, refused where the runs do not agree (`tracer.depgraph.measured_weights`); `"seed"`:
            the times of one run between time stamps without fences, as VertexCut §3.2 takes them. These do not wait for
            memory: around independent accesses an empty pair, a hit in the nearest cache and a miss in all caches all
            read about 20 cycles, so they carry hardly any information.
        machine: the caches and latencies of the model, None: `Machine.model()`, the core of VertexCut §6.1.
        kinds: kinds of dependences: `"raw"` (true dependences, through registers and memory) always; `"war"`: of each
            write on earlier reads of its bytes; `"waw"`: on the earlier writes of them; `"control"`: of each
            instruction on the branch that made its block run.
        addresses: store the address of each instruction's first access, for simulated caches
            (`DependenceGraph.address`).
        memory: largest size of the graph in bytes, None: three quarters of the free memory. A larger graph is refused
            with its estimated size.
        options: of `trace` (`opt`, `functions`, `max_instructions`, `stdin`, `timeout`, …).

    Returns:
        A DependenceGraph; with a PartialGraphWarning if the program failed or records are missing.

    Raises:
        ArgumentError, SourceError, UnsupportedError: as `trace`; UnsupportedError also for programs with several
            threads, whose accesses have no known order, and for graphs that are too large.
        ArtefactError: the trace file is damaged.
    """
    built = build_graph(
        source, argv, weights=weights, machine=machine, kinds=kinds, addresses=addresses, memory=memory, **options
    )
    said = shortfall(built)
    if said:
        warnings.warn(said, PartialGraphWarning, stacklevel=2)
    return built.graph


def build_graph(
    source: Source,
    argv: Sequence[Any] = (),
    *,
    weights: str = "model",
    machine: Machine | None = None,
    kinds: Collection[str] = ("raw",),
    addresses: bool = False,
    memory: int | None = None,
    **options: Any,
) -> Built:
    """As `dependence_graph`, with the trace and how the run ended."""
    if weights not in WEIGHTS:
        raise ArgumentError(f"weights = {weights!r}, one of {', '.join(WEIGHTS)} expected")
    most = int(FREE_SHARE * free_memory()) if memory is None else whole_number("memory", memory, 1)
    how = {"machine": machine, "kinds": kinds, "addresses": addresses, "most": most}
    if weights == "measured":
        return _measured(source, argv, how, options)
    sink = _Sink(weights=weights, **how)
    trace = _follow(source, argv, sink, {**options, "timed": "seed"} if weights == "seed" else options)
    if sink.refused is not None:
        raise _too_large(sink, trace, sink.refused, most)
    notes = (UNFENCED,) if weights == "seed" else ()
    return Built(sink.made().graph(), trace, sink.made().ending(), notes=notes)


def graph_totals(
    source: Source,
    argv: Sequence[Any] = (),
    *,
    weights: str = "model",
    machine: Machine | None = None,
    kinds: Collection[str] = ("raw",),
    **options: Any,
) -> Summed:
    """Exact numbers of instructions and dependences of a run of any length, in bounded memory.

    Arguments and errors as of `dependence_graph`; weights `"model"` or `"unit"`. Memory: the buffers of the trace,
    about 3 MiB, and about 1.1 times what the program touches.
    """
    if weights not in ("model", "unit"):
        raise ArgumentError(f"weights = {weights!r}: totals need model or unit weights")
    sink = _Sink(weights=weights, machine=machine, kinds=kinds, totals=True)
    trace = _follow(source, argv, sink, options)
    return Summed(sink.made().totals(), trace, sink.made().ending())


def _follow(source: Source, argv: Sequence[Any], sink: _Sink, options: dict[str, Any]) -> Trace:
    """Pass all records of a run to a sink."""
    if not isinstance(source, Trace) and str(source).endswith(".tct"):
        source = Trace.load(str(source))
    if isinstance(source, Trace):
        if argv or options.keys() - {"timed"}:
            raise ArgumentError("the source is a trace: argv and options of `trace` do not apply to it")
        if source.path is None:
            raise ArgumentError("the trace was made with keep=False: it has no records")
        if options.get("timed") == "seed" and source.static.timed and source.meta.get("timed") != "seed":
            raise ArgumentError("weights = 'seed': the time stamps of this trace have fences")
        take = sink.begin(source.static)
        for stream, words in source.chunks(runs=sink.runs):
            take(stream, words)
            if sink.refused is not None and source.totals:
                break
        return source
    from .trace import trace

    for name in ("sink", "build", "runs"):
        if name in options:
            raise ArgumentError(f"{name}: not an option here: the graph reads the records itself")
    options = {"keep": "output" in options, **options}
    return trace(source, argv, build=sink.begin, runs=sink.runs, **options)


def _measured(source: Any, argv: Sequence[Any], how: dict[str, Any], options: dict[str, Any]) -> Built:
    if isinstance(source, Trace) or str(source).endswith(".tct"):
        raise ArgumentError(
            "weights = 'measured': several runs are compared, a trace is one run", hint="Give the program's source."
        )
    runs: list[Built] = []
    silent: dict[str, None] = {}
    with private_folder("tracecut-input") as folder:
        if options.get("stdin") is not None and not problem_of(options["stdin"]):
            options = {**options, "stdin": kept_input(Path(options["stdin"]), folder)}
        for _ in range(REPEATS):
            sink = _Sink(weights="measured", **how)
            trace = _follow(source, argv, sink, {**options, **silent, "timed": True})
            silent = {"stdout": None, "stderr": None}  # the program's output is passed on from one run only
            if not trace.ok:
                raise ProgramError(f"the program {trace.outcome}: times are measured only of programs that succeed")
            if sink.refused is not None:
                raise _too_large(sink, trace, sink.refused, how["most"])
            runs.append(Built(sink.made().graph(), trace, sink.made().ending()))
    graph, correlation = measured_graph([run.graph for run in runs], runs[0].trace.static)
    return Built(graph, runs[0].trace, runs[0].ending, correlation)


class _Sink:
    """Feeds the one thread of a program to a builder, until the graph is too large."""

    def __init__(self, *, weights: str, **options: Any) -> None:
        self.options = {**options, "weights": weights if weights in ("model", "unit") else "times"}
        self.runs = bool(options.get("totals"))  # whether the builder reads compact runs without expansion
        self.builder: Builder | None = None
        self.feed: Callable[[Words], None] | None = None
        self.stream: int | None = None
        self.refused: tuple[int, int] | None = None  # bytes and vertices at the time the graph became too large

    def begin(self, static: Static) -> Callable[[int, Words], None]:
        threads = min(2, len(os.sched_getaffinity(0)))
        self.builder = Builder(static, threads=threads, few=FEW, **self.options)
        self.feed = Folder(self.builder).feed if self.runs else self.builder.feed
        return self._take

    def made(self) -> Builder:
        assert self.builder is not None
        return self.builder

    def _take(self, stream: int, words: Words) -> None:
        if self.stream not in (None, stream):
            raise UnsupportedError(
                "the program has several threads or signal handlers: the order of their accesses is not known",
                hint="Run it with one thread (OMP_NUM_THREADS=1).",
            )
        self.stream = stream
        if self.builder is None or self.feed is None:
            return  # further records are only counted, to estimate the size of the whole graph
        try:
            self.feed(words)
        except TooLarge as large:
            self.refused = large.bytes, self.builder.n
            self.builder = self.feed = None


def _too_large(sink: _Sink, trace: Trace, refused: tuple[int, int], most: int) -> UnsupportedError:
    taken, vertices = refused
    whole = max(vertices, trace.totals.get("kept_instructions", 0))
    return UnsupportedError(
        f"the graph takes about {size(taken / max(1, vertices) * whole)} ({whole:,} instructions), "
        f"more than the limit of {size(most)}",
        hint="Count only (--totals), record a part (--max-instructions, --function), or raise the limit (--memory).",
    )


def free_memory() -> int:
    """Free memory in bytes: of the system, or what the limit of its control group leaves."""
    found = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        found[name] = int(value.split()[0]) << 10
    free = found.get("MemAvailable", found["MemTotal"])
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file() and limit.read_text().strip().isdigit():
        free = min(free, max(0, int(limit.read_text()) - int(used.read_text())))
    return free


def shortfall(built: Built | Summed) -> str:
    """Why the graph is incomplete; empty if it is complete."""
    if not built.trace.complete:
        return f"{built.trace.path} {ENDS_EARLY}; the graph ends there"
    if not built.trace.ok:
        return f"the program {built.trace.outcome}; the graph ends there"
    if built.ending.lost:
        return f"{built.ending.lost} records were not kept and are missing from the graph"
    return ""


__all__ = ["Built", "PartialGraphWarning", "Summed", "build_graph", "dependence_graph", "graph_totals"]
