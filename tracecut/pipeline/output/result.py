"""The result of `tracecut.optimize`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any

    from tracecut.pipeline.stages.settings import Settings


@dataclass(frozen=True)
class Outcome:
    """A completed run of the optimized program: status (as in `subprocess`), seconds, and output."""

    returncode: int
    seconds: float
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, eq=False)
class Optimized:
    """Result of `tracecut.optimize`. The fields of the manifest are attributes: `regions`, `program`, `timings`, …

    Attributes:
        output: folder with everything. manifest: the same values as `manifest.json`.
        settings: what it was made with, for what is made of the same program later; None where that is not known.
    """

    output: Path
    manifest: dict[str, Any]
    settings: Settings | None = None

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["manifest"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.manifest]

    @property
    def improved(self) -> bool:
        """Whether any region was changed."""
        return any(region["decision"] == "optimized" for region in self.manifest["regions"])

    @property
    def speedup(self) -> float | None:
        """Speedup of the whole program, including all copies; None if nothing was changed."""
        value = self.manifest["program"]["speedup"]
        return None if value is None or not self.improved else float(value)

    def run(
        self,
        argv: Sequence[str] = (),
        *,
        stdin: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Run the optimized program in a child process, to its end. A failing program is not an error.

        Args:
            argv: its arguments. stdin: file that it reads, None: empty input.
            threads: None: the fastest measured. timeout: seconds after which it is killed.

        Raises ArtefactError when the folder was damaged since, ProgramError when the time limit passes.
        """
        from tracecut.support.errors import ProgramError
        from tracecut.support.process.runner import Limits, describe, private_folder, run
        from tracecut.support.process.standard_input import kept_input

        from .folder import opened

        with opened(self.output):
            pass
        command: list[str | Path] = [sys.executable, "-P", "-m", "tracecut", "run", self.output]
        command += ["--threads", str(threads)] if threads is not None else []
        with private_folder("tracecut-run") as folder:
            finished = run(
                [*command, "--", *argv],
                stdin=None if stdin is None else kept_input(Path(stdin), folder),
                folder=folder,
                name="run",
                limits=Limits(seconds=timeout, output_bytes=1 << 30),
            )
            if finished.timed_out or finished.output_capped:
                raise ProgramError(f"the program {describe(finished)}")
            return Outcome(
                finished.returncode, finished.seconds, finished.stdout.read_bytes(), finished.stderr.read_bytes()
            )

    def __repr__(self) -> str:
        regions = self.manifest["regions"]
        count = sum(region["decision"] == "optimized" for region in regions)
        gain = "" if self.speedup is None else f", {self.speedup:.2f}x"
        source = ", ".join(self.manifest["source"])
        return f"<Optimized {source}: {count} of {len(regions)} loops{gain}, in {self.output}>"
