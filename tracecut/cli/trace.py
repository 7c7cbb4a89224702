"""`tracecut trace` and `tracecut info`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from tracecut.support.errors import UsageError
from tracecut.support.garbage_collection import uncollected

from .words import Parser, begin_work, input_file, seconds, sort_words, split_words

TRACE_USAGE = "tracecut trace SOURCE… [compiler options] [options] [-- program arguments]"


def run_trace(words: list[str]) -> int:
    """Record a program. Returns 1 if the program fails; what was recorded before is kept.

    The output of the program goes where it would without tracecut, and tracecut's messages go to stderr. With --json,
    stdout has only the JSON object, and all output of the program goes to stderr.
    """
    ours, program = split_words(words)
    parser = Parser(
        prog="tracecut trace",
        usage=TRACE_USAGE,
        description="Options that are not listed here go to the compiler (-I, -D, -lm, …).",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-o", "--output", default="trace.tct", metavar="FILE", help="the trace file (default: %(default)s)")
    add("--function", action="append", metavar="NAME", help="record only this function; repeatable")
    add(
        "--region",
        metavar="FILE:LINE",
        help="record only the loop that starts on this line, and the functions it calls",
    )
    add("--every", type=_count, default=1, metavar="N", help="record one of every N iterations of that loop")
    add("--max-instructions", type=_count, metavar="N", help="keep the first N IR instructions, only count the others")
    add("--start", type=_count, default=0, metavar="N", help="skip the first N instructions")
    add("--stop", action="store_true", help="stop the program when these instructions are recorded")
    add("--memory", type=_size, metavar="SIZE", help="size of the buffers between program and recorder (default: 8M)")
    add("--opt", choices=("O1", "seed"), default="O1", help="O1: optimised, scalar; seed: unoptimised")
    add("--timed", action="store_true", help="measure each access between fenced time stamps (slow)")
    add("--timeout", type=seconds, metavar="S", help="time limit of the program in seconds")
    add("--stdin", metavar="FILE", help="standard input of the program (default: empty)")
    add("--stdout", metavar="FILE", help="file for the standard output of the program (default: not redirected)")
    add("--totals", action="store_true", help="only count instructions, write no file")
    add("--json", action="store_true", help="print JSON; the output of the program goes to stderr")
    add("-q", "--quiet", action="store_true", help="print only the program's output, and errors")
    mine, compiler = sort_words(parser, ours)
    options = parser.parse_args(mine)
    if not any(not word.startswith("-") for word in compiler):
        raise UsageError("no source file was given", hint=TRACE_USAGE)
    if not options.output:
        raise UsageError("-o: a file name expected", hint=TRACE_USAGE)
    with uncollected():  # imported modules stay in memory: nothing to collect
        from tracecut.api.trace import trace
        from tracecut.support.process.forward_output import descriptor

    begin_work()
    result = trace(
        compiler,
        program,
        opt=options.opt,
        functions=options.function,
        region=options.region,
        every=options.every,
        start=options.start,
        max_instructions=options.max_instructions,
        stop=options.stop,
        memory=options.memory,
        timed=options.timed,
        keep=not options.totals,
        output=None if options.totals else options.output,
        stdin=None if options.stdin is None else input_file(options.stdin),
        stdout=options.stdout or descriptor(sys.stderr if options.json else sys.stdout),
        stderr=descriptor(sys.stderr),
        timeout=options.timeout,
    )
    if not options.quiet:
        tell_warnings(result)
    done = result.ok or options.stop
    if options.json:
        print(json.dumps(summary_of(result), indent=1))
    elif not options.quiet or not done:
        print_trace(result, sys.stderr)
    if not done:
        print(f"tracecut: the program {result.outcome}", file=sys.stderr)
    return 0 if done else 1


def tell_warnings(trace: Any) -> None:
    """Print the compiler's warnings about the program on stderr."""
    if trace.meta.get("warnings"):
        print(trace.meta["warnings"], file=sys.stderr)


