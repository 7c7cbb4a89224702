"""`tracecut partition FILE -k K`: partition a graph file into a file of labels."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tracecut.support.errors import ArtefactError, UsageError, known_names

from .words import Parser, handle_signals

if TYPE_CHECKING:
    from tracecut.ir.clustering import Clustering
    from tracecut.ir.machine.machine import Machine
    from tracecut.support.arrays import Floats

USAGE = "tracecut partition FILE (-k K | --tile-bytes N | --machine MACHINE) [options]"
DESCRIPTION = (
    "Partition the graph in FILE: Matrix Market (.mtx), METIS (.graph), hMETIS (.hgr) or an edge list (.txt, .el, "
    ".edges, .tsv), each also with .gz. Labels are written one per line, in the order of the edges (the strict upper "
    "triangle of a symmetric matrix, row by row), or of the vertices with --of data."
)
# The options for arguments that `partition` itself has, which --option must not set.
_NAMES = (
    "method of balance targets capacities weights coords order passes refine hierarchy machine memory seed "
    "threads unweighted"
)
FLAGS = {"graph": "FILE", "k": "-k", "tile_bytes": "--tile-bytes"} | {name: f"--{name}" for name in _NAMES.split()}
TABLE = (
    *("cost", "imbalance", "replication_factor", "edge_cut", "max_communication_volume"),
    *("boundary", "oversized_share", "memory_violations", "empty_parts", "load_over_speed", "planned_load_over_speed"),
)


def run_partition(words: list[str]) -> int:
    """The sub-command. Returns the exit status.

    Raises UsageError, ArgumentError, ArtefactError (the file), BackendError (an external partitioner), OutputError.
    """
    options = _parser().parse_args(words)
    from tracecut.ir.machine.machine import Machine
    from tracecut.partition import METHODS, partition
    from tracecut.support.file_kinds import is_folder
    from tracecut.support.files import write_atomic

    handle_signals()
    if options.method != "auto" and options.method not in METHODS:
        hint = f"{known_names(options.method, ('auto', *METHODS))} `tracecut methods` lists all methods."
        raise UsageError(f"--method {options.method}: unknown method", hint=hint)
    if options.k is None and options.tile_bytes is None and options.machine is None:
        raise UsageError("one of -k, --tile-bytes and --machine is required", hint=USAGE)
    if options.k is not None and options.tile_bytes is not None:
        raise UsageError("-k and --tile-bytes exclude each other: both set the number of clusters", hint=USAGE)
    if options.tile_bytes is not None and options.machine is not None:
        raise UsageError("--tile-bytes and --machine exclude each other: both set the number of clusters", hint=USAGE)
    if options.memory is not None and options.machine is None:
        raise UsageError("--memory needs --machine: it scales the memories of the machine", hint=USAGE)
    if options.output is not None and is_folder(options.output):
        raise UsageError(f"-o {options.output}: a folder, the name of a file expected", hint=USAGE)
    optional = {name: getattr(options, name) for name in ("order", "threads", "refine")}
    for name in ("coords", "targets", "capacities", "weights"):
        path = getattr(options, name)
        optional[name] = None if path is None else read_numbers(Path(path), columns=name == "coords")
    if options.hierarchy is not None:
        optional["hierarchy"] = _fan_outs(options.hierarchy)
    optional |= {} if options.budget is None else {"budget": options.budget}
    for word in options.option:
        name, value = _option(word)
        if name in FLAGS:
            raise UsageError(f"--option {name}=…: {name} is no option of a method; {FLAGS[name]} sets it", hint=USAGE)
        optional[name] = value
    machine = None if options.machine is None else Machine.named(options.machine)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        found = partition(
            options.file,
            options.k,
            options.method,
            tile_bytes=options.tile_bytes,
            machine=machine,
            memory=options.memory,
            of=options.of,
            balance=options.balance,
            passes=options.passes,
            seed=options.seed,
            unweighted=options.unweighted,
            **optional,
        )
    for warning in said:
        print(f"tracecut: warning: {warning.message}", file=sys.stderr)
    text = "".join(f"{label}\n" for label in found.labels.tolist())

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    if options.output is not None:
        write_atomic(options.output, write)
    report = found.report() if options.json or options.output is not None else {}
    if report and machine is not None:
        report |= _over_speeds(found, machine)
    if options.json:
        print(json.dumps(report, indent=1))
    elif options.output is None:
        sys.stdout.write(text)
    else:
        _print_summary(report, options.output)
    return 0


def _over_speeds(found: Clustering, machine: Machine) -> dict[str, float]:
    """Largest load over speed (Hetero Eq. 2): of the partition, and of the targets."""
    from tracecut.partition.balance.target_sizes import relative_size

    loads, speeds = found.loads(), machine.speeds()
    shares = found.options.get("targets", [1.0 / found.k] * found.k)
    planned = [share * float(loads.sum()) for share in shares]
    return {"load_over_speed": relative_size(loads, speeds), "planned_load_over_speed": relative_size(planned, speeds)}


def read_numbers(path: Path, *, columns: bool = False) -> Floats:
    """The numbers in a `.npy` file, or in a text file with one per line; with `columns`, the same number on each line.

    Raises ArtefactError for a missing or damaged file and for anything but numbers, with the file and the line.
    """
    import numpy as np

    try:
        if path.suffix == ".npy":
            # Mapped, so that a header that claims more than the file has allocates nothing.
            found = np.load(path, mmap_mode="r", allow_pickle=False)
            if found.dtype.kind not in "fiu":
                raise ValueError(f"it holds {found.dtype}, numbers were expected")
            return np.array(found, np.float64)
        rows = [line.split() for line in path.read_text().splitlines() if line.strip() and line[0] not in "#%"]
    except OSError as error:
        raise ArtefactError(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise ArtefactError(f"{path}: {error}") from None
    width = len(rows[0]) if rows and columns else 1
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise ArtefactError(f"{path}: row {number} has {len(row)} numbers, {width} expected")
    try:
        values = np.array(rows, np.float64).reshape(len(rows), width)
    except ValueError:
        for number, row in enumerate(rows, 1):
            for word in row:
                try:
                    float(word)
                except ValueError:
                    raise ArtefactError(f"{path}: row {number}: {word[:40]!r} is no number") from None
        raise ArtefactError(f"{path} holds no numbers") from None
    return values if columns else values[:, 0]


def _fan_outs(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UsageError(f"--hierarchy {text}: comma-separated whole numbers expected, such as 4,4,2") from None


def _option(word: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a keyword and its value: true, false, none, a number, or a string."""
    name, sign, value = word.partition("=")
    if not sign or not name.isidentifier():
        raise UsageError(f"--option {word}: NAME=VALUE expected")
    known = {"true": True, "false": False, "none": None}
    if value in known:
        return name, known[value]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _print_summary(report: dict[str, Any], output: str) -> None:
    method = report["method"] + (f", a stand-in for {report['stand_in_for']}" if "stand_in_for" in report else "")
    print(f"{report['jobs']} jobs, {report['data']} data; {report['kind']} in {report['k']} by {method}")
    for name in TABLE:
        if name in report:
            value = report[name]
            shown = f"{value:.4f}" if isinstance(value, float) and value != int(value) else f"{int(value)}"
            print(f"  {name.replace('_', ' '):<26} {shown:>12}")
    for line in report.get("why", ()):
        print(f"  {line}")
    print(f"labels in {output}")


