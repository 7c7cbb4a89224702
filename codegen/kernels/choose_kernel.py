"""Which kernel of a region a GPU would run fastest, by the memory model: variant, block size and jobs a block.

Running the model costs most, so few kernels are run. Of each variant the first has 256 threads and 1,024 jobs a block.
For other numbers of jobs bytes and work are counted, and the model runs only where the count predicts a gain. Numbers
of threads are tried last, from 256 on in the direction that gains, and only for what is close to the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np
from tracecut.codegen.devices.device import Device
from tracecut.codegen.gpu.best_blocks import AUTO, BlockOrders, gathered_by_blocks
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.ir.gpu.description import Gpu
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import TracecutError, UnsupportedError

from .gpu_model import gpu_model
from .kernel import Considered, Kernel
from .make_region_kernel import BLOCK_VARIANTS, Source, make_region_kernel
from .predict_blocks import BlockCounts, count_blocks, fitted_slope, least_seconds, predict, same_blocks
from .tune_on_card import fastest, times_on_card

CHOICES = ("original", "swap", "smem", "readonly")  # `swap-indirect` loses what coalescing there was
THREADS = (64, 128, 256, 512, 1024)
JOBS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)  # of a block that keeps data, or of a cluster
FIRST_THREADS, FIRST_JOBS = 256, 1024
TIMED = 4  # kernels that are timed on a card, beside the best of each variant
LEAST_GAIN = 0.02  # share of the predicted time that a change of the program's order has to save
CLOSE = 0.12  # what is so much slower than the best may still win with other blocks or threads
STEP = 0.005  # what another run of the model has to promise


@dataclass(frozen=True)
class Wanted:
    """What is asked for; `auto` and None leave the choice to the model.

    Attributes:
        variant, method: of `make_region_kernel` and `BlockOrders`. arch: to emit for.
        threads: of a block. jobs: most jobs of a block that keeps data. shared: bytes that it may keep.
        seed: of orders. reduce: of `make_region_kernel`.
    """

    variant: str = AUTO
    arch: str = "sm_90"
    threads: int | None = None
    jobs: int | None = None
    shared: int = 48 << 10
    method: str = AUTO
    seed: int = 0
    reduce: str = FAST

    @property
    def searches(self) -> bool:
        """Whether the variant is still to be chosen."""
        return self.variant == AUTO


@dataclass(frozen=True, eq=False)
class Tried:
    """A kernel that the model has run."""

    kernel: Kernel
    jobs: int
    report: MemoryReport

    @property
    def rank(self) -> tuple[float, int]:
        return self.report.time, self.report.l2_bytes


def choose_kernel(
    source: Source,
    wanted: Wanted,
    gpu: Gpu,
    say: Callable[[str], None],
    card: Device | None = None,
    *,
    ends: float = math.inf,
) -> Kernel:
    """The kernel with the least predicted time; the program's own order unless another one saves two per cent.

    With a `card`, the fastest there of the few that are predicted to be fast, and of the best of each variant. Its
    `considered` has all that were looked at. A variant that is asked for is made with 256 threads and 1,024 jobs a
    block where nothing else is asked for, without a run of the model. `ends`: when, on the monotonic clock, no further
    kernel is looked at but the first one. Raises UnsupportedError when there can be none.
    """
    search = KernelSearch(source, wanted, gpu, say, card, ends)
    if not wanted.searches:
        return search.make(wanted.variant, wanted.threads or FIRST_THREADS, wanted.jobs or FIRST_JOBS)
    return search.run()


@dataclass(eq=False)
class KernelSearch:
    """One search, and all that it has looked at. The model takes about a second for each million jobs."""

    source: Source
    wanted: Wanted
    gpu: Gpu
    say: Callable[[str], None] = lambda text: None
    card: Device | None = None
    ends: float = math.inf
    tried: dict[tuple[str, int, int], Tried] = field(default_factory=dict)
    refused: dict[tuple[str, int, int], str] = field(default_factory=dict)
    measured: dict[tuple[str, int, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.orders = BlockOrders(self.source.graph.graph, self.wanted.method, seed=self.wanted.seed)
        start = self.source.graph.job_starts.get(self.source.region, 0)
        size = self.source.inspection.accesses.size(self.source.region) or 0
        self.degrees = np.diff(self.source.graph.graph.offsets)[start : start + size].astype(np.int64)
        self._orders: dict[tuple[int, bool], Ordering] = {}
        self._registers: dict[str, int | None] = {}
        self._counts: dict[Kernel, BlockCounts] = {}

    @property
    def over(self) -> bool:
        """Whether there is a kernel, and no time to look at another one."""
        return bool(self.tried) and monotonic() >= self.ends

    def run(self) -> Kernel:
        """Search variants, then jobs, then threads. Raises UnsupportedError when there is no kernel."""
        threads, jobs = self.wanted.threads or FIRST_THREADS, self.wanted.jobs or FIRST_JOBS
        for variant in CHOICES:
            self.look_at(variant, threads, jobs)
        if not self.tried:
            raise UnsupportedError("; ".join(dict.fromkeys(self.refused.values())))
        if self.wanted.jobs is None:
            for variant in BLOCK_VARIANTS:
                self._other_jobs(variant, threads)
        if self.wanted.threads is None:
            for variant in CHOICES:
                self._other_threads(variant)
        chosen = self._best() if self.card is None else self._fastest_on(self.card)
        return replace(chosen.kernel, considered=self.table(chosen))

    def table(self, chosen: Tried | None = None) -> tuple[Considered, ...]:
        """All that were looked at, those that were refused last."""
        found = []
        for key, item in self.tried.items():
            counted = item.report.time, item.report.l2_bytes, item.report.hbm_bytes
            found.append(Considered(*key, *counted, "", self.measured.get(key), item is chosen))
        found += [Considered(*key, None, 0, 0, why) for key, why in self.refused.items()]
        return tuple(found)

    def look_at(self, variant: str, threads: int, jobs: int) -> Tried | None:
        """Make a kernel and run the model; None when there can be none, or no time is left. Each is looked at once."""
        key = variant, threads, jobs
        if key not in self.tried and key not in self.refused and not self.over:
            self.say(_words(*key))
            try:
                kernel = self.make(*key)
                report = gpu_model(kernel, self.gpu, registers=self.registers(kernel))
            except UnsupportedError as error:
                self.refused[key] = error.message
            else:
                self.tried[key] = Tried(kernel, jobs, report)
        return self.tried.get(key)

    def make(self, variant: str, threads: int, jobs: int) -> Kernel:
        """A kernel. Raises UnsupportedError."""
        if variant == "original":
            graph = self.source.graph.graph
            jobs_, data = np.arange(graph.n_jobs, dtype=np.int32), np.arange(graph.n_data, dtype=np.int32)
            order = Ordering(jobs_, data, "original")
        else:
            order = self._order(jobs, blocks=variant in BLOCK_VARIANTS)
        wanted = self.wanted
        shape = {"threads": threads, "jobs": jobs, "shared": wanted.shared}
        return make_region_kernel(self.source, order, variant, arch=wanted.arch, reduce=wanted.reduce, **shape)

    def _order(self, jobs: int, *, blocks: bool) -> Ordering:
        """The order for blocks, their data side by side; or that of the clusters as it is."""
        if (jobs, blocks) not in self._orders:
            found = self.orders.best(jobs)
            self._orders[jobs, blocks] = gathered_by_blocks(self.orders.graph, found, jobs) if blocks else found
        return self._orders[jobs, blocks]

    def registers(self, kernel: Kernel) -> int | None:
        """Registers of a thread, which the size of the blocks does not change; None without ptxas."""
        if kernel.variant not in self._registers:
            try:
                self._registers[kernel.variant] = kernel.resources.registers
            except TracecutError:
                self._registers[kernel.variant] = None
        return self._registers[kernel.variant]

    def _other_jobs(self, variant: str, threads: int) -> None:
        """Count the bytes and the work of other numbers of jobs; run the model where that predicts the least time."""
        known = self._of(variant)
        if known is None or self._hopeless(known):
            return
        made: dict[int, Kernel] = {known.jobs: known.kernel}
        for jobs in JOBS:
            if (variant, threads, jobs) in self.tried or (variant, threads, jobs) in self.refused or self.over:
                continue
            self.say(f"counting the bytes of {_words(variant, threads, jobs)}")
            try:
                kernel = self.make(variant, threads, jobs)
            except UnsupportedError as error:
                self.refused[variant, threads, jobs] = error.message
                continue
            if not any(same_blocks(kernel.schedule, other.schedule) for other in made.values()):
                made[jobs] = kernel
        while True:
            best = self._of(variant)
            assert best is not None
            left = {
                jobs: self._guess(variant, threads, jobs, kernel)
                for jobs, kernel in made.items()
                if (variant, threads, jobs) not in self.tried
            }
            promising = [jobs for jobs, time in left.items() if time < (1 - STEP) * best.report.time]
            promising = [jobs for jobs in promising if self._least(made[jobs]) < self._best().report.time]
            if not promising or self.over:
                return
            self.look_at(variant, threads, min(promising, key=lambda jobs: left[jobs]))

    def _other_threads(self, variant: str) -> None:
        """From the best kernel of a variant to fewer threads, or to more, as long as that gains.

        Of the program's own order in any case: what others gain over it is to be none of the size of its blocks.
        """
        start = self._of(variant)
        if start is None or (variant != "original" and self._hopeless(start)):
            return
        place = THREADS.index(start.kernel.threads)
        for step in (-1, 1):
            best, at = start, place + step
            while 0 <= at < len(THREADS):
                found = self.look_at(variant, THREADS[at], start.jobs)
                if found is None or found.report.time > (1 - STEP) * best.report.time:
                    break
                best, at = found, at + step
            if best is not start:
                return

    def _of(self, variant: str) -> Tried | None:
        """The fastest of a variant so far."""
        found = [item for (name, *_), item in self.tried.items() if name == variant]
        return min(found, key=lambda item: item.rank) if found else None

    def _best(self) -> Tried:
        plain = self._of("original")
        best = min(self.tried.values(), key=lambda item: item.rank)
        if plain is not None and best.report.time > (1 - LEAST_GAIN) * plain.report.time:
            return plain
        return best

    def _fastest_on(self, card: Device) -> Tried:
        """The fastest on a card, of the few that the model takes for fast and of the best of each variant.

        The model's own choice where the card runs none of them.
        """
        ranked = sorted(self.tried.items(), key=lambda pair: pair[1].rank)
        chosen = dict(ranked[:TIMED])
        chosen |= {key: item for key, item in ranked if item is self._of(key[0])}
        self.say(f"timing {len(chosen)} kernels on {card.description}")
        times = times_on_card([item.kernel for item in chosen.values()], card)
        self.measured = {key: seconds for key, seconds in zip(chosen, times, strict=True) if seconds is not None}
        if not self.measured:
            return self._best()
        return list(chosen.values())[fastest([item.report.time for item in chosen.values()], times)]

    def _hopeless(self, item: Tried) -> bool:
        """Whether other blocks or threads will not make it the best: not even if none of its warps had to wait."""
        fastest = min(other.report.time for other in self.tried.values())
        return item.report.busy > (1 + CLOSE) * fastest + (item.report.launch if item.kernel.schedule else 0.0)

    def _counted(self, kernel: Kernel) -> BlockCounts:
        if kernel not in self._counts:
            self._counts[kernel] = count_blocks(kernel, self.degrees, self.gpu, self.registers(kernel))
        return self._counts[kernel]

    def _guess(self, variant: str, threads: int, jobs: int, kernel: Kernel) -> float:
        """Predicted seconds, from the run whose number of jobs is nearest."""
        known = [item for key, item in self.tried.items() if key[:2] == (variant, threads)]
        nearest = min(known, key=lambda item: abs(np.log2(item.jobs / jobs)))
        slope = fitted_slope([(self._counted(item.kernel), item.report) for item in known])
        return predict(nearest.report, self._counted(nearest.kernel), self._counted(kernel), self.gpu, slope)

    def _least(self, kernel: Kernel) -> float:
        return least_seconds(self._counted(kernel), self.gpu)


def _words(variant: str, threads: int, jobs: int) -> str:
    name = f"{variant}, {threads} threads"
    return f"{name}, {jobs} jobs a block" if variant in BLOCK_VARIANTS else name
