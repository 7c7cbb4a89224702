"""`tracecut tune`: the table of this machine's costs, by which `spmv` chooses forms and orders."""

from __future__ import annotations

import datetime
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from tracecut.support.errors import UsageError, known_names

from .words import Parser, begin_work

if TYPE_CHECKING:
    from tracecut.codegen.sparse.costs import Costs

DESCRIPTION = (
    "Measure what products of sparse matrices cost on this machine, by the length of rows, the form and the cache that "
    "holds x, and keep the table for `tracecut spmv` and tracecut.spmv. It is measured again when the machine or "
    "tracecut's kernels differ. About a minute of one core; other programs disturb it. For a GPU, its memory model "
    "makes the table of workloads by which tile-composite products are tuned."
)


SIZES = {"float32": 4, "float64": 8}


def run_tune(words: list[str]) -> int:
    """The command. Returns the exit status.

    Raises UsageError; OutputError where the table cannot be kept.
    """
    usage = "tracecut tune [--device D] [--dtype T] [--fresh] [--json]"
    parser = Parser(prog="tracecut tune", usage=usage, description=DESCRIPTION)
    parser.add_argument(
        "--device", metavar="D", default="cpu", help="cpu (default), or a GPU whose table its memory model makes: h200"
    )
    parser.add_argument(
        "--dtype", metavar="T", help="of a GPU's table: float32 (default) or float64; the CPU's has both"
    )
    parser.add_argument("--fresh", action="store_true", help="measure even if there is a table of this machine")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    if options.device != "cpu":
        return _tune_gpu(options.device, options.dtype or "float32", options.fresh, options.json)
    if options.dtype is not None:
        raise UsageError("--dtype takes --device with a GPU: the table of this machine has both types")
    begin_work()
    from tracecut.codegen.sparse.costs import read_table, table_path, write_table
    from tracecut.codegen.sparse.measure_costs import measure_costs

    path = table_path()
    found = None if options.fresh else read_table(path)
    measured = found is None
    if found is None:
        when = datetime.date.today().isoformat()
        write_table(path, measure_costs(lambda text: print(f"tracecut: {text}", file=sys.stderr), ""), when)
        found = read_table(path)
    assert found is not None  # `write_table` has read it
    if options.json:
        print(json.dumps({"path": str(path), "measured": measured, **asdict(found)}, indent=1))
    else:
        print("\n".join([f"{path}: {found.source}", *_lines(found)]))
    return 0


def _tune_gpu(name: str, dtype: str, fresh: bool, as_json: bool) -> int:
    """The table of shapes of a GPU: nothing runs on a card, its memory model says what workloads take.

    Raises UsageError for a GPU that is not described, and for other types; OutputError where the table cannot be kept.
    """
    from tracecut.ir.gpu.description import gpu, names

    if name not in names():
        raise UsageError(f"--device {name}: cpu or a GPU expected", hint=known_names(name, ("cpu", *names())))
    if dtype not in SIZES:
        raise UsageError(f"--dtype {dtype}: {' or '.join(SIZES)} expected")
    begin_work()
    from tracecut.codegen.sparse.on_gpu.measure_shapes import known_table
    from tracecut.codegen.sparse.on_gpu.shape_table import read_table, table_path

    card, size = gpu(name), SIZES[dtype]
    path = table_path(card, size)
    if fresh:
        path.unlink(missing_ok=True)
    measured = read_table(path, card, size) is None
    table = known_table(card, size, lambda text: print(f"tracecut: {text}", file=sys.stderr))
    most = [float(each) for each in table.fastest]
    if as_json:
        about = {"path": str(path), "measured": measured, "source": table.source, "size": table.size}
        print(json.dumps({**about, "launch": table.launch, "fastest": most}, indent=1))
    else:
        near, l2, memory = (f"{1e-9 * each:.4g}" for each in most)
        print(f"{path}: {table.source}")
        print(f"  most slots a nanosecond, x near {near}, in the L2 {l2}, in memory {memory}")
    return 0


def _lines(costs: Costs) -> list[str]:
    from tracecut.codegen.sparse.costs import LENGTHS

    lengths = "".join(f"{length:>7}" for length in LENGTHS)
    lines = [f"  {'nanoseconds of a row of':<22}{lengths}    end  x from L2     L3  memory"]
    for name, one in costs.forms.items():
        rows = "".join(f"{each:>7.2f}" for each in one.rows)
        near, far, memory = one.misses
        lines.append(f"  {name:<22} {rows} {one.end:>6.2f} {near:>10.2f} {far:>6.2f} {memory:>7.2f}")
    near, far, memory = costs.moves
    lines.append(
        f"  a call {costs.call:.2f} µs; an element moved in L2 {near:.2f}, L3 {far:.2f}, memory {memory:.2f} ns"
    )
    return lines
