"""Traced programs with schedules woven into them, run as `tracecut run` runs them."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracecut.codegen.host.region_library import batch_regions
from tracecut.codegen.runtime.host import Host
from tracecut.codegen.runtime.light_host import LightHost
from tracecut.codegen.runtime.reinspect import Reinspector
from tracecut.codegen.runtime.run_listed import run_listed
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.process.load_and_run import at_exit, load_library, run_main
from tracecut.support.process.program_identity import become

from tracecut.pipeline.stages.weave import weave_program

from .children import SECONDS, ChildFailed, end_with_the_program
from .harness import Inspected, Program


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
    beside: Any = None,
    enabled: bool = True,
) -> Ran:
    """Run a woven program to its end in a child: as `tracecut run` does, or with `inspect` by the full host alone.

    `beside`: what makes a schedule for new input beside the program, asked by the host of a run.
    """
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
            end_with_the_program()
            for number, path, flags in (
                (0, stdin or Path(os.devnull), os.O_RDONLY),
                (1, out, os.O_WRONLY | os.O_CREAT),
                (2, err, os.O_WRONLY | os.O_CREAT),
            ):
                os.dup2(os.open(path, flags, 0o600), number)
            if inspect is not None:
                _run_by_host(library, scopes, names, words, cpus, enabled, inspect, lambda found: _write(report, found))
            _run_listed(library, scopes, names, words, cpus, enabled, beside, lambda found: _write(report, found))
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


def _run_by_host(
    library_path: Path,
    scopes: Sequence[ScopeFile],
    names: Sequence[str],
    words: Sequence[str],
    cpus: Sequence[int],
    enabled: bool,
    inspect: Any,
    report: Callable[[dict[str, Any]], None],
) -> None:
    """Run a woven program with the full host from the start."""
    place = become(words)
    library = load_library(library_path)

    def say(text: str) -> None:
        os.write(2, f"tracecut: {text}\n".encode())

    host = Host(library, scopes, names, cpus, say=say, enabled=enabled, inspect=inspect)
    started = time.perf_counter()
    at_exit(lambda: report({**host.summary(), "seconds": time.perf_counter() - started}))
    sys.stdout.flush()
    run_main(library, words, place)


def _run_listed(
    library: Path,
    scopes: Sequence[ScopeFile],
    names: Sequence[str],
    words: Sequence[str],
    cpus: Sequence[int],
    enabled: bool,
    beside: Any,
    report: Callable[[dict[str, Any]], None],
) -> None:
    """Run a woven program by the listing of its schedules."""
    folder = library.parent
    looks = [first_look(scope, scope.save(folder / f"run-{scope.number}.npz").name, folder) for scope in scopes]
    place = become(words)
    loaded = load_library(library)

    def load(front: LightHost, say: Callable[[str], None]) -> Host:
        inspect = None if beside is None else Reinspector()
        return Host(loaded, scopes, names, cpus, say=say, inspect=inspect, beside=beside, front=front)

    run_listed(
        loaded,
        looks,
        names,
        words,
        place,
        cpus=cpus,
        verbose=True,
        enabled=enabled,
        inspects=beside is not None,
        read=lambda name: (folder / name).read_bytes(),
        load=load,
        report=report,
    )
