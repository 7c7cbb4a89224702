"""Speed and memory of the GPU memory model: coalescer, L1 and L2 together, an H200, one core.

`python benchmarks/gpu_sectors.py --json benchmarks/results/gpu_sectors.json` takes about three minutes. A driver in
machine code calls the model once a warp, as an emulator does, with addresses from memory. Rows:
`sectors/s`, sectors of warp requests in a CPU second, caches included, beside 15 million; `accesses/s`, the lanes'
accesses in the same time; `L1 share`, sectors that the L1 had. `stream`: all lanes side by side; `random N`: anywhere
in N bytes; `apart`: lanes that leave a loop at different times; `spmv rmat18`: value, column and x of each entry of
R-MAT 18. `bytes of 10^9 accesses`: most memory of a process that makes the addresses and counts them, beside 1 GiB.
`static ns/index`: the same sectors from the index array alone.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import numpy.typing as npt
from graphs import rmat
from measuring import cpu_seconds, interleaved
from numba import njit
from rows import Row, print_rows, write_rows
from tracecut.ir.gpu.description import gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.gpu.sites import Sites
from tracecut.ir.gpu.static_sectors import gather_sectors

REPEAT = 3
WARPS = 8  # of a block
STEPS = 6  # accesses of a thread
POOL = 24_000  # warps whose addresses are prepared
BAR, LARGEST, BILLION = 15e6, float(1 << 30), 10**9
CONSUME = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, *[ctypes.c_void_p] * 3)
SITES = Sites.of([("global", "load", 4), *[("global", "load", 4, "evict-first")] * 2])
Pool = npt.NDArray[np.uint64]


@njit
def drive(consume: Any, state: int, blocks: int, first: Any, site: Any, pool: Pool) -> None:
    """Warps of `blocks` blocks, with the addresses of the pool in turn."""
    turn = 0
    for block in range(blocks):
        for warp in range(WARPS):
            row = turn % pool.shape[0]
            consume(state, block, warp, first[row].ctypes, site[row].ctypes, pool[row].ctypes)
            turn += 1


def pools(names: Sequence[str] = ("stream", "random", "spmv", "apart")) -> dict[str, tuple[Any, Any, Pool]]:
    """By input whose first word is named: offsets int32 (warps, 33), sites and addresses (warps, 32 · STEPS)."""
    draw = np.random.default_rng(0)
    shape = (POOL, 32, STEPS)
    thread = np.arange(POOL * 32).reshape(POOL, 32, 1)
    stream = (np.arange(STEPS) << 36) + 4 * thread
    found = {"stream": stream}
    for size in (64 << 10, 16 << 20, 256 << 20) if "random" in names else ():
        found[f"random {size >> 10} KiB"] = 4 * draw.integers(0, size // 4, shape)
    graph = rmat()
    order = np.argsort(graph.u, kind="stable")
    x = graph.v[order][np.arange(POOL * 32 * 2) % graph.u.size].astype(np.int64)
    entry = np.arange(POOL * 32 * 2)
    spmv = np.stack([4 * x, (1 << 36) + 4 * entry, (2 << 36) + 4 * entry])  # jobs by warp, two each
    found["spmv rmat18"] = spmv.reshape(3, POOL, 2, 32).transpose(1, 3, 2, 0).reshape(shape)
    even = np.tile((STEPS * np.arange(33)).astype(np.int32), (POOL, 1))
    site = np.tile((np.arange(STEPS) % 3).astype(np.uint16), (POOL, 32))
    made = {
        name: (even, site, np.ascontiguousarray(given.reshape(POOL, -1), np.uint64)) for name, given in found.items()
    }
    if "apart" not in names:
        return made
    length = draw.integers(0, STEPS + 1, (POOL, 32))
    apart = np.zeros((POOL, 33), np.int32)
    apart[:, 1:] = np.cumsum(length, axis=1)
    made["apart"] = apart, np.zeros_like(site), made["random 16384 KiB"][2]
    return made


def counted(name: str, blocks: int, given: tuple[Any, Any, Pool]) -> MemoryReport:
    model = MemoryModel(gpu("h200"), SITES, 32 * WARPS)
    drive(CONSUME(model.pointer), model.state, blocks, *given)
    return model.report()


def billion(_: int) -> tuple[int, int]:
    """Accesses that were counted, and the most memory of this process in bytes."""
    given = pools(["spmv"])["spmv rmat18"]
    report = counted("spmv rmat18", -(-BILLION // (32 * STEPS * WARPS)), given)
    return int(report.counts[:, 1].sum()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--quick", action="store_true", help="without the billion accesses")
    options = parser.parse_args()
    blocks = 4 * POOL // WARPS  # the pool four times: making a model takes no share of it
    made = pools()
    found = interleaved({name: lambda name=name: counted(name, blocks, made[name]) for name in made}, REPEAT)
    rows: list[Row] = []
    for name, (report, seconds) in found.items():
        rows.append(Row(name, "", "sectors/s", report.sectors / seconds, "bar ≥", BAR))
        rows.append(Row(name, "", "accesses/s", int(report.counts[:, 1].sum()) / seconds))
        rows.append(Row(name, "", "L1 share", int(report.counts[:, 6].sum()) / report.sectors))
    index = rmat().v.astype(np.int64)
    gather_sectors(index[:100], 4)
    start = cpu_seconds()
    gather_sectors(index, 4)
    rows.append(Row("spmv rmat18", "", "static ns/index", 1e9 * (cpu_seconds() - start) / index.size))
    if not options.quick:
        with get_context("spawn").Pool(1) as pool:
            accesses, most = pool.apply(billion, (0,))
        rows.append(Row("spmv rmat18", "", f"bytes of {accesses:.3g} accesses", most, "bar ≤", LARGEST))
    print_rows(rows)
    if options.json is not None:
        write_rows(options.json, "gpu_sectors", rows, repeat=REPEAT, gpu="h200", warps_of_a_block=WARPS)


if __name__ == "__main__":
    main()
