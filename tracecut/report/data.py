"""The data of a report: plain values, ready to be drawn, without private paths."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .chart_data import RegionFigures
from .gpu_choice import GpuChoice, gpu_choice
from .reading.manifest_reader import Fields
from .reading.path_privacy import Root
from .remarks import Remark
from .source_excerpt import Excerpt, Place, excerpts

CLASSES = ("parallel", "reduction", "ordered", "rejected")
DECISIONS = ("optimized", "refused")


@dataclass(frozen=True)
class Candidate:
    """One order that was considered. `note`: why it was not tried, or its result.

    `region_ms` is one sweep on one thread, `region_all_ms` on `threads` of them.
    """

    method: str
    inspect_ms: float | None = None
    region_ms: float | None = None
    region_all_ms: float | None = None
    threads: int | None = None
    predicted_misses: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Kernel:
    """One emitted kernel; without a path, `note` says why it was not emitted."""

    target: str
    path: str = ""
    variant: str = ""
    registers: int | None = None
    note: str = ""


@dataclass(frozen=True)
class MachineLine:
    """A machine. `caches` are (name, bytes), nearest first; `memory` is in bytes; `notes`: what a model leaves out."""

    name: str = ""
    cores: int | None = None
    caches: tuple[tuple[str, float], ...] = ()
    memory: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """A model's prediction for one loop on another `machine`, before and after, in `unit`s; nothing is measured.

    `method`: the best order, "original" where none is better.
    """

    machine: str
    method: str
    unit: str
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True)
class ProgramResult:
    """The whole program, before and after; None is not measured. `reason`: why no loop was inspected."""

    original_seconds: float | None = None
    optimized_seconds: float | None = None
    speedup: float | None = None
    output_equal: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class RegionReport:
    """One loop: verdict, decision, and what was measured. Times are of one sweep; None is not measured.

    `threads`: number of threads of the result; `all_threads`: number of threads that `all_threads_ms` was measured
    with. `kept`: for each array that is not moved, the reason. `tolerance`: type → error that was allowed. `placed`:
    the CPUs of the threads. `remote_before`, `remote_after`: predicted share of the values that come from other nodes;
    None on one.
    """

    id: str
    function: str
    place: Place
    kind: str
    decision: str
    reason: str = ""
    jobs: int | None = None
    data: int | None = None
    share: float | None = None
    scope: Place | None = None
    evidence: tuple[Place, ...] = ()
    method: str = ""
    candidates: tuple[Candidate, ...] = ()
    threads: int | None = None
    all_threads: int | None = None
    original_ms: float | None = None
    one_thread_ms: float | None = None
    all_threads_ms: float | None = None
    copy_ms: float | None = None
    inspect_ms: float | None = None
    break_even_sweeps: float | None = None
    pays_off_sweeps: float | None = None
    max_rel_error: float | None = None
    tolerance: tuple[tuple[str, float], ...] = ()
    bit_equal: bool | None = None
    rounding: tuple[str, ...] = ()
    replication_before: float | None = None
    replication_after: float | None = None
    kept: tuple[str, ...] = ()
    placed: str = ""
    remote_before: float | None = None
    remote_after: float | None = None
    predicted: Prediction | None = None
    kernels: tuple[Kernel, ...] = ()
    gpu: GpuChoice | None = None
    figures: RegionFigures | None = None
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def optimized(self) -> bool:
        return self.decision == "optimized"

    @property
    def parallel(self) -> bool:
        """Whether `all_threads_ms` is a measurement of its own."""
        return self.all_threads_ms is not None and (self.one_thread_ms is None or self.all_threads != 1)

    @property
    def best_ms(self) -> float | None:
        """The better of the two new times."""
        return min((ms for ms in (self.one_thread_ms, self.all_threads_ms) if ms is not None), default=None)


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows.

    All strings may be shown to others, except `folder`, `report`, `run` and `on_card`: those are exact paths, for the
    terminal of the user, and never part of the HTML report.
    """

    version: str
    sources: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int | None = None
    input_hash: str = ""
    machine: MachineLine = MachineLine()
    predicted_for: MachineLine = MachineLine()
    timings: tuple[tuple[str, float], ...] = ()
    original_run_seconds: float | None = None
    capture_run_seconds: float | None = None
    program: ProgramResult = ProgramResult()
    regions: tuple[RegionReport, ...] = ()
    remarks: tuple[Remark, ...] = ()
    folder: str = field(default="", repr=False)
    report: str = field(default="", repr=False)
    run: tuple[str, ...] = field(default=(), repr=False)
    on_card: tuple[str, ...] = field(default=(), repr=False)

    @property
    def untraced(self) -> bool:
        """Whether the instrumented program failed, so that nothing is known of the loops."""
        ran = self.original_run_seconds is not None
        return ran and self.capture_run_seconds is None and bool(self.program.reason)

    @classmethod
    def from_manifest(
        cls,
        manifest: Mapping[str, Any],
        *,
        folder: str | os.PathLike[str] | None = None,
        figures: Mapping[str, RegionFigures] | None = None,
        sources: Mapping[str, Sequence[str]] | None = None,
        remarks: Iterable[Remark] = (),
        root: str | None = None,
    ) -> ReportData:
        """The report of one run.

        Optional keys: `command` (all arguments of the command line; else it is composed of the sources,
        flags and arguments), `input_hash`, `notes` (how options were understood); in the program
        `reason` (why no loop was inspected); in a region `places`
        (the lines behind its verdict), `kept`, `tolerance`, `rounding`; in a candidate `region_all_ms`, `threads`,
        `predicted_misses` (of the L2 cache, per job); in a kernel `registers`, and `note` if there is no path; in a
        region `gpu` (the kernel that a memory model chose); `device` (loops with kernels for the program's place).

        Args:
            manifest: what `tracecut optimize` wrote.
            folder: where it wrote it, as the user wrote it. Default: the folder of the report by the manifest.
            figures: region id → data of its charts.
            sources: file, as the manifest names it → its lines. May be empty.
            remarks: what was accepted and refused.
            root: working directory; paths below it are shown relative to it, others by name alone. Default: the
                current one.

        Raises:
            ArtefactError: a value of the wrong kind; the message says where.
        """
        top = Fields.of(manifest, "manifest")
        shown = Root(str(Path.cwd()) if root is None else root)
        exact = top.texts("argv")
        arguments = ("--", *exact) if exact else ()
        made = ("tracecut", "optimize", *top.texts("source"), *top.texts("flags"), *arguments)
        report = top.text("report")
        if folder is not None:
            report = str(Path(folder) / report) if report else ""
        place = str(Path(report).parent) if folder is None and report else os.fspath(folder or "")
        program = top.child("program") or Fields({})
        return cls(
            version=top.text("tracecut"),
            sources=tuple(shown.path(source) for source in top.texts("source")),
            arguments=tuple(shown.argument(argument) for argument in exact),
            command=tuple(shown.argument(word) for word in top.texts("command") or made),
            notes=tuple(shown.text(note) for note in top.texts("notes")),
            seed=top.count("seed"),
            input_hash=top.text("input_hash"),
            machine=_machine(top.child("machine")),
            predicted_for=_machine(top.child("predicted_for")),
            timings=top.numbers("timings"),
            original_run_seconds=top.number("original_run_seconds"),
            capture_run_seconds=top.number("capture_run_seconds"),
            program=ProgramResult(
                program.number("original_seconds"),
                program.number("optimized_seconds"),
                program.number("speedup"),
                program.flag("output_equal"),
                shown.text(program.text("reason")),
            ),
            regions=tuple(_region(item, figures or {}, sources or {}, shown) for item in top.children("regions")),
            remarks=tuple(_shown_remark(remark, shown) for remark in remarks),
            folder=place,
            report=report,
            run=("tracecut", "run", place, *arguments) if place else (),
            on_card=("tracecut", "run", place, "--device", "gpu", *arguments) if place and top.child("device") else (),
        )

    @property
    def optimized(self) -> tuple[RegionReport, ...]:
        """The regions that were changed."""
        return tuple(region for region in self.regions if region.optimized)


