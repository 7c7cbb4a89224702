"""Bugs to plant into tracecut, each as a patch of the process that runs the pipeline.

Each names what the kernels have in common that could show it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.host import outline_loop
from tracecut.codegen.runtime import executor, host, light_host, saved_schedule
from tracecut.codegen.schedule.inspector import build_schedule
from tracecut.codegen.schedule.schedule import Guard
from tracecut.ir.loops.nest import Site
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.tracer.legality import accesses as access
from tracecut.tracer.legality import judge as legality
from tracecut.tracer.legality.conflicts import READ
from tracecut.tracer.legality.evaluation import trip_numbers
from tracecut.tracer.loops import unrolled_loops
from tracecut.tracer.runtime.buffers import Block

from .model import Kernel

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Bug:
    """A bug. `plant` makes it; `shows`: whether a kernel could reveal it. `threads`: only on two threads.

    `first`: the seed that is tried first, of bugs that few kernels reveal.
    """

    plant: Callable[[Patch], None]
    shows: Callable[[Kernel], bool]
    threads: bool = False
    first: int = 0


def having(*features: str) -> Callable[[Kernel], bool]:
    return lambda kernel: bool(set(features) & set(kernel.features))


def write_after_read(patch: Patch) -> None:
    """Reads are left out of the conflicts."""
    found = legality.find_conflict
    patch.setattr(legality, "find_conflict", lambda events, size: found([e for e in events if e.kind != READ], size))


def operators_alike(patch: Patch) -> None:
    """Sums, products and bits of one array count as one reduction."""
    patch.setattr(Site, "update", property(lambda site: ("any", site.type)))


def merged_by_another(patch: Patch) -> None:
    """Partial sums of threads are multiplied."""
    wrong = {"add": executor.OPERATORS["mul"], "fadd": executor.OPERATORS["fmul"]}
    patch.setattr(executor, "OPERATORS", executor.OPERATORS | wrong)


def last_job_lost(patch: Patch) -> None:
    """The last position of the new order is not run."""
    made = executor._Waves.of

    def shorter(blocks: Any) -> Any:
        return made(replace(blocks, bounds=np.minimum(blocks.bounds, blocks.bounds[-1] - 1)))

    patch.setattr(executor._Waves, "of", shorter)


def stale_guard(patch: Patch) -> None:
    """A schedule is used for other indices and other numbers too."""
    check = host.check_guard

    def unseeing(guard: Guard, *rest: Any, **more: Any) -> Any:
        return check(replace(guard, numbers={}, loads=()), *rest, **more)

    for module in (host, saved_schedule):
        patch.setattr(module, "check_guard", unseeing)
    patch.setattr(light_host.LightHost, "_other_number", lambda *_: "")


def missed_alias(patch: Patch) -> None:
    """What is reached through different pointers counts as different memory."""
    judge = legality._judge_object

    def apart(accesses: Any, region: int, item: Any, touched: list[Any]) -> Any:
        roots: dict[object, list[Any]] = {}
        for found in touched:
            names = [
                node.data[0] for node in found.site.address.walk() if node.kind == "live" and node.data[1] == "ptr"
            ]
            roots.setdefault(names[0] if names else None, []).append(found)
        verdicts = [judge(accesses, region, item, members) for members in roots.values()]
        return next((verdict for verdict in verdicts if not verdict.movable), verdicts[0])

    patch.setattr(legality, "_judge_object", apart)


def condition_ignored(patch: Patch) -> None:
    """What stands under a condition never runs, as far as the analysis knows."""
    mask = access.Accesses.mask
    never = np.bool_(False)
    patch.setattr(access.Accesses, "mask", lambda self, site: mask(self, site) if site.reach == ALWAYS else never)


def one_less(patch: Patch) -> None:
    """Trip counts are one too small."""
    count = trip_numbers.count

    def shorter(*parts: Any) -> Any:
        passes, known = count(*parts)
        return np.maximum(passes - 1, 0), known

    patch.setattr(trip_numbers, "count", shorter)


def new_numbers_as_data(patch: Patch) -> None:
    """The program computes with the new numbers of its indices and of its iterations."""
    made = outline_loop._Outliner._rewrite

    def renumbered(self: Any, instruction: Any, block: str) -> str:
        closure, self.closure = self.closure, set()
        try:
            plain = instruction.op not in ("phi", "load", "store")
            return made(self, instruction, block) if plain else kept(self, instruction, block, closure)
        finally:
            self.closure = closure

    def kept(self: Any, instruction: Any, block: str, closure: Any) -> str:
        self.closure = closure
        return made(self, instruction, block)

    patch.setattr(outline_loop._Outliner, "_rewrite", renumbered)


def parts_unseen(patch: Patch) -> None:
    """What the parts of an unrolled loop do is taken to be the same."""
    patch.setattr(unrolled_loops._Matcher, "all_alike", lambda self, sums: True)


def layout_kept(patch: Patch) -> None:
    """Data are not put back on leaving a scope."""
    patch.setattr(executor.Executor, "leave", lambda self: setattr(self, "active", False))


def merge_cut_short(patch: Patch) -> None:
    """The last element of a private slot is not added."""
    made = executor.Executor._privates

    def shorter(self: Any, region: Any, code: Any, plan: Any) -> None:
        made(self, region, code, plan)
        count = region.blocks.count * len(region.privates)
        ends = (ctypes.c_int64 * count).from_address(plan.private_high) if count else []
        starts = (ctypes.c_int64 * count).from_address(plan.private_low) if count else []
        for place in range(count):
            width = executor._bytes_of(region.privates[place // region.blocks.count].type)
            ends[place] = max(starts[place], ends[place] - width)

    patch.setattr(executor.Executor, "_privates", shorter)


def copies_in_old_order(patch: Patch) -> None:
    """Arrays of the jobs are copied as they are."""
    made = executor.Executor._filled

    def plain(self: Any, region: Any, copy: Any) -> Any:
        jobs = self._jobs[region.region]
        if copy.mode == "direct":
            self._jobs[region.region] = Block.of(np.arange(jobs.count, dtype=np.int32), "i4")
        try:
            return made(self, region, copy)
        finally:
            self._jobs[region.region] = jobs

    patch.setattr(executor.Executor, "_filled", plain)


def job_twice(patch: Patch) -> None:
    """The scheduler runs one job twice and another one never."""
    made = build_schedule._region

    def doubled(*parts: Any) -> Any:
        region = made(*parts)
        jobs = region.jobs.copy()
        jobs[-1:] = jobs[:1]
        return replace(region, jobs=jobs)

    patch.setattr(build_schedule, "_region", doubled)


INDEXED = having("gather", "scatter", "gather-scatter", "edge")
BUGS = {
    bug.plant.__name__: bug
    for bug in (
        Bug(write_after_read, having("gather-scatter", "recurrence", "swap", "observed-sum")),
        Bug(operators_alike, having("mixed-operators")),
        Bug(merged_by_another, having("register-sum", "register-float-sum", "register-count"), threads=True),
        Bug(last_job_lost, INDEXED),
        Bug(stale_guard, having("index-changes", "count-changes")),
        Bug(missed_alias, having("alias-overlap", "alias-same")),
        Bug(condition_ignored, having("if-data", "if-index", "sentinel")),
        Bug(one_less, INDEXED),
        Bug(new_numbers_as_data, having("index-data", "counter-data", "index-compared", "if-index", "if-counter")),
        Bug(parts_unseen, having("unrolled"), first=7),
        Bug(layout_kept, INDEXED),
        Bug(merge_cut_short, having("memory-sum", "memory-float-sum", "histogram", "edge"), threads=True),
        Bug(copies_in_old_order, INDEXED),
        Bug(job_twice, INDEXED),
    )
}
