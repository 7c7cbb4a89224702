"""`tracecut partition FILE -k K`: a partitioner by itself, from a graph file to a file of labels."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from typing import Any, BinaryIO

from tracecut.ir.errors import UsageError

USAGE = "tracecut partition FILE -k K [options]"
DESCRIPTION = (
    "Partition the graph in FILE: Matrix Market (.mtx), METIS (.graph), hMETIS (.hgr) or an edge list (.txt, .el, "
    ".edges, .tsv), each also with .gz. Labels are written one a line, in the order of the edges (the strict upper "
    "triangle of a symmetric matrix, row by row), or of the vertices with --of data."
)
TABLE = (
    *("cost", "imbalance", "replication_factor", "edge_cut", "max_communication_volume"),
    *("boundary", "oversized_share", "empty_parts"),
)


def run_partition(words: list[str]) -> int:
    """The sub-command. Returns the exit status.

    Raises UsageError, ArgumentError, ArtefactError (the file), BackendError (a foreign partitioner), OutputError.
    """
    options = _parser().parse_args(words)
    from tracecut.ir.files import write_atomic
    from tracecut.partition import METHODS, partition

    if options.method != "auto" and options.method not in METHODS:
        raise UsageError(f"--method {options.method}: no such method", hint="`tracecut methods` lists them.")
    optional = {name: getattr(options, name) for name in ("order", "threads") if getattr(options, name) is not None}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        found = partition(
            options.file,
            options.k,
            options.method,
            of=options.of,
            balance=options.balance,
            passes=options.passes,
            seed=options.seed,
            **optional,
        )
    for warning in said:
        print(f"tracecut: warning: {warning.message}", file=sys.stderr)
    text = "".join(f"{label}\n" for label in found.labels.tolist())

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    if options.output is not None:
        write_atomic(options.output, write)
    if options.json:
        print(json.dumps(found.report(), indent=1))
    elif options.output is None:
        sys.stdout.write(text)
    else:
        _print_summary(found.report(), options.output)
    return 0


def _print_summary(report: dict[str, Any], output: str) -> None:
    method = report["method"] + (f", a stand-in for {report['stand_in_for']}" if "stand_in_for" in report else "")
    print(f"{report['jobs']} jobs, {report['data']} data; {report['kind']} in {report['k']} by {method}")
    for name in TABLE:
        if name in report:
            value = report[name]
            shown = f"{value:.4f}" if isinstance(value, float) and value != int(value) else f"{int(value)}"
            print(f"  {name.replace('_', ' '):<26} {shown:>12}")
    print(f"labels in {output}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tracecut partition", usage=USAGE, description=DESCRIPTION, allow_abbrev=False
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="the graph")
    add("-k", type=int, required=True, help="number of clusters")
    add("--method", default="auto", help="auto, or a name from `tracecut methods` (default: auto)")
    add("-o", "--output", metavar="PARTS", help="file for the labels (default: standard output)")
    add("--of", choices=("jobs", "data"), default="jobs", help="what to label: edges or vertices (default: jobs)")
    add("--balance", type=float, default=1.03, help="largest load over its target (default: 1.03)")
    add("--order", metavar="NAME", help="stream: natural, shuffled, bfs, degree, or a linear order")
    add("--passes", type=int, default=1, help="passes of streaming methods (default: 1)")
    add("--seed", type=int, default=0, help="of every random choice (default: 0)")
    add("--threads", type=int, help="threads at most")
    add("--json", action="store_true", help="print every quality number as JSON")
    return parser