def _parser() -> argparse.ArgumentParser:
    epilog = "The oversized share is the share of the clusters whose load is above the mean of all."
    parser = Parser(prog="tracecut partition", usage=USAGE, description=DESCRIPTION, epilog=epilog, allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="FILE", help="the graph")
    add("-k", type=int, help="number of clusters")
    add("--tile-bytes", type=float, metavar="N", help="bytes of data per cluster, instead of -k")
    add(
        "--machine",
        metavar="MACHINE",
        help="one cluster per core, with load in proportion to its speed and within its memory; values as for "
        "`tracecut map`",
    )
    add(
        "--memory",
        type=float,
        metavar="X",
        help="total memory of the machine as a multiple of the total load (default: its bytes, 8 per unit of load)",
    )
    add("--method", default="auto", help="auto, or a name from `tracecut methods` (default: auto)")
    add("-o", "--output", metavar="PARTS", help="file for the labels (default: standard output)")
    add("--of", choices=("jobs", "data"), default="jobs", help="what to label: edges or vertices (default: jobs)")
    add(
        "--balance",
        type=float,
        default=1.03,
        help="balance constraint: largest load of a cluster over its target (default: 1.03)",
    )
    add("--order", metavar="NAME", help="stream order: natural, shuffled, bfs, degree, or a linear order")
    add("--passes", type=int, default=1, help="passes of streaming methods (default: 1)")
    add("--refine", metavar="km1", help="refine the partition: fewer vertex copies")
    add("--coords", metavar="FILE", help="coordinates of the data: .npy, or a text file with one point per line")
    add("--hierarchy", metavar="A,B,…", help="fan-outs of hkmeans, whose product is K (default: those of --machine)")
    add("--targets", metavar="FILE", help="target load of each cluster: .npy, or one number per line (default: equal)")
    add("--capacities", metavar="FILE", help="largest load of each cluster, in the same format (default: no limit)")
    add(
        "--weights",
        metavar="FILE",
        help="load of each edge or vertex: .npy, or one number per line (default: from the graph file)",
    )
    add(
        "--unweighted",
        action="store_true",
        help="ignore the weights in the file; of a matrix, use only the pattern (default: its values are weights)",
    )
    add("--budget", type=float, metavar="S", help="CPU seconds that auto may use (default: 20)")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="method-specific option; repeatable")
    add("--seed", type=int, default=0, help="seed of all random choices (default: 0)")
    add("--threads", type=int, help="largest number of threads")
    add("--json", action="store_true", help="print all metrics as JSON")
    return parser
