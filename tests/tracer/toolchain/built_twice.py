"""Functions in C, built as they are and as loops are prepared to be rescheduled: both have to compute the same."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, emit_object

Run = Callable[..., None]


def built(ir: str, folder: Path, suffix: str = "c", *, for_regions: bool) -> tuple[str, Run]:
    """(canonical IR, `run`) of a source that defines `run`, as clang has compiled it."""
    target = folder / f"{for_regions}.so"
    made = str(canonical([ir], for_regions=for_regions))
    flags = Flags(libraries=("stdc++", "gcc_s")) if suffix == "cpp" else Flags()
    shared_library([emit_object(made, optimise=True)], flags, target)
    # Other threads of Python would allocate while it runs and counts the memory in use: they have to wait.
    return made, ctypes.PyDLL(str(target)).run


class BuiltTwice:
    """Sources by name, each built both ways when it is asked for first.

    Attributes:
        mark: what stands in the IR where the passes for regions found something to do.
        suffix: of the file that a source lies in.
    """

    def __init__(
        self, sources: Mapping[str, str], mark: str, folders: pytest.TempPathFactory, suffix: str = "c"
    ) -> None:
        self.sources, self.mark, self.folders, self.suffix = sources, mark, folders, suffix
        self.found = cache(self._found)

    def _found(self, name: str) -> tuple[bool, tuple[Run, Run]]:
        """(whether they did, as it is and as it is prepared)."""
        folder = self.folders.mktemp(name)
        path = folder / f"run.{self.suffix}"
        path.write_text(self.sources[name])
        ir = to_ir(path, Flags(), folder, canonical=True)
        plain, expected = built(ir, folder, self.suffix, for_regions=False)
        text, run = built(ir, folder, self.suffix, for_regions=True)
        assert self.mark not in plain
        return self.mark in text, (expected, run)


def expect_the_same(found: Sequence[Run], numbers: Iterable[int], sizes: Iterable[int]) -> None:
    """Both, `long run(int n, int number, const int *at, const double *w, double *y)`, do the same to their data."""
    draw = np.random.default_rng(7)
    for number in numbers:
        for n in sizes:
            at, w, start = draw.integers(0, 9, 40).astype(np.int32), draw.random(80) * 9, draw.random(80)
            results = []
            for run in found:
                run.restype = ctypes.c_long  # type: ignore[attr-defined]
                own, y = w.copy(), start.copy()
                arrays = (ctypes.c_void_p(one.ctypes.data) for one in (at, own, y))
                results.append((run(ctypes.c_int(n), ctypes.c_int(number), *arrays), own.tolist(), y.tolist()))
            assert results[0] == results[1], (number, n)
