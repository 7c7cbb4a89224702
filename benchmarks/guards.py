"""Fingerprints of guarded memory, against reading it: `python benchmarks/guards.py [-o FILE]`.

Both run on one thread, in turns, and are timed by the thread's CPU time. The bar: at least 0.8 of the bandwidth of a
loop that adds up the same array. That array is larger than the caches; what fits a cache is shown beside it.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rows import Row, print_rows, write_rows
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.fingerprint_key import Secret
from tracecut.tracer.toolchain.find_compilers import compiler, environment

READ = """
#include <stdint.h>
typedef uint64_t Words __attribute__((vector_size(32)));
__attribute__((target("avx2"))) uint64_t add_up(const Words *at, int64_t bytes) {
    Words sum[8] = {0};
    for (int64_t i = 0; i < bytes / 256; i++, at += 8)
        for (int j = 0; j < 8; j++) sum[j] += at[j];
    for (int j = 1; j < 8; j++) sum[0] += sum[j];
    return sum[0][0] + sum[0][1] + sum[0][2] + sum[0][3];
}
"""
MEGABYTE = 1 << 20


def reader(folder: Path) -> Callable[[int, int], int]:
    """A loop that reads memory and does next to nothing else."""
    (folder / "read.c").write_text(READ)
    command = [*compiler().command, "-O3", "-fno-sanitize=undefined", "-shared", "-o", str(folder / "read.so")]
    subprocess.run([*command, str(folder / "read.c")], check=True, env=environment())
    call = ctypes.CDLL(str(folder / "read.so")).add_up
    call.argtypes, call.restype = [ctypes.c_void_p, ctypes.c_int64], ctypes.c_uint64
    return lambda address, size: int(call(address, size))


def speed(call: Callable[[], object], size: int, rounds: int) -> float:
    """GB/s."""
    start = time.thread_time_ns()
    for _ in range(rounds):
        call()
    return size * rounds / (time.thread_time_ns() - start)


def measure(megabytes: int, read: Callable[[int, int], int], repeat: int) -> list[Row]:
    size = megabytes * MEGABYTE
    room = np.arange(size // 8 + 8, dtype=np.uint64)
    data = room[-room.ctypes.data // 8 % 8 :][: size // 8]
    secret, at = Secret.draw(), data.ctypes.data
    assert read(at, size) == int(data.sum(dtype=np.uint64))
    rounds = max(1, 256 // megabytes)
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: read(at, size),
        "plain": lambda: support().fingerprint(at, size, 1, 1, secret),
        "fields": lambda: support().fingerprint(at, size // 12, 12, 4, secret),
    }
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            found[name].append(speed(call, size, rounds))
    best = {name: statistics.median(speeds) for name, speeds in found.items()}
    name = f"{megabytes} MB"
    return [
        Row(name, "contiguous", "fingerprint, GB/s", best["plain"], "reading", best["read"]),
        Row(name, "4 of 12 bytes", "fingerprint, GB/s", best["fields"], "reading", best["read"]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="write the rows to this file")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 512], help="megabytes")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="tracecut-benchmark-") as folder:
        read = reader(Path(folder))
        rows = [row for size in options.sizes for row in measure(size, read, options.repeat)]
    print_rows(rows)
    if options.output is not None:
        write_rows(options.output, "guards", rows, repeat=options.repeat)


if __name__ == "__main__":
    main()
