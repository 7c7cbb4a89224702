"""Traced programs whose loops run on an emulated card, in a child, as `tracecut run --device` runs them."""

from __future__ import annotations

import faulthandler
import json
import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tracecut.codegen.devices.device import EMULATED, Device, open_device
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.codegen.offload.card_scope import CardScope, Hooks, make_card_scope
from tracecut.codegen.offload.device_host import DeviceHost
from tracecut.codegen.offload.device_loop import DeviceScope
from tracecut.codegen.offload.load_kernels import load_kernels
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.ir.ordering import Ordering
from tracecut.support.process.load_and_run import at_exit, load_library, run_main
from tracecut.support.process.program_identity import become

from tracecut.pipeline.stages.weave import weave_program

from ..children import SECONDS, ChildFailed, end_with_the_program
from ..harness import KEY, Inspected, Program
from ..kernels.running import source_of
from ..woven_programs import Ran


@dataclass(frozen=True)
class Asked:
    """A kernel of a loop: in which variant, and in which order."""

    item: Inspected
    variant: str
    ordering: Ordering


def card_scopes(asked: Sequence[Asked], *, threads: int = 32, jobs: int = 40) -> list[CardScope]:
    """Scopes for a program, without PTX. Raises UnsupportedError."""
    found: list[CardScope] = []
    for each in asked:
        item = each.item
        source = source_of(item)
        kernel = make_region_kernel(source, each.ordering, each.variant, threads=threads, jobs=jobs)
        hooks = Hooks(
            item.scope,
            len(found),
            sum(len(other.file.numbers) for other in found),
            item.program.traced.values[item.scope],
            KEY,
            item.renumber,
            tables=item.captured.tables,
            used_rows=item.captured.used_rows,
        )
        found.append(make_card_scope(source, kernel, hooks, lambda *_, **__: ""))
    return found


def run_on_card(
    program: Program,
    scopes: Sequence[CardScope],
    *,
    argv: Sequence[str] | None = None,
    seconds: float = SECONDS,
    device: Callable[[], Device] = lambda: open_device(EMULATED),
    name: str = "card",
) -> Ran:
    """Run a program to its end in a child. `device`: opens the card there."""
    folder = program.folder
    library = folder / f"{name}.so"
    found = [(item.file, item.outlined) for item in scopes]
    calls = [item.kernels.calls for item in scopes]
    names = weave_program(program.settings, program.compiled.analysis, found, library, calls)
    files = [ScopeFile.load(item.file.save(folder / f"{name}-{n}.npz")) for n, item in enumerate(scopes)]
    kernels = [
        [
            DeviceScope.load(found.save(folder / f"{name}-k{n}-{m}.npz"))
            for m, found in enumerate((item.kernels, item.anyhow))
            if found is not None
        ]
        for n, item in enumerate(scopes)
    ]
    out, err, report = folder / "card.out", folder / "card.err", folder / "card.json"
    for path in (out, err, report):
        path.unlink(missing_ok=True)
    words = [str(program.compiled.native), *(program.settings.argv if argv is None else argv)]
    pid = os.fork()
    if pid == 0:
        try:
            faulthandler.disable()
            end_with_the_program()
            for number, path, flags in (
                (0, Path(os.devnull), os.O_RDONLY),
                (1, out, os.O_WRONLY | os.O_CREAT),
                (2, err, os.O_WRONLY | os.O_CREAT),
            ):
                os.dup2(os.open(path, flags, 0o600), number)
            _run(library, files, kernels, names, words, device(), report)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(99)
    end = time.monotonic() + seconds
    while not (waited := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            raise ChildFailed(f"the program ran longer than {seconds:g} s: {err.read_text()[-2000:]}")
        time.sleep(0.002)
    found = json.loads(report.read_text()) if report.exists() else {"regions": {}, "scopes": {}}
    return Ran(os.waitstatus_to_exitcode(waited[1]), out.read_bytes(), err.read_text(errors="replace"), found)


def _run(
    library: Path,
    files: Sequence[ScopeFile],
    kernels: Sequence[Sequence[DeviceScope]],
    names: Sequence[str],
    words: Sequence[str],
    device: Device,
    report: Path,
) -> None:
    loaded = {file.number: load_kernels(device, *found) for file, found in zip(files, kernels, strict=True)}
    place = become(words)
    woven = load_library(library)

    def say(text: str) -> None:
        os.write(2, f"tracecut: {text}\n".encode())

    def end(text: str) -> NoReturn:
        say(f"error: {text}")
        os._exit(1)

    host = DeviceHost(woven, files, names, [0], say=say, device=device, scopes=loaded, end=end)

    def over() -> None:
        found: dict[str, Any] = host.summary()
        report.write_text(json.dumps(found))

    at_exit(over)
    run_main(woven, words, place)
