"""Memory that loops beside the sweeps allocate for themselves is in no layout's way; memory that others reach is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.ir.loops.nest import ObstacleKind
from tracecut.ir.loops.refusals import refusal, scope_refusal
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical

STEPS = """#include <stdlib.h>
double *seen;
void run(int steps, int n, int parts, const int *size, int **list, const int *at, double *u, double *v) {{
    for (int t = 0; t < steps; t++) {{
        for (int i = 0; i < n; i++) v[i] += u[at[i]];
        for (int p = 0; p < parts; p++) {{
            double *old = {allocate};
            for (int i = 0; i < size[p]; i++) old[i] = u[list[p][i]];
            {use}
            for (int i = 0; i < size[p]; i++) u[list[p][i]] = old[i] / 2;
            {free}
        }}
    }}
}}
"""
ALLOCATE, FREE = "malloc(size[p] * sizeof *old)", "free(old);"
TAKEN = {
    "malloc": (ALLOCATE, "", FREE),
    "calloc": ("calloc(size[p], sizeof *old)", "", FREE),
    "asked for": (ALLOCATE, "if (!old) continue;", FREE),
    "lost": (ALLOCATE, "", ""),
}
REFUSED = {
    "seen": (ALLOCATE, "seen = old;", FREE),
    "grown": (ALLOCATE, "old = realloc(old, size[p] * 16);", FREE),
    "another": (ALLOCATE, "if (size[p] > 5) old = seen;", "free(old);"),
    "handed to a function": (ALLOCATE, "extern void sorted(double *); sorted(old);", FREE),
}


def steps(folder: Path, words: tuple[str, str, str]) -> tuple[str, str, list[ObstacleKind]]:
    """Why a layout cannot stay over the steps, why the loop that allocates cannot be reordered, what is in its way."""
    source = folder / "steps.c"
    source.write_text(STEPS.format(**dict(zip(("allocate", "use", "free"), words, strict=True))))
    analysis = Analysis(canonical([to_ir(source, Flags(), folder, canonical=True)], for_regions=True))
    outer = next(record for record in analysis.records if record.depth == 1)
    nest = analysis.nest(outer.id)
    inner = next(number for number, info in nest.loops.items() if info.obstacles)
    found, alone = scope_refusal(nest), refusal(nest, inner)
    kinds = [item.kind for item in nest.loops[inner].obstacles]
    return found.says if found else "", alone.says if alone else "", kinds


@pytest.mark.parametrize("name", TAKEN)
def test_temporaries(name: str, tmp_path: Path) -> None:
    over_steps, alone, kinds = steps(tmp_path, TAKEN[name])
    assert not over_steps and set(kinds) == {ObstacleKind.TEMPORARY}
    assert "a call to" in alone  # its own iterations keep their order


@pytest.mark.parametrize("name", REFUSED)
def test_what_others_may_reach(name: str, tmp_path: Path) -> None:
    over_steps, alone, kinds = steps(tmp_path, REFUSED[name])
    assert "a call to" in over_steps and alone and set(kinds) != {ObstacleKind.TEMPORARY}
