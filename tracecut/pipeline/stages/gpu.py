"""Stage `gpu`: a kernel of each hot loop that can have one, chosen for a GPU and not by what paid on this machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracecut.codegen.offload.card_scope import CardScope
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.ir.gpu.description import Gpu, gpu
from tracecut.support.errors import TracecutError
from tracecut.support.files import write_text
from tracecut.support.process.runner import Limits
from tracecut.support.process.workers import run_worker
from tracecut.tracer.loops.program import Analysis

from .capture import Traced
from .card_scopes import read_card_scope
from .deadline import Deadline
from .settings import Settings
from .tune import NEVER, PATIENCE, SECONDS, RegionResult, layout_scopes, region_spec


def kernel_data(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    loop: int,
    asked: Mapping[str, Any],
    folder: Path,
    say: Callable[[str], None],
    limits: Limits | None = None,
    numbers: Mapping[str, Any] | None = None,
    taken: Collection[int] = (),
) -> dict[str, Any]:
    """What the process that makes a kernel of one captured loop has to say: files, or why there is none.

    `asked`: of `emit_worker.py`. `folder`: for intermediate files. `numbers`: the next one of a scope and of a loop in
    the woven program. `taken`: loops that have a kernel in it.
    """
    scopes, _ = layout_scopes(analysis, traced, loop, taken)
    own = folder / f"gpu{loop}"
    spec = region_spec(settings, analysis, traced, loop, scopes, folder, cpus=())
    spec |= {"folder": str(own), "kernel": dict(asked), "machine": None, **(numbers or {})}
    found = run_worker("tracecut.codegen.tuning.emit_worker", spec, own, f"gpu{loop}", say, limits or Limits())
    return dict(found)


def choose_kernels(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    results: Sequence[RegionResult],
    work: Path,
    folder: Path,
    say: Callable[[str], None],
    deadline: Deadline = NEVER,
) -> tuple[dict[int, dict[str, Any]], list[CardScope]]:
    """Loop id of each result → the entry of its GPU kernel in the manifest, and what can run in the program's place.

    PTX goes to `folder`. A loop without a kernel has an entry with the reason. Loops inside of one that cannot have a
    kernel are tried, too. A regular one that runs on the card in the scope of another names that.
    """
    assert settings.gpu is not None
    card = gpu(settings.gpu)
    found: dict[int, dict[str, Any]] = {}
    scopes: list[CardScope] = []
    indexed = {record.id: record.indirect for record in analysis.records}
    for result in sorted(results, key=lambda item: not indexed[item.loop]):  # whose scopes have room for the others
        why = result.refused
        beside = next((item for item in scopes if result.loop in item.file.numbers), None)
        if beside is not None and not indexed[result.loop]:
            place = beside.file.nest.loops[int(beside.file.options["region"])].place
            found[result.loop] = _entry(analysis, result.loop, card, beside=place.told)
            continue
        for loop in (result.loop, *(each for each in (result.hot.loop, *result.hot.inside) if each != result.loop)):
            if loop not in traced.profile.captures:
                continue
            if deadline.spent:
                why = f"its kernels were not tried when {deadline.why}"
                break
            entry = _one_loop(settings, analysis, traced, loop, card, work, folder, say, deadline, scopes)
            if entry["path"]:
                found[result.loop] = entry
                break
            why = why if loop != result.loop else str(entry["reason"])
        if result.loop not in found:
            found[result.loop] = _entry(analysis, result.loop, card, reason=why)
    return found, scopes


def _one_loop(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    loop: int,
    card: Gpu,
    work: Path,
    folder: Path,
    say: Callable[[str], None],
    deadline: Deadline,
    scopes: list[CardScope],
) -> dict[str, Any]:
    place = analysis.nest(loop).loops[loop].place
    asked: dict[str, Any] = {"variant": "auto", "arch": card.arch, "threads": None, "jobs": None, "shared": 48 << 10}
    asked |= {"method": "auto", "gpu": settings.gpu, "text": True, "card": card.name}
    taken = {number for item in scopes for number in item.file.nest.loops}
    alone = why_alone(settings, loop in taken)
    asked |= {"in_program": not alone, "ends": deadline.share_ends(1.0, 1.0)}
    numbers = {"number": len(scopes), "first_region": sum(len(item.file.numbers) for item in scopes)}
    ordered = {number for item in scopes for number in item.file.numbers}

    def tell(text: str) -> None:
        say(f"{Path(place.file).name}:{place.line}: {text}")

    limits = Limits(seconds=deadline.limit(SECONDS + PATIENCE * settings.loop_seconds))
    try:
        data = kernel_data(settings, analysis, traced, loop, asked, work, tell, limits, numbers, ordered)
        scopes += [read_card_scope(data)] if "kernels" in data else []
    except TracecutError as error:
        if deadline.spent:
            return _entry(analysis, loop, card, reason=f"its kernels were not made when {deadline.why}")
        return _entry(analysis, loop, card, reason=f"its inspection failed: {error.message}")
    if "kernel" not in data:
        reason = str(data.get("failed") or data.get("reason") or "it was not understood")
        return _entry(analysis, loop, card, reason=reason)
    chosen = data["chosen"]
    name = f"loop{loop}-{re.sub(r'[^A-Za-z0-9_.-]', '_', Path(str(settings.gpu)).stem)}.ptx"
    write_text(folder / name, Path(data["text"]).read_text(), sync=False)
    if alone := str(data.get("alone", alone)):
        chosen = {**chosen, "alone": alone}
    reason = why_chosen(chosen) + (f"; no more were looked at when {deadline.why}" if deadline.spent else "")
    return _entry(analysis, loop, card, path=f"kernels/{name}", reason=reason, **chosen)


def why_alone(settings: Settings, taken: bool) -> str:
    """Why a kernel cannot run in the program's place, whatever it is; empty where it may."""
    if settings.exact or settings.reduce != FAST:
        option = "--exact" if settings.exact else f"--reduce {settings.reduce}"
        return f"a card adds up in another order, which {option} rules out"
    return "a loop around it has kernels there" if taken else ""


def why_chosen(chosen: Mapping[str, Any]) -> str:
    """Why a kernel was taken, by what the worker says of it."""
    if len(chosen["considered"]) == 1:
        return "no other kernel was looked at"
    if chosen["measured"] is not None:
        return "it was the fastest on this machine's card"
    if chosen["variant"] == "original":
        return "no other kernel saves two per cent of the predicted time"
    return "it has the least predicted time"


def _entry(
    analysis: Analysis, loop: int, card: Gpu, *, path: str = "", reason: str = "", **chosen: Any
) -> dict[str, Any]:
    place = analysis.nest(loop).loops[loop].place
    where = {"loop": loop, "file": place.file, "line": place.line}
    return {"gpu": card.name, "arch": card.arch, **where, "path": path, "reason": reason, **chosen}
