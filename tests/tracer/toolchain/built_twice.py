"""Functions in C, built as they are and as loops are prepared to be rescheduled: both have to compute the same."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, emit_object

Run = Callable[..., None]


def built(source: str, folder: Path, *, for_regions: bool) -> tuple[str, Run]:
    """(canonical IR, `run`) of a source that defines `run`."""
    path, target = folder / "run.c", folder / f"{for_regions}.so"
    path.write_text(source)
    made = str(canonical([to_ir(path, Flags(), folder, canonical=True)], for_regions=for_regions))
    shared_library([emit_object(made, optimise=True)], Flags(), target)
    return made, ctypes.CDLL(str(target)).run


class BuiltTwice:
    """Sources by name, each built both ways when it is asked for first.

    Attributes:
        mark: what stands in the IR where the passes for regions found something to do.
    """

    def __init__(self, sources: Mapping[str, str], mark: str, folders: pytest.TempPathFactory) -> None:
        self.sources, self.mark, self.folders = sources, mark, folders
        self.found = cache(self._found)

    def _found(self, name: str) -> tuple[bool, tuple[Run, Run]]:
        """(whether they did, as it is and as it is prepared)."""
        folder = self.folders.mktemp(name)
        plain, expected = built(self.sources[name], folder, for_regions=False)
        text, run = built(self.sources[name], folder, for_regions=True)
        assert self.mark not in plain
        return self.mark in text, (expected, run)
