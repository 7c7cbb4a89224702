"""What `auto` takes beside an exhaustive search of variant × block × jobs a thread, and the L2 bytes of the variants.

Predicted times, of the H200's memory model; every kernel of the search is run by it, access by access.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from gpu_programs import CASES, EDGE_LOOPS, loop_of
from measuring import cpu_seconds
from rows import Row
from tracecut.codegen.kernels.choose_kernel import CHOICES, THREADS, KernelSearch, Wanted
from tracecut.codegen.kernels.make_region_kernel import BLOCK_VARIANTS
from tracecut.ir.gpu.description import gpu

GPU = "h200"
EACH = (1, 2, 4, 8, 16)  # jobs a thread
CLUSTERS = (256, 1024, 4096)  # jobs of a cluster, for `swap`
BAR = 1.03
EDGE_BARS = (("original", 0.2), ("swap", 0.6))


def exhaustive() -> Iterable[tuple[str, int, int]]:
    """Variant, threads and jobs of all kernels of the exhaustive search."""
    for variant in CHOICES:
        for threads in THREADS:
            if variant in BLOCK_VARIANTS:
                yield from ((variant, threads, threads * each) for each in EACH)
            else:
                yield from ((variant, threads, jobs) for jobs in (CLUSTERS if variant == "swap" else (1024,)))


def case_rows(name: str, order: str, *, full: bool) -> list[Row]:
    """The rows of one program. `full`: with the exhaustive search."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        loop = loop_of(case, case.natural if order == "natural" else case.scattered, Path(folder))
    search = KernelSearch(loop.source, Wanted(), gpu(GPU))
    start = cpu_seconds()
    chosen = search.run()
    spent = cpu_seconds() - start
    looked = len(search.tried)
    auto = next(item for item in search.tried.values() if item.kernel.ir == chosen.ir and _same(item.kernel, chosen))
    jobs = loop.source.graph.graph.n_jobs
    rows = [Row(name, order, "auto: runs of the model", looked, "jobs of the loop", jobs)]
    rows.append(Row(name, order, "auto: CPU s", spent))
    original = min(item.report.time for key, item in search.tried.items() if key[0] == "original")
    words = f"{chosen.variant}, {chosen.threads} threads, {auto.jobs} jobs, {chosen.host.method}"
    rows.append(Row(name, order, "auto: time", auto.report.time, "original", original, note=words))
    if full:
        start = cpu_seconds()
        for key in exhaustive():
            search.look_at(*key)
        best, key = min((item.report.time, key) for key, item in search.tried.items())
        words = f"{key[0]}, {key[1]} threads, {key[2]} jobs; {len(search.tried)} kernels"
        rows.append(Row(name, order, "exhaustive: CPU s", cpu_seconds() - start))
        rows.append(Row(name, order, "auto / exhaustive best", auto.report.time / best, "bar ≤", BAR, note=words))
    return rows + byte_rows(name, order, search)


def byte_rows(name: str, order: str, search: KernelSearch) -> list[Row]:
    """Bytes of the L2 by variant, the least of all kernels that were run."""
    rows: list[Row] = []
    first = {key[0]: item for key, item in sorted(search.tried.items(), key=lambda each: -each[1].report.l2_bytes)}
    for variant, item in sorted(first.items()):
        peer = first["original"].report.l2_bytes
        rows.append(Row(name, order, f"L2 bytes@{variant}", item.report.l2_bytes, "original", peer))
    for variant in dict.fromkeys(key[0] for key in search.refused if key[0] not in first):
        why = next(text for key, text in search.refused.items() if key[0] == variant)
        rows.append(Row(name, order, f"L2 bytes@{variant}", None, note=why))
    if name in EDGE_LOOPS and order == "scattered" and "smem" in first:
        for peer_name, bar in EDGE_BARS:
            ratio = first["smem"].report.l2_bytes / first[peer_name].report.l2_bytes
            rows.append(Row(name, order, f"L2 bytes, smem / {peer_name}", ratio, "bar ≤", bar))
    return rows


def _same(one: object, other: object) -> bool:
    names = ("variant", "threads", "blocks", "shared_bytes")
    return all(getattr(one, name) == getattr(other, name) for name in names)
