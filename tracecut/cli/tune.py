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
    "tracecut's kernels differ. About a minute of one core; other programs disturb it."
)
DEVICES = ("cpu",)


def run_tune(words: list[str]) -> int:
    """The command. Returns the exit status.

    Raises UsageError; OutputError where the table cannot be kept.
    """
    usage = "tracecut tune [--device D] [--fresh] [--json]"
    parser = Parser(prog="tracecut tune", usage=usage, description=DESCRIPTION)
    parser.add_argument("--device", metavar="D", default="cpu", help="what is measured: cpu (default)")
    parser.add_argument("--fresh", action="store_true", help="measure even if there is a table of this machine")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    if options.device not in DEVICES:
        raise UsageError(f"--device {options.device}: cpu expected", hint=known_names(options.device, DEVICES))
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
