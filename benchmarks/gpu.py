"""GPU kernels on a card: right results, times of the variants, and the memory model's times beside them.

`python benchmarks/gpu.py --prepare KIT` compiles the programs on any machine; nothing else needs a compiler.
`python benchmarks/gpu.py KIT --json benchmarks/results/gpu.json` runs them on a card, in minutes: inputs are made there
by the programs themselves, from seeds. `python benchmarks/gpu.py KIT --json FILE --model` adds to such a file what the
memory model predicts for the same kernels; it needs no card, and takes about a second for each million jobs and kernel.
`--emulated` goes the same way on this CPU, with small inputs: its times are those of the emulator.

Times are medians by the card's events, in microseconds, with caches that hold nothing of the kernel's data; of launches
back to back in the notes. What a kernel leaves is compared with what the program's own loop left.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from gpu_kit import INPUTS, SMALL_INPUTS, Input, loop_of_kit, natural, prepare, read_kit
from gpu_programs import CASES, Loop
from gpu_timing import Card, EmulatedCard
from gpu_variants import BOUND, error_of_results
from rows import Row, print_rows, read_rows, write_rows
from tracecut.codegen.devices.driver_backend import driver_backend
from tracecut.codegen.kernels.choose_kernel import KernelSearch, Wanted
from tracecut.codegen.kernels.gpu_model import gpu_model
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.ir.gpu.description import gpu
from tracecut.support.errors import ToolchainError, TracecutError

SHARED = 200 << 10
# Variant, threads and jobs of a block. `original` first: the others are compared with it.
KERNELS = (
    ("original", 256, 1024),
    ("original", 1024, 1024),
    ("swap-indirect", 256, 1024),
    ("swap", 256, 1024),
    ("swap", 1024, 4096),
    ("smem", 128, 512),
    ("smem", 256, 1024),
    ("smem", 512, 4096),
    ("readonly", 128, 512),
    ("readonly", 256, 1024),
    ("readonly", 512, 4096),
)
_timing: Any = None  # held while a process times kernels: one at a time
_card: Card | None = None  # of this process


@dataclass(frozen=True)
class Task:
    """One input in one order."""

    kit: Path
    item: Input
    order: str
    gpu: str
    once: bool = False
    emulated: bool = False

    @property
    def name(self) -> str:
        return f"{self.item.program} {self.item.size}"

    def loop(self, work: Path) -> Loop:
        arguments = natural(self.item) if self.order == "natural" else self.item.arguments
        return loop_of_kit(self.kit, read_kit(self.kit), self.item, arguments, work)


def kernels(loop: Loop, card: str, order: str) -> Iterator[tuple[str, Kernel | str]]:
    """The kernels of a loop that are timed, or why there is none; data in their own order only as they are."""
    search = KernelSearch(loop.source, Wanted(shared=SHARED), gpu(card))
    for variant, threads, jobs in KERNELS:
        if order == "natural" and variant == "swap-indirect":
            continue
        name = f"{variant} {threads}x{jobs}"
        try:
            yield name, search.make(variant, threads, jobs)
        except TracecutError as error:
            yield name, error.message


def timed(task: Task) -> list[Row]:
    """Rows of one input: errors, and times on the card."""
    with tempfile.TemporaryDirectory() as folder:
        loop = task.loop(Path(folder))
        rows = [Row(task.name, task.order, "jobs of the layout scope", loop.source.graph.graph.n_jobs, note=loop.place)]
        first = 0.0
        for name, kernel in kernels(loop, task.gpu, task.order):
            if isinstance(kernel, str):
                rows.append(Row(task.name, task.order, f"us@{name}", None, note=kernel))
                continue
            if not task.emulated:
                assembled(kernel)  # outside of the time on the card
            with _timing:
                left, times = card_of_process(emulated=task.emulated).run(kernel, once=task.once)
            error, kind = error_of_results(kernel.results(left), loop)
            if task.once:
                rows.append(Row(task.name, task.order, f"error@{name}", error, "bar ≤", BOUND.get(kind, 0.0)))
                continue
            first = first or times.cold
            words = f"warm {1e6 * times.warm:.2f} us, spread {times.spread:.2f}, {kernel.host.method}"
            rows.append(Row(task.name, task.order, f"us@{name}", 1e6 * times.cold, "original", 1e6 * first, words))
            rows.append(Row(task.name, task.order, f"error@{name}", error, "bar ≤", BOUND.get(kind, 0.0)))
        return rows


def assembled(kernel: Kernel) -> bytes:
    """What a card is given: PTX where this machine has no assembler, since drivers have one."""
    try:
        return kernel.cubin
    except ToolchainError:
        return kernel.ptx.encode()


def modelled(task: Task) -> list[Row]:
    """Rows of one input: times of the memory model."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, kernel in kernels(task.loop(Path(folder)), task.gpu, task.order):
            if isinstance(kernel, str):
                continue
            report = gpu_model(kernel, task.gpu)
            parts = ", ".join(f"{1e6 * part:.1f}" for part in report.seconds)
            words = f"{report.bound}: {parts}; L2 {report.l2_bytes}, HBM {report.hbm_bytes}; {kernel.host.method}"
            rows.append(Row(task.name, task.order, f"model us@{name}", 1e6 * report.time, note=words))
    return rows


