"""`tracecut graph`: the dynamic dependence graph of one run, its statistics, and the dependences of its loops."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracecut.support.errors import UsageError
from tracecut.tracer.depgraph.choices import WANTED, WEIGHTS

from .trace import _count, _size, tell_warnings
from .words import Parser, begin_work, input_file, seconds, sort_words, split_words

if TYPE_CHECKING:
    from tracecut.api.dependence_graph import Built, Summed
    from tracecut.tracer.trace.tables.approximated_calls import Met

USAGE = "tracecut graph SOURCE… [compiler options] [options] [-- program arguments]"


COMPILING = "compiling the graph builder: takes some seconds, once per installation"


@contextlib.contextmanager
def told_of_compiling(*, quiet: bool = False) -> Iterator[None]:
    """Print a message on stderr when Numba starts to compile, which it does if its cache does not have the code."""
    from numba.core import event

    class Once(event.Listener):
        said = quiet

        def on_start(self, event: object) -> None:
            if not self.said:
                self.said = True
                print(f"tracecut: {COMPILING}", file=sys.stderr, flush=True)

        def on_end(self, event: object) -> None:
            pass

    with event.install_listener("numba:compile", Once()):
        yield


def run_graph(words: list[str]) -> int:
    """Build a graph. Returns 1 if the program fails; the graph then ends at the failure. Program output goes to stderr.

    Raises UsageError, and what `build_graph` and `DependenceGraph.export` raise.
    """
    ours, program = split_words(words)
    parser = _parser()
    mine, compiler = sort_words(parser, ours)
    options = parser.parse_args(mine)
    begin_work()
    files = [word for word in compiler if not word.startswith("-")]
    if not files:
        raise UsageError("no source file was given", hint=USAGE)
    given = files[0].endswith(".tct")
    if given and (len(compiler) > 1 or program):
        raise UsageError(f"{files[0]} is a trace: it takes no sources, compiler options or arguments")
    if options.totals and options.output is not None:
        raise UsageError("-o and --totals exclude each other: --totals keeps no graph", hint=USAGE)
    if options.addresses and (options.output is None or not options.output.endswith(".npz")):
        raise UsageError(
            "--addresses needs -o with a name that ends in .npz: other formats do not store addresses", hint=USAGE
        )
    if options.output is not None:
        from tracecut.ir.dependence_graph_export import check_export

        check_export(options.output)
    from tracecut.api.dependence_graph import Built, shortfall

    with told_of_compiling(quiet=options.quiet or options.json):
        built, loops = _built(options, files[0] if given else compiler, program)
    if not given and not options.quiet:
        tell_warnings(built.trace)
    if isinstance(built, Built) and options.output is not None:
        built.graph.export(options.output)
    found = report(built)
    if options.loops:
        found["loops"] = loops
    if options.json:
        print(json.dumps(_plain(found), indent=1, allow_nan=False))
    elif not options.quiet:
        _print(found, options.output)
    said = shortfall(built)
    if said:
        print("\n  ".join([f"tracecut: {said}", *(built.trace.stderr.splitlines() if given else ())]), file=sys.stderr)
    return 0 if built.trace.ok else 1


def _built(options: argparse.Namespace, source: Any, program: list[str]) -> tuple[Built | Summed, list[dict[str, Any]]]:
    """The graph or its totals, and with --loops the loops, for which the records are kept."""
    from tracecut.api.dependence_graph import build_graph, graph_totals
    from tracecut.api.loop_summaries import loop_rows, loop_summaries
    from tracecut.api.trace import trace
    from tracecut.support.process.forward_output import descriptor
    from tracecut.tracer.trace.trace import Trace

    how: dict[str, Any] = {"weights": options.weights, "kinds": options.kinds}
    if not options.totals:
        how["memory"], how["addresses"] = options.memory, options.addresses
    run: dict[str, Any] = {}
    if not isinstance(source, str):
        run = {
            "opt": options.opt,
            "functions": options.function,
            "max_instructions": options.max_instructions,
            "timeout": options.timeout,
            "stdin": None if options.stdin is None else input_file(options.stdin),
            "stdout": descriptor(sys.stderr),
            "stderr": descriptor(sys.stderr),
        }
    make = graph_totals if options.totals else build_graph
    if not options.loops:
        return make(source, program, **how, **run), []
    if options.weights in ("measured", "seed"):
        raise UsageError(f"--loops and --weights {options.weights} exclude each other", hint=USAGE)
    kept = Trace.load(source) if isinstance(source, str) else trace(source, program, **run)
    return make(kept, **how), loop_rows(kept.static, loop_summaries(kept))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="tracecut graph",
        usage=USAGE,
        description="Build the dynamic dependence graph of one run. Options that are not listed here go to the "
        "compiler; a trace file (.tct) may be given instead of sources.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="file for the graph: .npz, .parquet, .graphml, .dot, .graph (METIS), or .txt (edges). Opcode, function "
        "and "
        "file:line of the vertices are attributes in GraphML and DOT, tables in .npz, extra files otherwise "
        "(NAME.instructions.tsv, NAME.vertices.tsv, .parquet)",
    )
    add(
        "--weights",
        choices=WEIGHTS,
        default="model",
        help="source of the times of memory accesses (default: %(default)s)",
    )
    add(
        "--addresses",
        action="store_true",
        help="store the address of each instruction's first access, so that simulate can model caches",
    )
    add(
        "--kinds",
        type=_kinds,
        default=("raw",),
        metavar="LIST",
        help="dependences: raw, and any of war, waw, control (default: raw)",
    )
    add(
        "--memory",
        type=_size,
        metavar="SIZE",
        help="refuse a graph that needs more memory (default: 3/4 of the free memory)",
    )
    add("--totals", action="store_true", help="only compute totals, in bounded memory; no graph is stored")
    add("--loops", action="store_true", help="also report the loop-carried dependences of the hottest loops")
    add("--opt", choices=("O1", "seed"), default="O1", help="O1: optimised, scalar; seed: unoptimised")
    add("--function", action="append", metavar="NAME", help="record only this function; repeatable")
    add("--max-instructions", type=_count, metavar="N", help="keep the first N IR instructions")
    add("--timeout", type=seconds, metavar="S", help="time limit of the program in seconds")
    add("--stdin", metavar="FILE", help="standard input of the program (default: empty)")
    add("--json", action="store_true", help="print the statistics as JSON")
    add("-q", "--quiet", action="store_true", help="print only errors")
    return parser


def _kinds(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(["raw", *(word.strip() for word in text.split(","))]))
    if not set(found) <= set(WANTED):
        raise argparse.ArgumentTypeError(f"{text}: a comma-separated list of {', '.join(WANTED)} expected")
    return found


def report(built: Built | Summed) -> dict[str, Any]:
    """Statistics of the graph (`DependenceGraph.stats`), how the program ended, and what is missing from the graph."""
    import numpy as np

    from tracecut.api.dependence_graph import Built
    from tracecut.tracer.trace.tables.approximated_calls import met

    notes = [*built.trace.notes, *built.notes]
    if built.ending.unresolved:
        notes.append(f"{built.ending.unresolved} pointers passed to unknown functions point to no known object")
    called: list[Met] = []
    if isinstance(built, Built):
        counts = np.bincount(built.graph.instruction, minlength=built.trace.static.n_instructions)
        called = met(built.trace.static, counts)
        weight, time = (int(values.sum(dtype="int64")) for values in (built.graph.weight, built.graph.time))
    else:
        weight, time = built.graph.weight, built.graph.time
    return {
        **built.graph.stats(),
        "weight": weight,
        "time": time,
        "outcome": built.trace.outcome,
        "ok": built.trace.ok,
        "lost": built.ending.lost,
        "rank_correlation": built.correlation,
        "approximated": [asdict(row) for row in called],
        "notes": notes,
    }


def _print(found: dict[str, Any], output: str | None) -> None:
    print(f"{found['nodes']:,} instructions, {found['edges']:,} dependences ({found['edges_per_node']:.3f} each)")
    kinds = ", ".join(f"{count:,} {name}" for name, count in found["kinds"].items() if count) or "none"
    print(f"  kinds            {kinds}")
    print(f"  cycles           {found['time']:,} of work, {found['weight']:,} on the edges")
    if "path_length" in found and found["edges"]:
        tail = f"{found['exponent_tail']:.3f} from degree {found['exponent_tail_from']} on"
        print(f"  power law        exponent {found['exponent_all']:.3f} over all degrees, {tail}")
        print(f"  path length      {found['path_length']:.1f}, along the dependences {found['path_directed']:.1f}")
    if found["approximated"]:
        rows = [f"{row['name']} ({row['calls']:,})" for row in found["approximated"]]
        more = f" and {len(rows) - 8} more" if len(rows) > 8 else ""
        print(f"  approximated     {', '.join(rows[:8])}{more}: library calls, see docs/library-effects.md")
    if "loops" in found:
        from tracecut.api.loop_summaries import loop_lines

        print("\n".join(loop_lines(found["loops"])))
    for note in found["notes"]:
        print(f"  note: {note}")
    if output is not None:
        print(f"graph in {output}")


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not have, by null."""
    return {key: None if isinstance(item, float) and item != item else item for key, item in value.items()}


__all__ = ["report", "run_graph"]
