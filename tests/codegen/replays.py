"""Regions of traced programs replayed on their captured memory: in any order, in blocks, on any number of threads."""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.codegen.host.region_library import batch_regions, load_regions
from tracecut.codegen.runtime.executor import Executor, RegionCode
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.reduce_modes import ORDERED
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.support.tolerances import CANCELLING, RESULTS, SUM
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.evaluation.memory import STACK
from tracecut.tracer.runtime.binding import MAX_THREADS, Native

from .children import in_child
from .harness import Inspected


@dataclass(frozen=True, eq=False)
class Loaded:
    """Range functions of some inspected regions in one library, which only children load."""

    items: Sequence[Inspected]
    batches: Mapping[int, Outlined]
    path: Path

    def native(self) -> Native:
        import ctypes

        return Native(ctypes.CDLL(str(self.path)))

    def variants(self, item: Inspected) -> list[str]:
        names = [item.cut_out[1][item.region].name]
        return names + ([self.batches[item.region].name] if item.region in self.batches else [])


def load(items: Sequence[Inspected]) -> Loaded:
    """Compile the range functions of inspected regions, as a tuned run does. Their scopes must not share a region."""
    outlined: dict[int, Outlined] = {}
    batches: dict[int, Outlined] = {}
    for item in items:
        found = item.cut_out[1]
        assert not outlined.keys() & found.keys(), "two scopes share a region"
        outlined |= found
        batches |= batch_regions(found, item.inspection.accesses)
    program = items[0].program
    path = program.folder / f"regions-{'-'.join(item.mark for item in items[:3])}-{len(items)}.so"
    memory = program.capture(items[0].region).memory
    load_regions(program.compiled.analysis, outlined, batches, program.settings.flags, path, memory)
    return Loaded(items, batches, path)


def check_replays(
    loaded: Loaded, seeds: Sequence[int] = (1, 2), threads: Sequence[int] = (1, 2, 3, 7)
) -> dict[str, dict[str, Any]]:
    """Replays every region in its own and in random orders. Mark → what came of it:

    `wrong`: how some replay differs from what the program itself did, or an ordered one from itself with another number
    of threads, or nothing; `threads`: numbers of threads that its fast schedules really had; `privates`, `tail`:
    whether some of them had private slots, or jobs behind all threads; `waves`, `ordered_privates`: the largest number
    of wavefronts of its ordered schedules, and whether one had private slots.
    """
    return dict(in_child(lambda: {item.mark: _check_item(loaded, item, seeds, threads) for item in loaded.items}))


def _check_item(loaded: Loaded, item: Inspected, seeds: Sequence[int], threads: Sequence[int]) -> dict[str, Any]:
    native = loaded.native()
    native.threads([0, 1, 0, 1, 0, 1, 0, 1])
    print(f"replaying @{item.mark}", file=sys.stderr, flush=True)
    seen: dict[str, Any] = {"wrong": "", "threads": [], "privates": False, "tail": False}
    seen |= {"waves": 0, "ordered_privates": False}
    try:
        seen["wrong"] = _check_replay(native, loaded, item, seeds, threads, seen)
    except Exception:
        seen["wrong"] = traceback.format_exc()
    return seen


def _check_replay(
    native: Native, loaded: Loaded, item: Inspected, seeds: Sequence[int], threads: Sequence[int], seen: dict[str, Any]
) -> str:
    replay = item.replay(native)
    first = None
    for variant in loaded.variants(item):
        executor = Executor(native, replay.identity(), [], {item.region: replay.code(variant, original=True)})
        executor.enter()
        replay.restore()
        replay.run(executor)
        outcome = replay.outcome()
        if first is None:
            first = outcome
            if not _is_what_the_program_did(item, outcome):
                return f"{variant}: the identity order does not reproduce the program"
        elif not replay.compare(first, outcome).bit_equal:
            return f"{variant}: the identity order differs from the plain one"
    assert first is not None
    if not item.inspection.verdicts[item.region].movable:
        return ""
    rounding = item.inspection.verdicts[item.region].rounding
    for ordering in (item.unchanged(), *map(item.random, seeds)):
        for count in threads:
            schedule = item.schedule(ordering, count)
            mine = next(region for region in schedule.regions if region.region == item.region)
            seen["threads"] = sorted({*seen["threads"], min(count, mine.blocks.widest())})
            seen["privates"] |= bool(mine.privates)
            seen["tail"] |= bool(np.any(mine.blocks.waves))
            outcomes = [_replayed(native, replay, item, schedule, variant) for variant in loaded.variants(item)]
            exact = not rounding or (ordering.method == "unchanged" and mine.blocks.count == 1)
            for variant, outcome in zip(loaded.variants(item), outcomes, strict=True):
                found = replay.compare(first, outcome)
                if not (found.bit_equal or (not exact and found.max_rel_error < RESULTS["double"])):
                    at = f"error {found.max_rel_error} at {found.worst}"
                    return f"{variant}, {ordering.method} order in {mine.blocks.count} blocks: {at}"
            # Blocks combine their parts in one order, so variants agree on them too.
            if any(not replay.compare(outcomes[0], other).bit_equal for other in outcomes[1:]):
                return f"{ordering.method} order in {mine.blocks.count} blocks: variants differ"
        ordered = item.schedule(ordering, reduce=ORDERED)
        mine = next(region for region in ordered.regions if region.region == item.region)
        seen["waves"] = max(seen["waves"], int(mine.blocks.waves.max()) + 1)
        seen["ordered_privates"] |= bool(mine.privates)
        wrong = _unsteady(native, replay, item, ordered, loaded.variants(item), None if rounding else first)
        if wrong:
            return f"{ordering.method} order, {wrong}"
    return ""