def _region(
    item: Fields, figures: Mapping[str, RegionFigures], sources: Mapping[str, Sequence[str]], shown: Root
) -> RegionReport:
    place = _place(item)
    evidence = tuple(_place(entry) for entry in item.records("places", ("file", "line")))
    scope = item.child("scope")
    original = item.number("original_ms")
    one, every = _faster(original, item.number("speedup_1t")), _faster(original, item.number("speedup_all"))
    if one is None and every is None:
        every = item.number("optimized_ms")
    tried = tuple(_candidate(entry, shown) for entry in item.children("candidates"))
    method = item.text("method")
    threads = item.count("threads")
    measured = next((entry.threads for entry in tried if entry.method == method and entry.threads), threads)
    predicted, placement = item.child("predicted"), item.child("placement") or Fields({})
    remote = placement if predicted is None else predicted
    return RegionReport(
        id=item.text("id"),
        function=item.text("function"),
        place=_shown_place(place, shown),
        kind=item.choice("class", CLASSES),
        decision=item.choice("decision", DECISIONS),
        reason=shown.text(item.text("reason")),
        jobs=item.count("jobs"),
        data=item.count("data"),
        share=item.number("share"),
        scope=None if scope is None else _shown_place(_place(scope), shown),
        evidence=tuple(_shown_place(entry, shown) for entry in evidence),
        method=method,
        candidates=tried,
        threads=threads,
        all_threads=measured,
        original_ms=original,
        one_thread_ms=one,
        all_threads_ms=every,
        copy_ms=item.number("copy_ms"),
        inspect_ms=item.number("inspect_ms"),
        break_even_sweeps=item.number("break_even_sweeps"),
        pays_off_sweeps=item.number("pays_off_sweeps"),
        max_rel_error=item.number("max_rel_error"),
        tolerance=item.numbers("tolerance"),
        bit_equal=item.flag("bit_equal"),
        rounding=tuple(shown.text(line) for line in item.texts("rounding")),
        replication_before=item.number("replication_before"),
        replication_after=item.number("replication_after"),
        kept=tuple(shown.text(line) for line in item.texts("kept")),
        placed=placement.text("remark"),
        remote_before=remote.number("remote_before"),
        remote_after=remote.number("remote_after"),
        predicted=None if predicted is None else _prediction(predicted),
        kernels=tuple(
            Kernel(
                entry.text("target"),
                shown.path(entry.text("path")),
                entry.text("variant"),
                entry.count("registers"),
                shown.text(entry.text("note")),
            )
            for entry in item.children("kernels")
        ),
        gpu=None if (chosen := item.child("gpu")) is None else gpu_choice(chosen, shown),
        figures=figures.get(item.text("id")),
        excerpts=tuple(
            replace(excerpt, file=shown.path(excerpt.file)) for excerpt in excerpts(place, evidence, sources)
        ),
    )


