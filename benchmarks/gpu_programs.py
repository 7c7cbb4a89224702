"""The loops that GPU kernels are made of in benchmarks: the samples and two programs, captured in this process."""

from __future__ import annotations

from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracecut.codegen.kernels.make_region_kernel import Source
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.tuning.emit_worker import EmitWorker
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.workers import run_native
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.toolchain.clang import parse_flags

from tracecut.pipeline.stages.capture import trace_program
from tracecut.pipeline.stages.compile import compile_program
from tracecut.pipeline.stages.select_loops import choose_loops
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.stages.tune import layout_scopes, region_spec

BENCHMARKS = Path(__file__).resolve().parent
SAMPLES, PROGRAMS = BENCHMARKS.parent / "samples", BENCHMARKS / "programs"


@dataclass(frozen=True)
class Case:
    """A program, its compiler options, and its arguments by the numbering of its data.

    `function`: where the loop is that is meant, also one without an index; empty: the hottest indexed one.
    """

    path: Path
    scattered: tuple[str, ...]
    natural: tuple[str, ...]
    options: tuple[str, ...] = ()
    function: str = ""


def _sample(name: str, *arguments: str) -> Case:
    return Case(SAMPLES / f"{name}.c", arguments, (*arguments, "--natural"))


CASES = {
    "mesh_flux": _sample("mesh_flux", "--scale", "2", "--steps", "4"),
    "md_forces": _sample("md_forces", "--scale", "0", "--steps", "3"),
    "spmv_cg": _sample("spmv_cg", "--scale", "2", "--steps", "1", "--iterations", "8"),
    "graph_heat": _sample("graph_heat", "--scale", "15", "--steps", "4"),
    "cfd cells": Case(PROGRAMS / "cfd.c", ("300", "4"), ("300", "4", "natural")),
    "cfd faces": Case(PROGRAMS / "cfd.c", ("300", "4"), ("300", "4", "natural"), ("-DFACES",)),
}
EDGE_LOOPS = ("mesh_flux", "md_forces", "cfd faces")
SMALL = {
    "mesh_flux": ("--scale", "0", "--steps", "4"),
    "md_forces": ("--scale", "0", "--steps", "3"),
    "spmv_cg": ("--scale", "0", "--steps", "1", "--iterations", "8"),
    "graph_heat": ("--scale", "11", "--steps", "4"),
    "cfd cells": ("60", "4"),
    "cfd faces": ("60", "4"),
}


@dataclass(frozen=True, eq=False)
class Loop:
    """An inspected loop. `after`: the memory that the program's own loop left."""

    source: Source
    after: Capture | None
    place: str


class Inspector(EmitWorker):
    """Keeps what kernels are made of instead of tuning it."""

    source: Source | None = None

    def _stage(self, name: str) -> None:
        pass

    def _tune(self, scope: int, inspection: Inspection) -> None:
        self.source = self.source_of(inspection)


def loop_of(case: Case, argv: tuple[str, ...], work: Path) -> Loop:
    """The hottest loop of a program that can be rescheduled. Raises UnsupportedError when there is none."""
    return capture_and_inspect(case, argv, work)[0]


def capture_and_inspect(case: Case, argv: tuple[str, ...], work: Path) -> tuple[Loop, dict[str, Any]]:
    """That loop, and the specification that it was inspected by. Programs find their data in the repository."""
    with chdir(SAMPLES.parent):
        return _inspected(case, argv, work)


def _inspected(case: Case, argv: tuple[str, ...], work: Path) -> tuple[Loop, dict[str, Any]]:
    sources, flags = parse_flags([str(case.path), "-lm", *case.options])
    settings = Settings(tuple(sources), flags, argv, regular=bool(case.function))
    program = compile_program(settings, work)
    native = run_native(program.native, settings.argv, stdin=None, folder=work, timeout=None)
    if native.returncode:
        said = native.stderr.read_text(errors="replace")[-300:]
        raise UnsupportedError(f"{case.path.name} ended with {native.returncode}: {said}")
    folder = work / "capture"
    folder.mkdir()
    traced = trace_program(settings, program.analysis, program.native, folder, status=native.returncode)
    if isinstance(traced, str):
        raise UnsupportedError(traced)
    why = "no loop was captured"
    for hot in choose_loops(settings, program.analysis, traced.profile):
        for loop in (hot.loop, *hot.inside):
            place = program.analysis.nest(loop).loops[loop].place
            if loop not in traced.profile.captures or case.function not in ("", place.function):
                continue
            scopes, _ = layout_scopes(program.analysis, traced, loop, ())
            spec: dict[str, Any] = region_spec(settings, program.analysis, traced, loop, scopes, work, cpus=())
            Path(spec["folder"]).mkdir(exist_ok=True)
            worker = Inspector(spec)
            result = worker.run()
            if worker.source is not None:
                after = Capture.load(spec["after"]) if spec["after"] else None
                return Loop(worker.source, after, place.told), spec
            why = str(result.get("failed") or result.get("reason"))
    raise UnsupportedError(why)
