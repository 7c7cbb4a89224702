"""`tracecut annotate`: the work of each source line in one run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracecut.support.errors import UsageError

from .trace import tell_warnings
from .words import Parser, begin_work, input_file, seconds, sort_words, split_words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tracecut.tracer.trace.line_profile import HotLine, SegmentCounter
    from tracecut.tracer.trace.tables.static_tables import Static
    from tracecut.tracer.trace.trace import Trace

USAGE = "tracecut annotate SOURCE… [compiler options] [options] [-- program arguments]"
LEAST = 0.01  # files with a smaller share of the work are not shown
AROUND = 2


@dataclass(frozen=True, eq=False)
class Annotated:
    """Lines with their work, and the trace of the run. `unit`: `instructions` or `cycles`."""

    lines: list[HotLine]
    unit: str
    trace: Trace


def measure(source: Any, argv: Sequence[Any] = (), *, cycles: bool = False, **options: Any) -> Annotated:
    """Run a program (given as for `tracecut.trace`), or read a trace file, and sum the work of each source line.

    `cycles`: weigh each instruction by its cycles in the cache model; this takes the memory of a whole dependence
    graph. Otherwise each instruction counts 1, in bounded memory. Raises what `trace` raises.
    """
    from tracecut.tracer.trace.line_profile import SegmentCounter, hot_lines, instruction_counts

    if cycles:
        import numpy as np

        from tracecut.api.dependence_graph import build_graph

        built = build_graph(source, argv, **options)
        static, graph = built.trace.static, built.graph
        counts = np.bincount(graph.instruction, minlength=static.n_instructions)
        weights = np.bincount(graph.instruction, weights=graph.time, minlength=static.n_instructions)
        return Annotated(hot_lines(static, counts, weights), "cycles", built.trace)
    counters: list[SegmentCounter] = []

    def begin(static: Static) -> Callable[[int, npt.NDArray[np.uint32]], None]:
        counters.append(SegmentCounter(static))
        return counters[0].take

    if str(source).endswith(".tct"):
        from tracecut.tracer.trace.trace import Trace

        done = Trace.load(str(source))
        take = begin(done.static)
        for stream, words in done.chunks():
            take(stream, words)
    else:
        from tracecut.api.trace import trace

        done = trace(source, argv, keep=False, build=begin, **options)
    counts = instruction_counts(done.static, counters[0].counts)
    return Annotated(hot_lines(done.static, counts), "instructions", done)


def run_annotate(words: list[str]) -> int:
    """Print the source files with most work. Returns 1 when the program fails; the work up to the failure is shown.

    The output of the program goes to stderr.
    """
    ours, program = split_words(words)
    parser = Parser(
        prog="tracecut annotate",
        usage=USAGE,
        description="Show which share of a run's work each source line does. Options that are not listed here go "
        "to the compiler; a trace file (.tct) may be given instead of sources.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--cycles", action="store_true", help="weigh instructions by the cycles of the cache model")
    add("--whole", action="store_true", help="show whole files, not only the executed lines and their neighbours")
    add("--opt", choices=("O1", "seed"), default="O1", help="O1: optimised, scalar; seed: unoptimised")
    add("--timeout", type=seconds, metavar="S", help="time limit of the program in seconds")
    add("--stdin", metavar="FILE", help="standard input of the program (default: empty)")
    add("--json", action="store_true", help="print the lines as JSON")
    mine, compiler = sort_words(parser, ours)
    options = parser.parse_args(mine)
    begin_work()
    files = [word for word in compiler if not word.startswith("-")]
    if not files:
        raise UsageError("no source file was given", hint=USAGE)
    if files[0].endswith(".tct"):
        if len(compiler) > 1 or program:
            raise UsageError(f"{files[0]} is a trace: it takes no sources, compiler options or arguments")
        found = measure(files[0], cycles=options.cycles)
    else:
        from tracecut.support.process.forward_output import descriptor

        found = measure(
            compiler,
            program,
            cycles=options.cycles,
            opt=options.opt,
            timeout=options.timeout,
            stdin=None if options.stdin is None else input_file(options.stdin),
            stdout=descriptor(sys.stderr),
            stderr=descriptor(sys.stderr),
        )
        tell_warnings(found.trace)
    if options.json:
        print(json.dumps({"unit": found.unit, "lines": [asdict(line) for line in found.lines]}, indent=1))
    else:
        print(listing(found, whole=options.whole), end="")
    if not found.trace.ok:
        print(f"tracecut: the program {found.trace.outcome}", file=sys.stderr)
    return 0 if found.trace.ok else 1


def listing(found: Annotated, *, whole: bool = False, width: int = 110) -> str:
    """The files with at least one per cent of the work, in decreasing order, system headers last; one line names the
    other files."""
    from tracecut.tracer.trace.line_profile import annotate

    total = sum(line.weight for line in found.lines) or 1.0
    shares: dict[str, float] = {}
    for line in found.lines:
        shares[line.file] = shares.get(line.file, 0.0) + line.weight / total
    parts, rest = [], []
    for file, share in sorted(shares.items(), key=lambda item: (item[0].startswith("/usr/"), -item[1], item[0])):
        if file and share >= LEAST and Path(file).is_file():
            text = Path(file).read_text(errors="replace").splitlines()
            parts.append(annotate(file, text, found.lines, width=width, around=None if whole else AROUND))
        else:
            rest.append(f"{file or 'no line of the source'} {100 * share:.1f} %")
    head = f"{int(total):,} {found.unit}\n\n"
    tail = f"\nnot shown: {', '.join(rest)}\n" if rest else ""
    return head + "\n".join(parts) + tail
