"""The artefact that goes from stage to stage: everything that is known of a program so far."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracecut.ir.machine.machine import Machine
from tracecut.support.process.early_worker import EarlyWorker
from tracecut.support.process.runner import Finished
from tracecut.support.progress import Stages
from tracecut.support.version import __version__

from .folder_copy import run_folder
from .stages.accept import Weighed
from .stages.capture import Traced
from .stages.compile import Compiled
from .stages.deadline import Deadline
from .stages.settings import Settings
from .stages.tune import RegionResult
from .stages.weave import Run


@dataclass(frozen=True, eq=False)
class Artefact:
    """The settings and the results of the stages so far; each stage returns a new artefact with its own results added.

    Attributes:
        settings, progress: the options, and where progress is reported. machine: the target machine.
        work: folder of intermediate files. staging: folder of files of the result.
        deadline: when nothing more is tried. ahead: whether a worker of `tune` starts before there is work for it.
        program: what `compile` made. native: the run of `original`. captured: what `capture` found, or why it found
            nothing.
        early: that worker, until `tune` is done.
        results: of `tune`, one for each hot loop. why: why no loop is inspected.
        runs: whole runs of the result by their names in the manifest. weighed: the comparison of their times by
            `accept`. gpu: loop id → the entry of its GPU kernel in the manifest, of `gpu`. device: what of them
            can run in the program's place, as the manifest has it.
        listing: what `tracecut run` needs. manifest: what `publish` wrote.
    """

    settings: Settings
    progress: Stages
    machine: Machine
    work: Path
    staging: Path
    deadline: Deadline = field(default_factory=Deadline)
    ahead: bool = False
    program: Compiled | None = None
    native: Finished | None = None
    captured: Traced | str = ""
    early: EarlyWorker | None = None
    results: tuple[RegionResult, ...] = ()
    why: str = ""
    runs: Mapping[str, Run] = field(default_factory=dict)
    weighed: Weighed | None = None
    gpu: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    device: Mapping[str, Any] | None = None
    listing: Mapping[str, Any] = field(
        default_factory=lambda: {"tracecut": __version__, "globals": [], "scopes": [], "threads": 1, "guards": []}
    )
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def chosen(self) -> list[RegionResult]:
        """The loops whose schedules have not been dropped."""
        return [result for result in self.results if result.optimized]

    @property
    def cpus(self) -> list[int]:
        """The processors that the result may use."""
        cpus = [core.cpu for core in self.machine.cores]
        return cpus[: self.settings.threads] if self.settings.threads else cpus

    @property
    def status(self) -> int:
        """The exit status of the program."""
        return 0 if self.native is None else self.native.returncode

    def run_folder(self) -> AbstractContextManager[Path | None]:
        """The folder that the program runs in."""
        return run_folder(self.settings, self.work)

    def folder(self, name: str) -> Path:
        """A folder in `work`."""
        path = self.work / name
        path.mkdir(exist_ok=True)
        return path
