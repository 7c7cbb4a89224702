"""Stage `capture`: the instrumented run counts executions, and saves the memory of the hot indexed loops."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracecut.ir.loops import nest_json
from tracecut.ir.loops.refusals import refusal
from tracecut.support.dataclass_json import to_json
from tracecut.support.errors import BackendError, ProgramError
from tracecut.support.memory_budget import default_budget
from tracecut.support.process.runner import Finished
from tracecut.support.process.workers import ended_by_itself, phrase, run_hosted, tail_of
from tracecut.tracer.capture.instrument import global_objects, hook_values, traced_module
from tracecut.tracer.capture.request import CaptureRequest
from tracecut.tracer.capture.snapshot import Profile, surely_fewer
from tracecut.tracer.capture.watch import seen_inputs, watcher, watching_environment
from tracecut.tracer.legality.row_columns import row_tables
from tracecut.tracer.loops.exits import counted_blocks
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.runtime.link import runtime_object, shared_library
from tracecut.tracer.toolchain.clang import optimised_object

from .settings import Settings

_HEAP = re.compile(r"\b(?:[mc]alloc|realloc|free|munmap_chunk)\(\): |corrupted (?:size|double)|double free")
COPIES = 6  # copies of the data of a loop that its inspection needs


@dataclass(frozen=True, eq=False)
class Traced:
    """Result of the instrumented run. `values`: hooked loop → (name, type) of the values that its hook reported.

    `with_rows`: those that reach rows behind pointers as such.
    `inputs`: path → digest of what the program looked at; `unseen`: why that may not be all, empty: it is.
    """

    profile: Profile
    values: Mapping[int, list[tuple[str, str]]]
    finished: Finished
    inputs: Mapping[str, str] = field(default_factory=dict)
    unseen: str = ""
    with_rows: frozenset[int] = frozenset()


def _counted(analysis: Analysis, loop: int) -> bool:
    """Whether the iterations of a loop may turn out to be independent, as far as its text says."""
    nest = analysis.nest(loop)
    return nest.loops[loop].trip is not None and refusal(nest, loop) is None


def hooked_loops(settings: Settings, analysis: Analysis) -> list[int]:
    """Loops that may be captured, and those around them.

    A short loop in which there is none is left alone: it may be entered millions of times.
    """
    found = [
        record.id
        for record in analysis.records
        if (record.indirect or ((settings.regular or settings.gpu is not None) and _counted(analysis, record.id)))
        and analysis.loop(record.id).preheader is not None
    ]
    large = {loop for loop in found if not surely_fewer(analysis.nest(loop), {}, settings.min_jobs)}
    return [loop for loop in found if large & analysis.nest(loop).inside(loop)]


def trace_program(
    settings: Settings, analysis: Analysis, argv0: Path, folder: Path, *, status: int = 0, cwd: Path | None = None
) -> Traced | str:
    """Instrument the program and run it once. Returns the reason if that fails.

    `status`: the exit status of the original, which the instrumented program must have too. `cwd`: the folder
    that it runs in, a copy of the current one; None: the current one.
    """
    hooked = {loop: hook_values(analysis, loop) for loop in hooked_loops(settings, analysis)}
    with ThreadPoolExecutor(1) as pool:  # the compiler works while the loops are written down
        made = pool.submit(optimised_object, traced_module(analysis, hooked), settings.flags, folder, "traced")
        nests = {loop: nest_json.to_json(analysis.nest(loop)) for loop in hooked}
        flattened = _flattened(analysis, hooked)
        try:
            code = made.result()
        except BackendError as error:
            return f"the program could not be instrumented: {error.message}: {error.detail}"
    library = shared_library([code, runtime_object()], settings.flags, folder / "traced.so")
    watch = watcher(folder)
    memory = settings.memory or default_budget()
    request = CaptureRequest(
        library=library,
        argv=(str(argv0), *settings.argv),
        folder=folder,
        first_entry=settings.first_entry,
        min_jobs=settings.min_jobs,
        byte_limit=min(settings.byte_limit, memory // COPIES),
        memory=memory,
        n_loops=analysis.n_loops,
        n_blocks=len(counted_blocks(analysis.views)),
        globals=tuple(name for name, _ in global_objects(analysis)),
        values={loop: tuple(values) for loop, values in hooked.items()},
        nests={},
        flattened={},
        tables=analysis.flattened(functions_of(analysis, hooked))[1],
        watch=watch,
    )
    described = {"nests": nests, "flattened": flattened}  # plain values already, and many
    (folder / "spec.json").write_text(json.dumps(to_json(request) | described))
    finished = run_hosted(
        "tracecut.tracer.capture.child",
        [folder / "spec.json"],
        stdin=settings.stdin,
        folder=folder,
        name="traced",
        timeout=None if settings.timeout is None else 10 * settings.timeout,
        env=watching_environment(watch),
        cwd=cwd,
    )
    if not ended_by_itself(finished) or finished.returncode != status:
        said = tail_of(finished.stderr)[-200:]
        return f"the instrumented program {phrase(finished, status)}: {said}{_of_the_heap(said)}"
    try:
        called = (name.removeprefix("@") for name in analysis.module.declarations)
        inputs, unseen = seen_inputs(folder, called, cwd)
        return Traced(Profile.load(folder), hooked, finished, inputs, unseen, frozenset(flattened))
    except (FileNotFoundError, KeyError) as error:
        raise ProgramError(
            "the program ended without running its exit handlers",
            hint="Programs that exit with _exit() cannot be captured.",
        ) from error


def _of_the_heap(said: str) -> str:
    """What it means that the C library has ended a program because of its heap."""
    if not _HEAP.search(said):
        return ""
    return (
        " (the program writes outside of what it has allocated, or frees it twice: what happens then depends on where "
        "its memory lies; -fsanitize=address finds the line)"
    )


def _flattened(analysis: Analysis, hooked: Iterable[int]) -> dict[int, Any]:
    """Loops with rows behind pointers → their nests in the flattened program."""
    flat, tables = analysis.flattened(functions_of(analysis, hooked))
    loads = {(table.function, name) for table in tables for name in table.loads}
    nests = {loop: flat.nest(loop) for loop in hooked if _makes(flat, loop, loads)}
    return {loop: nest_json.to_json(nest) for loop, nest in nests.items() if row_tables(nest, tables)}


def _makes(analysis: Analysis, loop: int, values: Collection[tuple[str, str]]) -> bool:
    """Whether one of some values, by function and name, is made in a loop."""
    view, blocks = analysis.view_of(loop), analysis.loop(loop).blocks
    return any(name == view.function.name and view.definitions[value].block in blocks for name, value in values)


def functions_of(analysis: Analysis, loops: Iterable[int]) -> frozenset[str]:
    """The functions that hold some loops."""
    return frozenset(analysis.view_of(loop).function.name for loop in loops)
