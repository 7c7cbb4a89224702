"""Speed of kernels on this CPU: `python benchmarks/gpu_emulation.py [--json benchmarks/results/gpu_emulation.json]`.

The kernel is the preload kernel of the tests (`tests/codegen/emulation/kernels.py`): one thread a nonzero of a sparse
matrix, 1,024 threads a block, the x of a block fetched into shared memory, a barrier, an atomic sum. Rows: millions of
threads in a second of CPU time on one core, by mode, beside the bars; how much longer the checks take than the strict
run; seconds of compiling. Modes run in turns; each figure is a median, without the first round.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np
import numpy.typing as npt
from measuring import bar
from numba import cfunc
from rows import Row, print_rows, write_rows
from tracecut.codegen.emulation import run_kernel as emulation
from tracecut.codegen.emulation.run_kernel import CompiledConsumer, run_kernel

from tests.codegen.emulation.kernels import PRELOAD

BLOCK = 1024
NAME = "preload kernel, 1,024 threads"
Arguments = list[Any]


@cfunc("void(voidptr, int64, int32, CPointer(int32), CPointer(uint16), CPointer(uint64))")
def nothing(state: Any, block: Any, warp: Any, first: Any, site: Any, address: Any) -> None:
    """Takes the accesses of a warp."""


MODES: dict[str, tuple[dict[str, Any], float | None]] = {
    "strict": ({"mode": "strict"}, 5.0),
    "phases": ({"mode": "phases"}, 15.0),
    "phases, traced": ({"mode": "phases", "trace": CompiledConsumer(nothing.address)}, 2.0),
    "strict, traced": ({"mode": "strict", "trace": CompiledConsumer(nothing.address)}, 2.0),
    "races": ({"mode": "strict", "races": True}, None),
}


def matrix(blocks: int, order: str, seed: int = 1) -> tuple[Arguments, int, npt.NDArray[np.float64]]:
    """Arguments of the kernel but for y, bytes of shared memory, and the right y.

    `scattered`: columns at random; `banded`: within 3,000 of the diagonal.
    """
    rng = np.random.default_rng(seed)
    n, rows, cols = BLOCK * blocks - 5, BLOCK * blocks // 10, BLOCK * blocks // 10
    row = np.sort(rng.integers(0, rows, n))
    col = rng.integers(0, cols, n) if order == "scattered" else (row + rng.integers(-1500, 1500, n)) % cols
    value, x = rng.random(n).astype(np.float32), rng.random(cols).astype(np.float32)
    local, ids, starts = np.zeros(n, np.uint16), [], [0]
    for b in range(blocks):
        part = slice(b * BLOCK, (b + 1) * BLOCK)
        found, local[part] = np.unique(col[part], return_inverse=True)
        ids.append(found.astype(np.int32))
        starts.append(starts[-1] + len(found))
    expected = np.bincount(row, value.astype(np.float64) * x[col], rows)
    shared = 4 * int(np.diff(starts).max())
    arguments = [n, value, local, row.astype(np.int32), np.array(starts, np.int32), np.concatenate(ids), x]
    return arguments, shared, expected


def launches(blocks: int, order: str) -> dict[str, Callable[[], None]]:
    """Runs of all modes, each of which checks its result."""
    arguments, shared, expected = matrix(blocks, order)

    def launch(how: dict[str, Any]) -> None:
        y = np.zeros(len(expected), np.float32)
        report = run_kernel(PRELOAD, "k", [*arguments, y], blocks, BLOCK, shared, **how)
        assert report.faults == () and report.blocks == blocks
        assert np.abs(y - expected).max() < 1e-5 * expected.max()

    return {name: lambda how=how: launch(how) for name, (how, _) in MODES.items()}  # type: ignore[misc]


def compile_seconds(repeat: int) -> dict[str, float]:
    """Medians of the CPU seconds from a kernel's text to machine code."""
    arguments, shared, expected = matrix(1, "banded")
    found = {}
    for name, (how, _) in MODES.items():
        seconds = []
        for _ in range(repeat):
            emulation._built.clear()
            start = time.process_time()
            run_kernel(PRELOAD, "k", [*arguments, np.zeros(len(expected), np.float32)], 1, BLOCK, shared, **how)
            seconds.append(time.process_time() - start)
        found[name] = statistics.median(seconds)
    return found


def measure(blocks: int, order: str, repeat: int) -> list[Row]:
    calls = launches(blocks, order)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeat + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if turn:
                seconds[name].append(time.process_time() - start)
    spent = {name: statistics.median(found) for name, found in seconds.items()}
    rows = []
    for name, (_, limit) in MODES.items():
        rate = blocks * BLOCK / spent[name] / 1e6
        metric = f"{name}: M threads a CPU s"
        rows.append(Row(NAME, order, metric, rate) if limit is None else bar(NAME, metric, rate, "≥", limit, order))
    rows.append(bar(NAME, "races: time / strict time", spent["races"] / spent["strict"], "≤", 10.0, order))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--blocks", type=int, default=2000, help="of 1,024 threads")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    rows = [row for order in ("banded", "scattered") for row in measure(options.blocks, order, options.repeat)]
    rows += [
        Row(NAME, "banded", f"{name}: text to first result, CPU s", seconds)
        for name, seconds in compile_seconds(options.repeat).items()
    ]
    print_rows(rows)
    if options.json is not None:
        write_rows(options.json, "gpu_emulation", rows, repeat=options.repeat, blocks=options.blocks, seed=1)


if __name__ == "__main__":
    main()