def run_info(words: list[str]) -> int:
    """Print the contents of a trace file."""
    parser = Parser(
        prog="tracecut info",
        description="Print the contents of a trace file, or how often the schedules of a result were used.",
    )
    parser.add_argument("file", help="a file that `tracecut trace` wrote, or a folder that `tracecut optimize` wrote")
    parser.add_argument("--check", action="store_true", help="read the whole file and count its records")
    parser.add_argument("--parquet", metavar="FILE", help="also export the records to FILE.parquet (needs pyarrow)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    if Path(options.file).is_dir():
        from tracecut.pipeline.output.use_counts import print_usage

        return print_usage(Path(options.file), as_json=options.json)
    from tracecut.tracer.trace.trace import Trace

    result = Trace.load(options.file)
    found = summary_of(result)
    if options.parquet is not None:
        from tracecut.tracer.trace.export_parquet import export_trace

        export_trace(result, options.parquet)
    if options.check or not result.complete:
        found["readable"] = _readable(result)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        print_trace(result, sys.stdout)
        if "readable" in found:
            counts = found["readable"]
            print(f"  readable         {counts['instructions']:,} instructions in {counts['chunks']:,} chunks")
    return 0


def summary_of(trace: Any) -> dict[str, Any]:
    """The properties of a trace as JSON values."""
    static = trace.static
    size = None if trace.path is None else trace.path.stat().st_size
    return {
        "path": None if trace.path is None else str(trace.path),
        "bytes": size,
        "complete": trace.complete,
        "outcome": trace.outcome,
        "ok": trace.ok,
        "totals": trace.totals,
        "streams": trace.streams,
        "functions": [name.removeprefix("@") for name in static.functions],
        "blocks": static.n_blocks,
        "segments": static.n_segments - 1,
        "instructions": static.n_instructions,
        "unknown": sorted({name for _, name in static.unknown}),
        "notes": list(trace.notes),
        "meta": {key: trace.meta.get(key) for key in ("tracecut", "opt", "sources", "digests", "flags", "argv")},
    }


def print_trace(trace: Any, stream: TextIO) -> None:
    """Print the properties of a trace as text."""
    print("\n".join(_lines(trace)), file=stream)


def _lines(trace: Any) -> Iterator[str]:
    totals, static = trace.totals, trace.static
    if trace.path is not None:
        yield f"{trace.path}  {trace.path.stat().st_size:,} bytes"
    yield f"  program          {' '.join(trace.meta.get('sources', []))} ({trace.meta.get('opt')}), {trace.outcome}"
    yield f"  static           {static.n_functions:,} functions, {static.n_instructions:,} instructions"
    if totals:
        kept = totals["kept_instructions"]
        part = "" if kept == totals["instructions"] else f" (kept: {kept:,})"
        yield f"  instructions     {totals['instructions']:,}{part}"
        yield f"  records          {totals['records']:,}, {4 * totals['words']:,} bytes uncompressed"
        if trace.path is not None and kept:
            yield f"  stored           {trace.path.stat().st_size / kept:.4f} bytes an instruction"
    else:
        from tracecut.tracer.trace.trace import ENDS_EARLY

        yield f"  the file {ENDS_EARLY}"
    for note in trace.notes:
        yield f"  note: {note}"


def _readable(trace: Any) -> dict[str, int]:
    from tracecut.tracer.trace.tables.records import Lengths, walk

    lengths = Lengths.of(trace.static)
    found = {"chunks": 0, "records": 0, "instructions": 0, "words": 0}
    for _, words in trace.chunks(runs=True):
        _, _, records, instructions, _ = walk(words, lengths, 1 << 62)
        found["chunks"] += 1
        found["records"] += int(records)
        found["instructions"] += int(instructions)
        found["words"] += int(words.size)
    return found


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text}: a whole number expected")
    return value


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text}: a size in bytes expected, such as 64M")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]
