"""Regular loops whose extent changes from step to step, on an emulated card: Gaussian elimination, and near misses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.codegen.offload.card_scope import CardScope, Hooks
from tracecut.codegen.offload.make_step_scope import make_step_scope
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run
from tracecut.support.tolerances import OUTPUT
from tracecut.tracer.runtime.hook_slots import named_numbers

from tracecut.pipeline.stages.compare_outputs import compare_outputs

from ...waiting import HUNG
from ..harness import KEY, Program, trace
from .on_card import run_on_card
from .test_spac import text_of

NEST = r"""
#include <stdio.h>
#include <stdlib.h>
enum { N = 40 };
static double a[N][N], b[N];
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : N, wide = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) a[i][j] = (i * 7 + j * 3) % 11;
    for (int t = 0; t < n - 1; t++) {
        for (int i = t + 1; i < n; i++) // @job
            LOOP
    }
    for (int i = 0; i < N; i++) printf("%.12g %.12g\n", a[i][N - 1 - i], b[i]);
    return 0;
}
"""
TAKEN = {
    "rows": "for (int j = t; j < n; j++) a[i][j] -= 0.01 * a[i][t] * a[t][j];",
    "sums": "b[t] += a[i][t] * a[t][i];",
}
# What it does, and words of the reason.
REFUSED = {
    "the row above": ("a[i][t] += 0.5 * a[i - 1][t];", "in step 0 iterations 0 and 1 both touch @a"),
    "a later step alone": ("a[i / (1 + t / 20)][t] = i;", "in step 20 iterations 1 and 2 both touch @a"),
}


def made(program: Program) -> CardScope:
    """Kernels of the step that the marked loop is in. Raises UnsupportedError."""
    loop, analysis = program.loop("job"), program.compiled.analysis
    scope = analysis.parent(loop)
    assert scope is not None
    item = program.inspect_in("job", loop, loop)
    nest = from_json(to_json(analysis.nest(scope)))
    numbers = named_numbers(list(item.captured.values[scope]), item.capture.values[scope])
    memory = item.capture.seen_by(nest, numbers).memory
    hooks = Hooks(scope, 0, 0, program.traced.values[scope], KEY)
    return make_step_scope(analysis, nest, memory, numbers, loop, hooks, "sm_90", lambda *_, **__: "")


def assert_right(program: Program, scope: CardScope, argv: tuple[str, ...], launches: int) -> dict[str, int]:
    native = run([program.compiled.native, *argv], folder=program.folder, name="native", limits=Limits(HUNG))
    found = run_on_card(program, [scope], argv=argv)
    assert (native.returncode, found.code) == (0, 0), found.stderr
    assert compare_outputs(native.stdout.read_bytes(), found.stdout, tolerance=OUTPUT).equal
    counts: dict[str, int] = found.report["device"]
    assert counts["launches"] == launches, found.stderr
    return counts


def test_gaussian_elimination_stays_on_the_card(tmp_path: Path) -> None:
    program = trace(text_of("gaussian", "eliminate"), tmp_path, ("14", "2"), regular=True)
    scope = made(program)
    assert len(scope.kernels.loops) == 3 and scope.kernels.reads == scope.kernels.writes == ()
    counts = assert_right(program, scope, ("14", "2"), 2 * 3 * 13)
    each = 4 * (2 * 14 * 14 + 14)  # matrix, multipliers, right-hand side: both ways once, as they change
    assert counts["sent"] == 2 * each and counts["fetched"] <= 2 * (each + 13 * 8 * 4), (
        "and pivots, which the host reads"
    )
    assert_right(program, scope, ("14", "3", "5"), 3 * 3 * 13)
    assert_right(program, scope, ("17", "2"), 0)


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_independent_in_every_step_is_taken(name: str, tmp_path: Path) -> None:
    program = trace(NEST.replace("LOOP", TAKEN[name]), tmp_path, regular=True)
    scope = made(program)
    assert_right(program, scope, (), 39)
    assert_right(program, scope, ("20",), 0)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_is_refused_with_the_step(name: str, tmp_path: Path) -> None:
    text, why = REFUSED[name]
    program = trace(NEST.replace("LOOP", text), tmp_path, regular=True)
    with pytest.raises(UnsupportedError, match=why):
        made(program)
