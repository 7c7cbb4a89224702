"""Kernels of inspected loops in every variant, run on this CPU, beside what the program's own loop leaves."""

from __future__ import annotations

import numpy as np
from tracecut.codegen.kernels.kernel import KernelRun
from tracecut.codegen.kernels.make_region_kernel import VARIANTS, Source, make_region_kernel
from tracecut.codegen.runtime.executor import Executor
from tracecut.codegen.runtime.replay import CapturedRegion, Outcome, Replay
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.codegen.tuning.live_values import address_values, start_values
from tracecut.support.errors import UnsupportedError
from tracecut.support.tolerances import RESULTS, SUM

from ..harness import Inspected
from ..replays import Loaded


def source_of(item: Inspected) -> Source:
    """What kernels of an inspected loop are made of."""
    analysis = item.captured.analysis
    guard, objects = item.guarded

    def captured(outlined: Outlined) -> CapturedRegion:
        return CapturedRegion(
            item.capture,
            item.inspection.accesses,
            item.region,
            outlined,
            item.captured.values[item.region],
            start_values(analysis, item.region),
            address_values(analysis, item.region),
        )

    return Source(analysis, item.inspection, item.graph, item.region, guard, objects, captured)


def check(loaded: Loaded, strict: bool, races: bool | None = None, reduce: str = FAST) -> dict[str, dict[str, str]]:
    """Mark → variant → what is wrong with its kernels; why there is none begins with "no"."""
    races = strict if races is None else races
    return {item.mark: _check_item(loaded, item, strict, races, reduce) for item in loaded.items}


def replayed(loaded: Loaded, item: Inspected, source: Source) -> tuple[Replay, Outcome]:
    """A replay of the region, and what its own loop left there."""
    native = loaded.native()
    replay = item.replay(native)
    executor = Executor(
        native, replay.identity(), replay.bases(source.objects), {item.region: replay.code(original=True)}
    )
    executor.enter()
    replay.run(executor)
    executor.leave()
    return replay, replay.outcome()


def _check_item(loaded: Loaded, item: Inspected, strict: bool, races: bool, reduce: str) -> dict[str, str]:
    if not item.inspection.verdicts[item.region].movable:
        return {}
    source = source_of(item)
    replay, reference = replayed(loaded, item, source)
    found = {}
    for variant in VARIANTS:
        try:
            kernel = make_region_kernel(source, item.random(1), variant, threads=32, jobs=40, reduce=reduce)
        except UnsupportedError as error:
            found[variant] = f"no: {error.message}"
            continue
        run = kernel.run_cpu(strict=strict, races=races, seed=3)
        wrong = [str(fault) for fault in run.faults[:2]]
        _put(replay, source, run)
        compared = replay.compare(reference, replay.outcome())
        if any(error > RESULTS.get(type.removeprefix(SUM), 0.0) for type, error in compared.errors.items()):
            wrong.append(f"{compared.errors} at {compared.worst}")
        found[variant] = "; ".join(wrong)
    return found


def _put(replay: Replay, source: Source, run: KernelRun) -> None:
    """What a kernel left, where the replay has its memory."""
    replay.restore()
    for number, data in run.results.items():
        base = source.objects[number].base
        if base in replay.buffers:
            replay.buffers[base].view(np.uint8).reshape(-1)[:] = data
    replay.taken = np.zeros(len(replay.outlined.reductions) + 1, np.uint64)
    for place, item in enumerate(replay.outlined.reductions):
        replay.taken[place] = int.from_bytes(run.sums[item.phi].tobytes().ljust(8, b"\0"), "little")
