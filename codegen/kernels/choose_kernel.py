"""Which variant of a region's kernel a GPU would run fastest, by the memory model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tracecut.codegen.gpu.best_blocks import AUTO, order_for_blocks
from tracecut.codegen.schedule.schedule import FAST
from tracecut.ir.gpu.description import Gpu
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import UnsupportedError

from .gpu_model import gpu_model
from .kernel import Considered, Kernel
from .make_region_kernel import BLOCK_VARIANTS, Source, make_region_kernel

CHOICES = ("original", "swap", "smem", "readonly")  # `swap-indirect` loses what coalescing there was
JOBS = (512, 1024, 4096)  # of a block that keeps data
LEAST_GAIN = 0.02  # share of the predicted time that a change has to save


@dataclass(frozen=True)
class Wanted:
    """What is asked for; `auto` and None leave the choice to the model.

    Attributes:
        variant, method: of `make_region_kernel` and `order_for_blocks`. arch: to emit for.
        threads: of a block. jobs: most jobs of a block that keeps data. shared: bytes that it may keep.
        seed: of orders. reduce: of `make_region_kernel`.
    """

    variant: str = AUTO
    arch: str = "sm_90"
    threads: int = 256
    jobs: int | None = None
    shared: int = 48 << 10
    method: str = AUTO
    seed: int = 0
    reduce: str = FAST


def choose_kernel(source: Source, wanted: Wanted, gpu: Gpu, say: Callable[[str], None]) -> Kernel:
    """The kernel with the least predicted time; the program's own order unless another one saves two per cent.

    Its `considered` has all that were looked at. Raises UnsupportedError when there can be none.
    """
    variants = CHOICES if wanted.variant == AUTO else (wanted.variant,)
    orders: dict[int, Ordering] = {}
    best: tuple[tuple[float, int], Kernel] | None = None
    table: list[Considered] = []
    plain: float | None = None
    asked = list(_asked(variants, wanted))
    if len(asked) == 1:
        (variant, jobs), *_ = asked
        return _make(source, variant, jobs, wanted, orders)
    for variant, jobs in asked:
        say(f"{variant}, {jobs} jobs a block" if variant in BLOCK_VARIANTS else variant)
        try:
            kernel = _make(source, variant, jobs, wanted, orders)
            report = gpu_model(kernel, gpu)
        except UnsupportedError as error:
            table.append(Considered(variant, jobs, None, 0, 0, error.message))
            continue
        time = report.time
        table.append(Considered(variant, jobs, time, report.l2_bytes, report.hbm_bytes))
        plain = time if variant == "original" else plain
        rank = (time, report.l2_bytes)
        worth = variant == "original" or plain is None or time < (1 - LEAST_GAIN) * plain
        if best is None or (worth and rank < best[0]):
            best = rank, kernel
    if best is None:
        raise UnsupportedError("; ".join(dict.fromkeys(item.why for item in table)))
    return replace(best[1], considered=tuple(table))


def _asked(variants: Sequence[str], wanted: Wanted) -> Iterator[tuple[str, int]]:
    for variant in variants:
        if variant in BLOCK_VARIANTS and wanted.jobs is None and wanted.variant == AUTO:
            yield from ((variant, jobs) for jobs in JOBS)
        else:
            yield variant, wanted.jobs or 1024


def _make(source: Source, variant: str, jobs: int, wanted: Wanted, orders: dict[int, Ordering]) -> Kernel:
    graph = source.graph.graph
    if variant == "original":
        order = Ordering(np.arange(graph.n_jobs, dtype=np.int32), np.arange(graph.n_data, dtype=np.int32), "original")
    else:
        if jobs not in orders:
            orders[jobs] = order_for_blocks(graph, wanted.method, jobs=jobs, seed=wanted.seed)
        order = orders[jobs]
    options = {"arch": wanted.arch, "threads": wanted.threads, "jobs": jobs, "shared": wanted.shared}
    options["reduce"] = wanted.reduce
    return make_region_kernel(source, order, variant, **options)  # type: ignore[arg-type]