def _candidate(item: Fields, shown: Root) -> Candidate:
    return Candidate(
        method=item.text("method"),
        inspect_ms=item.number("inspect_ms"),
        region_ms=item.number("region_ms"),
        region_all_ms=item.number("region_all_ms"),
        threads=item.count("threads"),
        predicted_misses=item.number("predicted_misses"),
        note=shown.text(item.text("note")),
    )


def _prediction(item: Fields) -> Prediction:
    machine, method, unit = (item.text(name) for name in ("machine", "method", "unit"))
    return Prediction(machine, method, unit, item.number("before"), item.number("after"))


def _machine(item: Fields | None) -> MachineLine:
    if item is None:
        return MachineLine()
    caches = ((f"L{entry.count('level') or '?'}", entry.number("size")) for entry in item.children("caches"))
    return MachineLine(
        item.text("name"),
        item.count("cores"),
        tuple((name, size) for name, size in caches if size is not None),
        item.number("memory"),
        tuple(item.texts("notes")),
    )


def _place(item: Fields) -> Place:
    return Place(item.text("file"), item.count("line") or 0)


def _shown_place(place: Place, shown: Root) -> Place:
    return Place(shown.path(place.file), place.line)


def _shown_remark(remark: Remark, shown: Root) -> Remark:
    args = tuple((key, shown.text(value) if isinstance(value, str) else value) for key, value in remark.args)
    return replace(remark, file=shown.path(remark.file), args=args)


def _faster(original: float | None, speedup: float | None) -> float | None:
    if original is None or not speedup:
        return None
    return original / speedup if math.isfinite(original / speedup) else None
