"""What the tests of the emulation share: runs without a fault, in every mode; kernels of one warp's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation.run_kernel import RunReport, run_kernel

from .kernels import kernel

MODES: list[dict[str, Any]] = [
    {"mode": "phases"},
    {"mode": "strict"},
    {"mode": "strict", "seed": 7},
    {"mode": "strict", "races": True},
]
every_mode = pytest.mark.parametrize("how", MODES, ids=lambda how: "-".join(map(str, how.values())))


def run(text: str, arguments: list[Any], grid: Any, block: Any, shared: int = 0, **how: Any) -> RunReport:
    report = run_kernel(text, "k", arguments, grid, block, shared, **how)
    assert report.completed and report.faults == (), [str(fault) for fault in report.faults]
    return report


def preload_case(blocks: int, block: int, seed: int = 1) -> tuple[list[Any], int, np.ndarray]:
    """Arguments of the preload kernel but for y, bytes of shared memory, and the right y."""
    rng = np.random.default_rng(seed)
    n, rows, cols = max(0, blocks * block - 3), 57, 91
    row, col = np.sort(rng.integers(0, rows, n)), rng.integers(0, cols, n)
    value, x = rng.random(n).astype(np.float32), rng.random(cols).astype(np.float32)
    local, ids, starts = np.zeros(n, np.uint16), [], [0]
    for b in range(blocks):
        part = slice(b * block, min(n, (b + 1) * block))
        found, local[part] = np.unique(col[part], return_inverse=True)
        ids.append(found)
        starts.append(starts[-1] + len(found))
    y = np.zeros(rows)
    np.add.at(y, row, value.astype(float) * x[col])
    listed = np.concatenate([*ids, [0]]).astype(np.int32)
    shared = 4 * int(np.diff(starts).max(initial=0))
    return [n, value, local, row.astype(np.int32), np.array(starts, np.int32), listed, x], shared, y


def warp_kernel(lines: str, type: str = "i32") -> str:
    """out[i] = what the lines make of `%v`, the i-th input."""
    body = f"""
entry:
  {{numbers}}
  %at = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %at
  {lines}
  %out.at = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store {type} %r, ptr addrspace(1) %out.at, align 4
  ret void
"""
    return kernel("ptr addrspace(1) %in, ptr addrspace(1) %out", body)


def by_warp(values: np.ndarray, block: int) -> list[tuple[int, np.ndarray]]:
    """(first thread, values of its threads) of every warp."""
    warps = []
    for first in range(0, len(values), block):
        part = values[first : first + block]
        warps += [(first + w, part[w : w + 32]) for w in range(0, block, 32)]
    return warps
