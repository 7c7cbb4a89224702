"""Running user code for the tests: in forked children, with a time limit, results through a pipe."""

from __future__ import annotations

import faulthandler
import itertools
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.codegen.host.region_library import batch_regions, load_regions
from tracecut.codegen.runtime.executor import Executor, RegionCode
from tracecut.codegen.runtime.host import Host, run_program
from tracecut.codegen.runtime.light_host import LightHost, run_listed
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.schedule import ORDERED, Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.load_and_run import load_library
from tracecut.support.process.program_identity import become
from tracecut.support.tolerances import CANCELLING, RESULTS
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.memory import STACK
from tracecut.tracer.runtime.binding import MAX_THREADS, Native
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline.stages.weave import weave_program

from ..waiting import HUNG
from .harness import Inspected, Program

SECONDS = HUNG


class ChildFailed(AssertionError):
    """The child raised, crashed or ran too long."""


def in_child(work: Callable[[], Any], *, seconds: float = SECONDS) -> Any:
    """Result of `work()` (plain JSON values) in a forked child. Raises ChildFailed when there is none."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            faulthandler.disable()
            try:
                answer = {"result": work()}
            except BaseException:
                answer = {"error": traceback.format_exc()}
            with os.fdopen(writer, "w") as file:
                json.dump(answer, file)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    try:
        data = _drain(reader, seconds)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise ChildFailed(f"the child ran longer than {seconds:g} s") from None
    finally:
        os.close(reader)
    _, status = os.waitpid(pid, 0)
    if not data:
        raise ChildFailed(f"the child ended with {os.waitstatus_to_exitcode(status)} and no answer")
    answer = json.loads(data)
    if "error" in answer:
        raise ChildFailed(answer["error"])
    return answer["result"]


def _drain(reader: int, seconds: float) -> bytes:
    end = time.monotonic() + seconds
    parts = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


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
    """Compile the range functions of inspected regions. Their scopes must not share a region."""
    outlined: dict[int, Outlined] = {}
    batches: dict[int, Outlined] = {}
    for item in items:
        found = item.cut_out[1]
        assert not outlined.keys() & found.keys(), "two scopes share a region"
        outlined |= found
        batches |= batch_regions(found, item.inspection.accesses)
    program = items[0].program
    path = program.folder / f"regions-{'-'.join(item.mark for item in items[:3])}-{len(items)}.so"
    load_regions(program.compiled.analysis, outlined, batches, Flags(), path)
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
        executor = Executor(native, replay.identity(), [], {item.region: replay.code(variant)})
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
            seen["threads"] = sorted({*seen["threads"], mine.blocks.widest()})
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
    executor = Executor(native, replay.identity(), [], {item.region: replay.code(variant)})
    executor.enter()
    replay.restore()
    replay.run(executor)
    first = replay.outcome()
    try:
        found = replay.compare(first, _replayed(native, replay, item, schedule, variant))
    except UnsupportedError:  # memory that it would copy was not captured: no plan of a tuned run either
        return ""
    allowed = RESULTS if item.inspection.verdicts[item.region].rounding else {}  # of a handful of addends: may cancel
    if found.bit_equal or all(error <= CANCELLING * allowed.get(type, 0.0) for type, error in found.errors.items()):
        return ""
    return f"error {found.max_rel_error:.3g} at {found.worst}"


def _is_what_the_program_did(item: Inspected, outcome: Any) -> bool:
    """Whether the arrays are what the traced run had when it left the loop.

    What it did not write in that entry is what it was; arrays on the stack are not kept.
    """
    if not outcome.objects:
        return True
    after = Capture.load(item.program.folder / "trace" / f"after-{item.region}.npz").memory.contents
    stack = {found.base for found in item.inspection.accesses.memory.objects if found.kind == STACK}
    wanted = {**item.capture.memory.contents, **after}
    known = outcome.objects.keys() - stack
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


@dataclass(frozen=True)
class Ran:
    """A run of a woven program. `code` as of `Popen.returncode`; `report`: counters of the host."""

    code: int
    stdout: bytes
    stderr: str
    report: dict[str, Any]

    @property
    def used(self) -> dict[str, int]:
        return {scope: found["used"] for scope, found in self.report["scopes"].items()}


def woven(
    items: Sequence[Inspected],
    schedules: Sequence[Schedule],
    *,
    batched: bool = False,
    threads: int = 1,
    name: str = "woven",
) -> tuple[Path, list[ScopeFile], list[str]]:
    """The program with these schedules: its library, its scopes as loaded from files, the names of its globals."""
    program = items[0].program
    scopes: list[tuple[ScopeFile, Mapping[int, Outlined]]] = []
    first = 0
    for number, (item, schedule) in enumerate(zip(items, schedules, strict=True)):
        variant = ""
        if batched and item.region in batch_regions(item.cut_out[1], item.inspection.accesses):
            variant = f"tc.batch.{item.region}"
        file = item.scope_file(number, first, schedule, threads, variant)
        first += len(file.numbers)
        path = file.save(program.folder / f"{name}-{number}.npz")
        scopes.append((ScopeFile.load(path), item.cut_out[1]))
    library = program.folder / f"{name}.so"
    names = weave_program(program.settings, program.compiled.analysis, scopes, library)
    return library, [scope for scope, _ in scopes], names


def run_woven(
    program: Program,
    made: tuple[Path, Sequence[ScopeFile], Sequence[str]],
    *,
    argv: Sequence[str] | None = None,
    stdin: Path | None = None,
    cpus: Sequence[int] = (0,),
    seconds: float = SECONDS,
    inspect: Any = None,
    enabled: bool = True,
) -> Ran:
    """Run a woven program to its end in a child: as `tracecut run` does, or with `inspect` by the full host alone."""
    library, scopes, names = made
    folder = program.folder
    out, err, report = folder / "run.out", folder / "run.err", folder / "run.json"
    for path in (out, err, report):
        path.unlink(missing_ok=True)
    words = [str(program.compiled.native), *(program.settings.argv if argv is None else argv)]
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            faulthandler.disable()
            for number, path, flags in (
                (0, stdin or Path(os.devnull), os.O_RDONLY),
                (1, out, os.O_WRONLY | os.O_CREAT),
                (2, err, os.O_WRONLY | os.O_CREAT),
            ):
                os.dup2(os.open(path, flags, 0o600), number)
            if inspect is not None:
                run_program(
                    library,
                    scopes,
                    names,
                    words,
                    cpus=cpus,
                    verbose=True,
                    inspect=inspect,
                    enabled=enabled,
                    report=lambda found: _write(report, found),
                )
            _run_listed(library, scopes, names, words, cpus, enabled, lambda found: _write(report, found))
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(99)
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise ChildFailed(f"the program ran longer than {seconds:g} s: {err.read_text()[-2000:]}")
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(status)
    found = json.loads(report.read_text()) if report.exists() else {"regions": {}, "scopes": {}}
    return Ran(code, out.read_bytes(), err.read_text(errors="replace"), found)


def _write(path: Path, found: dict[str, Any]) -> None:
    path.write_text(json.dumps(found))


def _run_listed(
    library: Path,
    scopes: Sequence[ScopeFile],
    names: Sequence[str],
    words: Sequence[str],
    cpus: Sequence[int],
    enabled: bool,
    report: Callable[[dict[str, Any]], None],
) -> None:
    """Run a woven program by the listing of its schedules."""
    folder = library.parent
    looks = [first_look(scope, scope.save(folder / f"run-{scope.number}.npz").name, folder) for scope in scopes]
    place = become(words)
    loaded = load_library(library)

    def load(front: LightHost, say: Callable[[str], None]) -> Host:
        return Host(loaded, scopes, names, cpus, say=say, front=front)

    run_listed(
        loaded,
        looks,
        names,
        words,
        place,
        cpus=cpus,
        verbose=True,
        enabled=enabled,
        inspects=False,
        read=lambda name: (folder / name).read_bytes(),
        load=load,
        report=report,
    )
