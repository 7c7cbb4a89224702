"""The dynamic dependence graph of a program (VertexCut §3): as a Python call, and as `tracecut graph`."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecut.ir.dependence import DependenceGraph
from tracecut.ir.errors import ArgumentError, ProgramError, UnsupportedError, UsageError
from tracecut.ir.machine import Machine
from tracecut.tracer.dependence.builder import Builder, Ending
from tracecut.tracer.dependence.measured import measured_graph
from tracecut.tracer.events.static import Static
from tracecut.tracer.events.trace import Trace

from .api import AnyPath

WEIGHTS = ("model", "unit", "measured")
REPEATS = 3  # runs that are measured
USAGE = "tracecut graph SOURCE… [compiler options] [options] [-- program arguments]"
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Built:
    """A graph, the trace it was made from, how the stream of events ended, and how well measured times agree."""

    graph: DependenceGraph
    trace: Trace
    ending: Ending
    correlation: float | None = None


class PartialGraphWarning(UserWarning):
    """The program did not end well, or not all of it was recorded: the graph holds what was captured."""


def dependence_graph(
    source: Trace | AnyPath | Sequence[AnyPath] | Callable[..., Any],
    argv: Sequence[Any] = (),
    *,
    weights: str = "model",
    machine: Machine | None = None,
    control: bool = False,
    **options: Any,
) -> DependenceGraph:
    """The dynamic dependence graph of one run: every executed IR instruction, and what it needs from which other.

    A graph depends on the program, its input and the weights alone: neither on where the system puts the program's
    memory nor on the folder it is made in.

    Args:
        source: a Trace, a trace file (`.tct`), or what `trace` takes: the graph is then built while the program runs.
        argv: arguments of the program.
        weights: `"model"`: cycles of simulated caches; `"unit"`: 1 for every memory access; `"measured"`: medians of
            the times of three runs, refused where the runs do not agree (`tracer.dependence.measured`).
        control: whether to have control dependences, too: of each instruction on the branch that let its block run.
        machine: the caches and latencies of the model, None: `Machine.model()`, the core of VertexCut §6.1.
        options: of `trace` (`opt`, `functions`, `max_instructions`, `stdin`, `timeout`, …).

    Returns:
        A DependenceGraph; with a PartialGraphWarning when the program failed or records are missing.

    Raises:
        ArgumentError, SourceError, UnsupportedError: as `trace`; UnsupportedError also for programs with several
            threads, whose accesses have no known order.
        ArtefactError: the trace file is damaged.
    """
    built = build_graph(source, argv, weights=weights, machine=machine, control=control, **options)
    said = shortfall(built)
    if said:
        warnings.warn(said, PartialGraphWarning, stacklevel=2)
    return built.graph


def build_graph(
    source: Trace | AnyPath | Sequence[AnyPath] | Callable[..., Any],
    argv: Sequence[Any] = (),
    *,
    weights: str = "model",
    machine: Machine | None = None,
    control: bool = False,
    **options: Any,
) -> Built:
    """As `dependence_graph`, with all that is known about the run."""
    if weights not in (*WEIGHTS, "times"):
        raise ArgumentError(f"weights = {weights!r}, one of {', '.join(WEIGHTS)} expected")
    if weights == "measured":
        return _measured(source, argv, machine, {**options, "control": control})
    sink = _Sink(weights, machine, control)
    if not isinstance(source, Trace) and str(source).endswith(".tct"):
        source = Trace.load(str(source))
    if isinstance(source, Trace):
        if argv or options:
            raise ArgumentError("the trace is made already: argv and options of `trace` make no sense")
        if source.path is None:
            raise ArgumentError("the trace was made with keep=False: there are no records to build from")
        take = sink.begin(source.static)
        for stream, words in source.chunks():
            take(stream, words)
        return sink.end(source)
    from .recorder import trace

    if "sink" in options or "build" in options:
        raise ArgumentError("sink: the graph takes the records itself")
    options.setdefault("keep", "output" in options)
    return sink.end(trace(source, argv, build=sink.begin, **options))


def _measured(source: Any, argv: Sequence[Any], machine: Machine | None, options: dict[str, Any]) -> Built:
    if isinstance(source, Trace) or str(source).endswith(".tct"):
        raise ArgumentError(
            "weights = 'measured': a trace is one run, and several have to agree", hint="Give the program's source."
        )
    runs = []
    for _ in range(REPEATS):
        runs.append(build_graph(source, argv, weights="times", machine=machine, timed=True, **options))
        if not runs[-1].trace.ok:
            raise ProgramError(f"the program {runs[-1].trace.outcome}: its times are not measured")
    graph, correlation = measured_graph([run.graph for run in runs], runs[0].trace.static)
    return Built(graph, runs[0].trace, runs[0].ending, correlation)


class _Sink:
    """Feeds the one thread of a program to a builder."""

    def __init__(self, weights: str, machine: Machine | None, control: bool) -> None:
        self.weights = weights
        self.control = control
        self.machine = machine
        self.builder: Builder | None = None
        self.stream: int | None = None

    def begin(self, static: Static) -> Callable[[int, Words], None]:
        self.builder = Builder(static, weights=self.weights, machine=self.machine, control=self.control)
        return self._take

    def end(self, trace: Trace) -> Built:
        assert self.builder is not None
        return Built(self.builder.graph(), trace, self.builder.ending())

    def _take(self, stream: int, words: Words) -> None:
        assert self.builder is not None
        if self.stream not in (None, stream):
            raise UnsupportedError(
                "the program has several threads or signal handlers: the order of their accesses is not known",
                hint="Run it with one thread (OMP_NUM_THREADS=1).",
            )
        self.stream = stream
        self.builder.feed(words)


def shortfall(built: Built) -> str:
    """Why the graph is only a part, empty when it is whole."""
    if not built.trace.ok:
        return f"the program {built.trace.outcome}; the graph holds what it did until then"
    if built.ending.lost:
        return f"{built.ending.lost} records were not kept; the graph holds the others"
    return ""


def run_graph(words: list[str]) -> int:
    """The sub-command. Returns 1, with what was captured, when the program fails.

    Raises UsageError, and what `build_graph` and `DependenceGraph.export` raise.
    """
    from .cli import _handle_signals, _seconds, _sort_words, _split
    from .trace_command import _count

    _handle_signals()
    ours, program = _split(words)
    parser = argparse.ArgumentParser(
        prog="tracecut graph",
        usage=USAGE,
        description="Build the dynamic dependence graph of one run. Everything that is not listed here goes to the "
        "compiler; a trace file (.tct) may stand in the place of the sources.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", help="the graph: .npz, .graphml, .dot, .graph (METIS) or an edge list (.txt)")
    add("--weights", choices=WEIGHTS, default="model", help="times of memory accesses (default: %(default)s)")
    add("--control", action="store_true", help="control dependences, too")
    add("--opt", choices=("O1", "seed"), default="O1", help="O1: optimised, scalar; seed: unoptimised")
    add("--function", action="append", metavar="NAME", help="record only this function; may be given again")
    add("--max-instructions", type=_count, metavar="N", help="keep so many IR instructions")
    add("--timeout", type=_seconds, metavar="S", help="stop the program after so many seconds")
    add("--stdin", metavar="FILE", help="standard input of the program (default: empty)")
    add("--json", action="store_true", help="print the statistics as JSON")
    add("-q", "--quiet", action="store_true", help="print nothing when all is well")
    mine, compiler = _sort_words(parser, ours)
    options = parser.parse_args(mine)
    files = [word for word in compiler if not word.startswith("-")]
    if not files:
        raise UsageError("no source file was given", hint=USAGE)
    if files[0].endswith(".tct"):
        if len(compiler) > 1 or program:
            raise UsageError(f"{files[0]} is a trace: sources, compiler options and arguments make no sense beside it")
        built = build_graph(files[0], weights=options.weights, control=options.control)
    else:
        built = build_graph(
            compiler,
            program,
            weights=options.weights,
            control=options.control,
            opt=options.opt,
            functions=options.function,
            max_instructions=options.max_instructions,
            timeout=options.timeout,
            stdin=options.stdin,
        )
    if options.output is not None:
        built.graph.export(options.output)
    if options.json:
        print(json.dumps(_plain(report(built)), indent=1, allow_nan=False))
    elif not options.quiet:
        _print(built, options.output)
    said = shortfall(built)
    if said:
        print("\n  ".join([f"tracecut: {said}", *built.trace.stderr.splitlines()]), file=sys.stderr)
    return 0 if built.trace.ok else 1


def report(built: Built) -> dict[str, Any]:
    """Statistics of the graph (`DependenceGraph.stats`), how the program ended, and what is not in the graph."""
    notes = [*built.trace.notes]
    if built.ending.unresolved:
        notes.append(f"{built.ending.unresolved} pointers given to unknown functions point to no known object")
    return {
        **built.graph.stats(),
        "weight": int(built.graph.weight.sum(dtype=np.int64)),
        "time": int(built.graph.time.sum(dtype=np.int64)),
        "outcome": built.trace.outcome,
        "ok": built.trace.ok,
        "lost": built.ending.lost,
        "rank_correlation": built.correlation,
        "notes": notes,
    }


def _print(built: Built, output: str | None) -> None:
    found = report(built)
    print(f"{found['nodes']:,} instructions, {found['edges']:,} dependences ({found['edges_per_node']:.3f} each)")
    kinds = ", ".join(f"{count:,} {name}" for name, count in found["kinds"].items() if count)
    print(f"  kinds            {kinds}")
    print(f"  cycles           {found['time']:,} of work, {found['weight']:,} on the edges")
    print(f"  power law        exponent {found['exponent']:.3f} from degree {found['exponent_from']}")
    print(f"  path length      {found['path_length']:.1f}")
    for note in found["notes"]:
        print(f"  note: {note}")
    if output is not None:
        print(f"graph in {output}")


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: numbers that a graph does not have are null."""
    return {key: None if isinstance(item, float) and item != item else item for key, item in value.items()}


__all__ = ["Built", "PartialGraphWarning", "build_graph", "dependence_graph", "run_graph"]
