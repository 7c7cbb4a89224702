"""`tracecut pagerank|hits|rwr|cg FILE`: scores of the nodes of a graph file, or the solution of a linear system."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tracecut.support.argument_checks import BYTES, COUNT, Kind, whole
from tracecut.support.errors import UsageError
from tracecut.support.memory_amounts import size
from tracecut.support.version import __version__

from ..words import Parser, handle_signals
from .ranks import Place, add_rank_options, begin_rank, on_place, parsed

if TYPE_CHECKING:
    from tracecut.support.arrays import Floats

FORMATS = (
    "FILE: Matrix Market (.mtx), METIS (.graph) or an edge list (.txt, .el, .edges, .edgelist, .tsv), each also with "
    ".gz, or a matrix that scipy saved (.npz). "
)
WORK_BYTES = 100, 300  # of each entry and each node, at most, where an iteration has all in memory
OUTPUT = "file for all {}, one row a node: .npy, or text"


def run_pagerank(words: list[str]) -> int:
    """The sub-command. Returns the exit status.

    Raises UsageError, ArgumentError, ArtefactError (the file), ConvergenceError, OutputError; so do the others.
    """
    parser = _parser("pagerank", FORMATS + "Its entry (u, v) is a link from u to v.", "scores", 1e-6)
    parser.add_argument("--alpha", type=_SHARE.word, default=0.85, help="share that follows links (default: 0.85)")
    return on_place(_options(parser, words), _pagerank)


def _pagerank(options: argparse.Namespace, place: Place) -> int:
    from tracecut.codegen.mining.pagerank import pagerank

    matrix, seconds = _read(options, place)
    found = _timed(seconds, lambda: pagerank(matrix, alpha=options.alpha, device=place.device, **_bounds(options)))
    return _scores("pagerank", options, place, matrix, seconds, {"score": found}, found.values)


def run_hits(words: list[str]) -> int:
    """The sub-command. Returns the exit status."""
    parser = _parser(
        "hits", FORMATS + "Its entry (u, v) is a link from u to v.", "hub and authority scores", 1e-8, 1000
    )
    return on_place(_options(parser, words), _hits)


def _hits(options: argparse.Namespace, place: Place) -> int:
    import numpy as np

    from tracecut.codegen.mining.hits import hits

    matrix, seconds = _read(options, place)
    hubs, authorities = _timed(seconds, lambda: hits(matrix, device=place.device, **_bounds(options)))
    values = np.stack([hubs.values, authorities.values], axis=1)
    return _scores("hits", options, place, matrix, seconds, {"hub": hubs, "authority": authorities}, values)


def run_rwr(words: list[str]) -> int:
    """The sub-command. Returns the exit status."""
    text = FORMATS + "Relevance of all nodes to each query, by random walks with restart; links count both ways."
    parser = _parser("rwr", text, "scores", 1e-6, 200, more=" --query NODE [--query NODE …]")
    parser.add_argument(
        "--query", type=_NODE.word, action="append", metavar="NODE", help="number of a node; repeatable, required"
    )
    parser.add_argument("-c", type=_SHARE.word, default=0.9, help="share that does not restart (default: 0.9)")
    return on_place(_options(parser, words), _rwr)


def _rwr(options: argparse.Namespace, place: Place) -> int:
    from tracecut.codegen.mining.records import Scores
    from tracecut.codegen.mining.rwr import rwr

    matrix, seconds = _read(options, place)
    found = _timed(seconds, lambda: rwr(matrix, options.query, c=options.c, device=place.device, **_bounds(options)))
    columns = {
        f"query {query}": Scores(found.values[:, i], found.iterations, found.residual, None, found.communication)
        for i, query in enumerate(options.query)
    }
    return _scores("rwr", options, place, matrix, seconds, columns, found.values)


def run_cg(words: list[str]) -> int:
    """The sub-command. Returns the exit status."""
    text = FORMATS + "Solves A x = b by conjugate gradients; A must be symmetric and positive definite."
    parser = _parser("cg", text, "numbers of the solution", 1e-5, 0, top="entries")
    parser.add_argument("--rhs", metavar="FILE", help="b: .npy, or text with one number per line (default: all 1)")
    return on_place(_options(parser, words), _cg)


def _cg(options: argparse.Namespace, place: Place) -> int:
    import numpy as np

    from tracecut.codegen.mining.cg import cg

    matrix, seconds = _read(options, place)
    right: Any = place.read(lambda: np.ones(matrix.shape[0]) if options.rhs is None else _numbers(options.rhs))
    found = _timed(seconds, lambda: cg(matrix, right, rtol=options.tol, maxiter=options.max_iter, device=place.device))
    if not place.first:
        return 0
    _write(options.output, found.values)
    report = _report("cg", options, matrix, seconds, found)
    largest = np.argsort(-np.abs(found.values), kind="stable")[: options.top]
    report["top"] = {"x": [{"entry": int(i), "x": found.values[i].item()} for i in largest]}
    return _show(report, options, "entry", f"‖b − A x‖ is {found.residual:.3g}")


def _numbers(name: str) -> Any:
    from ..partition import read_numbers

    return read_numbers(Path(name))


def _within(value: Any, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ValueError
    return float(value)


_SHARE = Kind("a number from 0 to 1", float, lambda value: _within(value, 0, 1))
_TOLERANCE = Kind("a positive number", float, lambda value: _within(value, 5e-324, 1e308))
_NODE = whole(0)


def _parser(
    command: str, text: str, what: str, tol: float, most: int = 100, *, top: str = "nodes", more: str = ""
) -> argparse.ArgumentParser:
    options = "[-o FILE] [--tol T] [--top N] [--memory BYTES] [--json] [--split S] [--exchange E]"
    usage = f"tracecut {command} FILE{more} {options}"
    parser = Parser(prog=f"tracecut {command}", usage=usage, description=text, allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="FILE", help="the matrix")
    add("-o", "--output", metavar="FILE", help=OUTPUT.format(what))
    against = "residual, relative to b" if command == "cg" else "sum of the changes of an iteration"
    add("--tol", type=_TOLERANCE.word, default=tol, metavar="T", help=f"largest {against} (default: {tol:g})")
    most_text = "10 a row" if not most else str(most)
    add(
        "--max-iter", type=COUNT.word, default=most or None, metavar="N", help=f"most iterations (default: {most_text})"
    )
    add("--top", type=_NODE.word, default=10, metavar="N", help=f"{top} to print (default: 10)")
    add(
        "--memory",
        type=BYTES.word,
        metavar="BYTES",
        help="most memory beside Python and its libraries, such as 2G; a matrix for which that is too little is kept "
        "in the temporary folder (Matrix Market and edge lists; default: all in memory)",
    )
    add("--json", action="store_true", help="print JSON")
    add_rank_options(parser)
    return parser


def _options(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    from tracecut.support.file_kinds import is_folder

    def check(options: argparse.Namespace, many: bool) -> None:
        if many and options.memory is not None:
            raise UsageError("--memory: several ranks have the matrix in memory", hint=parser.usage or "")
        if options.output is not None and is_folder(options.output):
            raise UsageError(f"-o {options.output}: a folder, the name of a file expected", hint=parser.usage or "")
        if "query" in options and not options.query:
            raise UsageError("--query NODE is required", hint=parser.usage or "")

    options = parsed(parser, words, check)
    begin_rank()
    handle_signals()
    return options


def _bounds(options: argparse.Namespace) -> dict[str, Any]:
    return {"tol": options.tol, "max_iter": options.max_iter}


def _read(options: argparse.Namespace, place: Place) -> tuple[Any, dict[str, float]]:
    """The matrix, on the first rank; the seconds that it takes."""
    start = time.perf_counter()
    matrix = place.read(lambda: _matrix(options.file, options.memory))
    return matrix, {"read": time.perf_counter() - start}


def _matrix(name: str, memory: int | None) -> Any:
    """In memory where `memory` is enough for all that is made of it, else on disk."""
    from tracecut.partition.inputs.matrix_files import read_matrix
    from tracecut.partition.inputs.progress_line import ProgressLine

    with ProgressLine(f"reading {Path(name).name}", everywhere=True) as line:
        if memory is None:
            return read_matrix(name, told=line)
        from tracecut.partition.inputs.on_disk.stream_matrix import stream_matrix

        matrix = stream_matrix(name, memory=memory, told=line)
    if WORK_BYTES[0] * matrix.nnz + WORK_BYTES[1] * max(matrix.shape) > memory:
        return matrix
    with matrix:
        return matrix.to_csr()


def _timed(seconds: dict[str, float], call: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    found = call()
    seconds["iterate"] = time.perf_counter() - start
    return found


def _report(command: str, options: argparse.Namespace, matrix: Any, seconds: dict[str, float], found: Any) -> Any:
    rows, columns = matrix.shape
    told = {} if found.communication is None else {"communication": asdict(found.communication)}
    on_disk = {} if options.memory is None else {"on_disk": getattr(matrix, "bytes", 0)}
    return {
        "tracecut": __version__,
        "command": command,
        "input": {"path": options.file, "rows": rows, "cols": columns, "nnz": matrix.nnz, **on_disk},
        "tol": options.tol,
        "iterations": found.iterations,
        "residual": found.residual,
        "seconds": {name: round(value, 6) for name, value in seconds.items()},
        **told,
    }


def _scores(
    command: str,
    options: argparse.Namespace,
    place: Place,
    matrix: Any,
    seconds: dict[str, float],
    columns: dict[str, Any],
    values: Floats,
) -> int:
    if not place.first:
        return 0
    _write(options.output, values)
    found = next(iter(columns.values()))
    report = _report(command, options, matrix, seconds, found)
    report["top"] = {
        name: [{"node": node, "score": score} for node, score in scores.top(options.top)]
        for name, scores in columns.items()
    }
    return _show(report, options, "node", f"the last change is {found.residual:.3g}")


def _show(report: Any, options: argparse.Namespace, key: str, residual: str) -> int:
    if options.json:
        print(json.dumps(report, indent=1))
        return 0
    own, seconds = report["input"], report["seconds"]
    kept = f", {size(own['on_disk'])} on disk" if own.get("on_disk") else ""
    print(f"{own['path']}: {own['rows']} × {own['cols']}, {own['nnz']} entries{kept}")
    print(f"{report['iterations']} iterations, {residual}")
    print(f"{seconds['read']:.2f} s to read, {seconds['iterate']:.2f} s to iterate")
    if "communication" in report:
        told = report["communication"]
        print(f"{told['ranks']} ranks, {told['split']}, {told['exchange']}: {sum(told['sent'])} bytes sent")
    if options.output is not None:
        print(f"all numbers in {options.output}")
    for name, rows in report["top"].items():
        print(f"\n{key:>12}  {name}")
        for row in rows:
            print(f"{row[key]:>12}  {next(value for field, value in row.items() if field != key):.6g}")
    return 0


def _write(name: str | None, values: Any) -> None:
    if name is None:
        return
    import numpy as np

    from tracecut.support.files import write_atomic

    def write(file: BinaryIO) -> None:
        if name.endswith(".npy"):
            np.save(file, values, allow_pickle=False)
            return
        table = values[:, None] if values.ndim == 1 else values
        for first in range(0, len(table), 1 << 16):
            rows = table[first : first + (1 << 16)].tolist()
            file.write("".join(" ".join(map(repr, row)) + "\n" for row in rows).encode())

    write_atomic(name, write)
