"""What a run of the main job is asked to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tracecut.codegen.schedule.schedule import FAST
from tracecut.ir.machine.machine import Machine
from tracecut.support.errors import UsageError
from tracecut.tracer.toolchain.clang import Flags


@dataclass(frozen=True)
class Settings:
    """Options of `optimize`, with the names of the command line.

    Attributes:
        sources, flags, argv: what to compile, and what to run it with.
        output: folder of the results. stdin: file that the program reads, None: empty input.
        method: `auto` or a name of `tracecut.methods()`. k: clusters, None: from the caches.
        compare: methods that are measured besides, for comparison, but never chosen.
        threads: threads of the result, None: one per core. seed: of all random choices.
        budget: seconds for trying orders. timeout: seconds that one run of the program may take, None: no limit.
        memory: bytes that each process of the job may use, None: half of the free memory.
        region: `FILE:LINE` of a loop to optimize instead of the hottest ones.
        arch: GPU architectures to emit kernels for.
        machine: what to optimize for, None: this machine.
        min_gain: share of the time of a region, and of the whole program, that has to be saved for a change.
        min_share: share of executed work from which a loop is looked at.
        first_entry: at which entry a loop is captured. min_jobs: smallest loop that is captured.
        force: apply the best order even when it gains nothing (tests). renumber: move data, not only jobs.
        exact: only orders that keep every bit; sums of floating-point numbers stay in order.
        reduce: `fast`, or `ordered`: the result prints the same bits on any number of threads.
    """

    sources: tuple[str, ...]
    flags: Flags = field(default_factory=Flags)
    argv: tuple[str, ...] = ()
    output: Path = Path("tracecut-out")
    stdin: Path | None = None
    method: str = "auto"
    k: int | None = None
    compare: tuple[str, ...] = ()
    threads: int | None = None
    seed: int = 0
    budget: float = 20.0
    timeout: float | None = None
    memory: int | None = None
    region: str | None = None
    arch: tuple[str, ...] = ("sm_90",)
    machine: Machine | None = None
    min_gain: float = 0.02
    min_share: float = 0.02
    first_entry: int = 2
    min_jobs: int = 64
    byte_limit: int = 8 << 30
    force: bool = False
    renumber: bool = True
    exact: bool = False
    reduce: str = FAST

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the process that does the work."""
        return {
            **asdict(self),
            "output": str(self.output),
            "stdin": None if self.stdin is None else str(self.stdin),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """What `to_json` gave."""
        flags: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data["flags"].items()}
        stdin = data["stdin"]
        return cls(
            **{
                **data,
                "sources": tuple(data["sources"]),
                "flags": Flags(**flags),
                "argv": tuple(data["argv"]),
                "output": Path(data["output"]),
                "stdin": None if stdin is None else Path(stdin),
                "arch": tuple(data["arch"]),
                "compare": tuple(data["compare"]),
                "machine": None if data["machine"] is None else Machine.from_json(data["machine"]),
            }
        )


def parse_place(region: str) -> tuple[str, int]:
    """File and line of a `FILE:LINE`. Raises UsageError."""
    file, _, line = region.rpartition(":")
    if not file or not re.fullmatch("[0-9]{1,9}", line):
        raise UsageError(f"--region {region}: FILE:LINE expected", hint="For example --region mesh.c:120.")
    return file, int(line)
