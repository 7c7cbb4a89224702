"""Part of stage `gpu`: the program whose loops run on a card, for `tracecut run --device`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracecut.codegen.offload.card_scope import CardScope
from tracecut.codegen.offload.device_loop import DeviceScope
from tracecut.codegen.ptx.ptxas import assemble
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.ir.gpu.description import gpu
from tracecut.ir.llvm.module_json import function_in
from tracecut.support.errors import ToolchainError
from tracecut.support.files import write_text
from tracecut.tracer.loops.program import Analysis

from .settings import Settings
from .tune import RegionResult
from .weave import weave_program

LIBRARY = "device.so"


def read_card_scope(data: Mapping[str, Any]) -> CardScope:
    """What `emit_worker.py` made of one. Raises ArtefactError."""
    file = ScopeFile.load(data["schedule"])
    functions = {int(loop): function_in(found) for loop, found in data["functions"].items()}
    outlined = {loop: replace(file.outlined[loop], function=found) for loop, found in functions.items()}
    anyhow = DeviceScope.load(data["anyhow"]) if "anyhow" in data else None
    return CardScope(file, DeviceScope.load(data["kernels"]), outlined, anyhow)


def publish_card_scopes(
    settings: Settings,
    analysis: Analysis,
    scopes: Sequence[CardScope],
    results: Sequence[RegionResult],
    staging: Path,
) -> dict[str, Any]:
    """Write the woven program and its kernels into the result. Returns the entry of the listing; empty without any.

    `results`: of the hot loops; what a sweep of theirs takes on one thread tells when the copies pay.

    Raises TracecutError when it cannot be built.
    """
    if not scopes:
        return {}
    assert settings.gpu is not None
    woven = [(item.file, item.outlined) for item in scopes]
    names = weave_program(settings, analysis, woven, staging / LIBRARY, [item.kernels.calls for item in scopes])
    (staging / "scopes").mkdir(exist_ok=True)
    (staging / "kernels").mkdir(exist_ok=True)
    files = []
    for item in scopes:
        number = item.file.number
        files.append([f"scopes/device{number}.npz", f"kernels/device{number}.npz"])
        item.file.save(staging / files[-1][0])
        item.kernels.save(staging / files[-1][1])
        if item.anyhow is not None:
            files[-1].append(f"kernels/device{number}-anyhow.npz")
            item.anyhow.save(staging / files[-1][2])
        for loop in item.kernels.loops:
            stem = staging / "kernels" / f"device{number}-loop{loop.loop}"
            write_text(stem.with_suffix(".ptx"), loop.ptx, sync=False)
            try:
                stem.with_suffix(".cubin").write_bytes(assemble(loop.ptx, item.kernels.arch).cubin)
            except ToolchainError:
                continue  # PTX is enough: the driver compiles it
    chosen = {int(item.file.options["region"]) for item in scopes}
    sweeps = {str(result.loop): _sweep(result) for result in results if result.loop in chosen}
    card = gpu(settings.gpu).name
    return {"gpu": card, "library": LIBRARY, "globals": names, "scopes": files, "sweep_ms": sweeps}


def device_entry(analysis: Analysis, scopes: Sequence[CardScope], card: str) -> dict[str, Any] | None:
    """The manifest's entry: the loops that run on a card in the program's place, and how each kernel is launched.

    `blocks` is None where each thread has one iteration. `copied`: arrays that the rest of the scope touches on the
    host, which are copied in each sweep. `host`: why other loops of the scopes have no kernel.
    """
    if not scopes:
        return None
    return {
        "gpu": card,
        "loops": [
            {
                "loop": loop.loop,
                "file": analysis.nest(loop.loop).loops[loop.loop].place.file,
                "line": analysis.nest(loop.loop).loops[loop.loop].place.line,
                "name": loop.name,
                "variant": loop.variant,
                "path": f"kernels/device{item.file.number}-loop{loop.loop}.ptx",
                "blocks": loop.blocks or None,
                "threads": loop.threads,
                "shared_bytes": loop.shared_bytes,
                "parameters": [[given.kind, given.name, given.type, given.group] for given in loop.parameters],
                "any_indices": item.anyhow is not None and any(loop.loop == other.loop for other in item.anyhow.loops),
            }
            for item in scopes
            for loop in item.kernels.loops
        ],
        "host": [remark for item in scopes for remark in item.kernels.remarks],
        "copied": sum(len({*item.kernels.reads, *item.kernels.writes}) for item in scopes),
    }


def _sweep(result: RegionResult) -> float | None:
    """Milliseconds of the program's own loop on one thread, None where it was not measured."""
    first = next((item for item in result.data.get("candidates", ()) if item["method"] == "original"), None)
    return None if first is None else first["region_ms"]