def card_of_process(*, emulated: bool = False) -> Card:
    """The card; its memory that empties caches is kept."""
    global _card
    if _card is None and emulated:
        _card = EmulatedCard()
    elif _card is None:
        backend = driver_backend()
        if backend is None:
            raise SystemExit("this machine has no NVIDIA driver; --model needs none")
        try:
            _card = Card(backend)
        except (RuntimeError, MemoryError) as error:  # no card, one that is full, or a driver that is too old
            raise SystemExit(f"no card of this machine can be used ({error}); --model needs none") from error
    return _card


def _start(lock: Any) -> None:
    global _timing
    _timing = lock


def against_card(rows: list[Row], measured: dict[tuple[str, str, str], Row]) -> list[Row]:
    """Rows of the model, each with the card's time as its peer."""
    found = []
    for row in rows:
        peer = measured.get((row.input, row.order, row.metric.removeprefix("model ")))
        value = None if peer is None else peer.value
        found.append(Row(row.input, row.order, row.metric, row.value, "card", value, row.note))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kit", type=Path, nargs="?", help="what --prepare made")
    parser.add_argument("--prepare", type=Path, metavar="KIT", help="make a kit; no card is needed")
    parser.add_argument("--json", type=Path, help="write the rows there, beside those of other inputs and metrics")
    parser.add_argument("--model", action="store_true", help="the memory model's times instead of the card's")
    parser.add_argument("--emulated", action="store_true", help="small inputs, on the card that this CPU stands for")
    parser.add_argument("--programs", nargs="*", default=list(CASES), choices=list(CASES), help="that a kit is made of")
    parser.add_argument("--gpu", default="h200", help="the card's name among tracecut's descriptions")
    parser.add_argument("--inputs", nargs="*", help="such as 'mesh_flux 3'; default: all")
    parser.add_argument("--orders", nargs="*", default=["scattered", "natural"], choices=["scattered", "natural"])
    parser.add_argument("--once", action="store_true", help="launch each kernel once, for a profiler; no times")
    parser.add_argument("--minutes", type=float, default=7, help="after which no further input is timed (default: 7)")
    parser.add_argument("--workers", type=int, default=2, help="processes that prepare kernels")
    options = parser.parse_args()
    if options.kit is None and options.prepare is None:
        parser.error("a kit is needed: make one with --prepare KIT")
    try:
        if options.prepare is not None:
            prepare(options.prepare, options.programs)
            return
        programs = read_kit(options.kit)["programs"]
    except TracecutError as error:
        raise SystemExit(str(error)) from error
    measure(options, programs)


def measure(options: argparse.Namespace, programs: Mapping[str, Any]) -> None:
    """Time the kernels of all inputs, or predict them, and write the rows as they come.

    An input that has not begun when the time is over is named in a row of its own.
    """
    tasks = [
        Task(options.kit.resolve(), item, order, options.gpu, options.once, options.emulated)
        for item in sorted(SMALL_INPUTS if options.emulated else INPUTS, key=lambda item: -item.jobs)
        for order in options.orders
        if item.program in programs and (not options.inputs or f"{item.program} {item.size}" in options.inputs)
    ]
    meta = {"gpu": options.gpu}
    if not options.model:
        card = card_of_process(emulated=options.emulated)
        meta |= {"card": card.name, "cuda": card.cuda}
    elif options.json is not None and options.json.is_file():
        found = json.loads(options.json.read_text())
        meta |= {name: found[name] for name in ("card", "cuda") if name in found}
    rows = read_rows(options.json)
    context, end = (
        multiprocessing.get_context("spawn"),
        math.inf if options.model else time.monotonic() + 60 * options.minutes,
    )
    with ProcessPoolExecutor(options.workers, context, _start, (context.Lock(),)) as pool:
        jobs = {pool.submit(modelled if options.model else timed, task): task for task in tasks}
        for job in _completed(jobs, end):
            task = jobs[job]
            try:
                new = job.result()
            except CancelledError:
                new = [Row(task.name, task.order, "not measured", None, note=f"{options.minutes:g} minutes were over")]
            except TracecutError as error:
                new = [Row(task.name, task.order, "no kernel", None, note=error.message)]
            new = against_card(new, rows) if options.model else new
            print_rows(new)
            rows |= {(row.input, row.order, row.metric): row for row in new}
            if options.json is not None:
                write_rows(options.json, "gpu", list(rows.values()), **meta)


def _completed(jobs: Collection[Future[Any]], end: float) -> Iterator[Future[Any]]:
    """Jobs as they end; those that have not begun at `end` (of the monotonic clock) are given up."""
    left = set(jobs)
    while left:
        rest = end - time.monotonic()
        if rest <= 0:
            for job in left:
                job.cancel()
        done, left = wait(left, rest if 0 < rest < math.inf else None, FIRST_COMPLETED)
        yield from done


if __name__ == "__main__":
    main()
