"""Compilers and linkers. They run like all external programs (`runner.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracecut.support.private_folders import private_folder

from .runner import Limits, describe, run


@dataclass(frozen=True)
class Said:
    """The output of a tool, its status (negative: the signal that killed it), and how it ended, as text."""

    returncode: int
    stdout: str
    stderr: str
    end: str


def ask_tool(command: Sequence[str], *, env: Mapping[str, str] | None = None, seconds: float | None = None) -> Said:
    """Run a tool without input, for at most `seconds`. A failing tool is not an error; errors as in `runner.run`."""
    with private_folder("tracecut-tool-") as folder:
        finished = run(command, folder=folder, name="tool", env=env, limits=Limits(seconds=seconds))
        said = [path.read_text(errors="replace") for path in (finished.stdout, finished.stderr)]
    return Said(finished.returncode, said[0], said[1], describe(finished))
