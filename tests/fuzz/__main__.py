"""Random programs through the whole pipeline, as many as wanted.

python -m tests.fuzz --seeds 100 --first 20        seeds 20 … 119, of 100 kernels each; figures at the end
python -m tests.fuzz --first 6 --kernel 62         one kernel alone: its source, verdicts, results; also with --rows
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

from . import installed  # noqa: F401
from .generate import generate, shapes_suite, suite_of
from .model import Suite
from .oracle import run_oracles
from .pieces import pieces_suite, tiles_suite
from .pipeline import check
from .report import Tally
from .rows import rows_suite


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds")
    parser.add_argument("--count", type=int, default=100, help="kernels of each seed")
    parser.add_argument("--kernel", type=int, help="only this kernel of the first seed")
    parser.add_argument("--pieces", action="store_true", help="loops over pieces that follow each other")
    parser.add_argument("--tiles", action="store_true", help="loops over tiles of one size, or over shares")
    parser.add_argument("--rows", action="store_true", help="arrays whose elements are rows behind pointers")
    parser.add_argument("--shapes", action="store_true", help="each kernel has one of the newest shapes")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    make = pieces_suite if options.pieces else rows_suite if options.rows else generate
    make = tiles_suite if options.tiles else shapes_suite if options.shapes else make
    if options.kernel is not None:
        return _alone(make(options.first, options.kernel + 1), options.kernel)
    tally = Tally()
    for seed in range(options.first, options.first + options.seeds):
        try:
            _run(make(seed, options.count), tally)
        except Exception as error:
            traceback.print_exc()
            tally.failed.append(f"seed {seed} raised {type(error).__name__}: {error}")
        wrong = len(tally.wrong) + len(tally.stopped) + len(tally.unsteady)
        print(f"seed {seed}: {tally.accepted}/{tally.possible} accepted, {wrong} wrong", file=sys.stderr)
    print(json.dumps(vars(tally)) if options.json else "\n".join(tally.lines()))
    return 1 if tally.wrong or tally.stopped or tally.unsteady or tally.unsound or tally.failed else 0


def _run(suite: Suite, tally: Tally) -> None:
    with TemporaryDirectory(prefix="tracecut-fuzz-") as folder:
        report = check(suite, Path(folder))
        tally.add(report, *run_oracles(suite, Path(folder), report.entries))


def _alone(whole: Suite, number: int) -> int:
    kernels = [kernel for kernel in whole.kernels if kernel.number == number]
    if not kernels:
        print(f"seed {whole.seed} has no kernel {number} of this kind")
        return 2
    suite = suite_of(kernels, whole.seed)
    begin = suite.source.index(f"/* kernel_{number}:")
    print(suite.source[begin : suite.source.index("int main(void)", begin)])
    with TemporaryDirectory(prefix="tracecut-fuzz-") as folder:
        report = check(suite, Path(folder))
        first, always = run_oracles(suite, Path(folder), report.entries)
    print(f"oracle: {first}, on other data: {always}")
    print("tracecut:", *report.verdicts.values())
    print("results:", report.wrong or "the same", report.stopped or "", report.unsteady or "")
    if report.ran is not None:
        print(f"ended with {report.ran.code}, scopes: {report.ran.report['scopes']}\n{report.ran.stderr}")
    return 1 if report.wrong or report.stopped or report.unsteady else 0


if __name__ == "__main__":
    sys.exit(main())