def _unsteady(
    native: Native, replay: Any, item: Inspected, schedule: Schedule, variants: Sequence[str], reference: Any
) -> str:
    """How an ordered schedule's results depend on the number of threads, or differ from a reference; "" if not."""
    for count, variant in itertools.product((1, 2, 3, 4, 8), variants):
        outcome = _replayed(native, replay, item, schedule, variant, count)
        if reference is None:
            reference = outcome
        found = replay.compare(reference, outcome)
        if not found.bit_equal:
            return f"ordered, {variant} on {count} threads: error {found.max_rel_error} at {found.worst}"
    return ""


def unsteady(loaded: Loaded, schedules: Sequence[Schedule]) -> dict[str, str]:
    """Mark → how the results of an ordered schedule depend on the number of threads; of those alone where they do."""

    def work() -> dict[str, str]:
        native, found = loaded.native(), {}
        native.threads([0, 1, 0, 1, 0, 1, 0, 1])
        for item, made in zip(loaded.items, schedules, strict=True):
            replay = item.replay(native)
            try:
                found[item.mark] = _unsteady(native, replay, item, made, loaded.variants(item), None)
            except UnsupportedError:  # memory that it would copy was not captured
                continue
        return {mark: why for mark, why in found.items() if why}

    return dict(in_child(work))


def stopped_by_replay(loaded: Loaded, schedules: Sequence[Schedule]) -> dict[str, str]:
    """Mark → how a schedule on the captured memory differs from the original order there; of those alone that do.

    What the comparison of every candidate in a tuned run would stop: the last net, which no plan should reach.
    """
    pairs = list(zip(loaded.items, schedules, strict=True))
    return dict(in_child(lambda: {item.mark: why for item, made in pairs if (why := _stopped(loaded, item, made))}))


def _stopped(loaded: Loaded, item: Inspected, schedule: Schedule) -> str:
    native = loaded.native()
    native.threads([0, 1])
    replay, variant = item.replay(native), loaded.variants(item)[0]
    executor = Executor(native, replay.identity(), [], {item.region: replay.code(variant, original=True)})
    executor.enter()
    replay.restore()
    replay.run(executor)
    first = replay.outcome()
    try:
        found = replay.compare(first, _replayed(native, replay, item, schedule, variant))
    except UnsupportedError:  # memory that it would copy was not captured: no plan of a tuned run either
        return ""
    allowed = RESULTS if item.inspection.verdicts[item.region].rounding else {}  # of a handful of addends: may cancel
    limits = {type: CANCELLING * allowed.get(type.removeprefix(SUM), 0.0) for type in found.errors}
    if found.bit_equal or all(error <= limits[type] for type, error in found.errors.items()):
        return ""
    return f"error {found.max_rel_error:.3g} at {found.worst}"


def _is_what_the_program_did(item: Inspected, outcome: Any) -> bool:
    """Whether the arrays are what the traced run had when it left the loop.

    What it did not write in that entry is what it was; arrays on the stack are not kept, and copies of rows are not
    the program's.
    """
    if not outcome.objects:
        return True
    after = Capture.load(item.program.folder / "trace" / f"after-{item.region}.npz").memory.contents
    memory = item.inspection.accesses.memory
    apart = {found.base for found in memory.objects if found.kind == STACK or found in memory.rows}
    wanted = {**item.capture.memory.contents, **after}
    known = outcome.objects.keys() - apart
    if known and not known & after.keys():
        raise AssertionError("the trace does not tell what the loop did")
    return all(np.array_equal(wanted[base], outcome.objects[base]) for base in known)


def _replayed(
    native: Native, replay: Any, item: Inspected, schedule: Schedule, variant: str, threads: int = MAX_THREADS
) -> Any:
    """What a schedule leaves behind, the data back in the program's order."""
    alone = replace(schedule, regions=tuple(region for region in schedule.regions if region.region == item.region))
    codes: dict[int, RegionCode] = {item.region: replay.code(variant)}
    executor = Executor(native, alone, replay.bases(item.guarded[1]), codes, threads=threads)
    replay.restore()
    executor.enter()
    replay.run(executor)
    executor.leave()
    return replay.outcome()
