"""The six applications of SPAC in the program's place on an emulated card: they print what they print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run
from tracecut.support.tolerances import OUTPUT

from tracecut.pipeline.stages.compare_outputs import compare_outputs
from tracecut.pipeline.stages.tune import scope_exits

from ...waiting import HUNG
from ..harness import Inspected, trace
from .on_card import Asked, card_scopes, run_on_card

FOLDER = Path(__file__).resolve().parents[3] / "samples" / "spac"
INCLUDE = re.compile(r'#include "(\w+\.h)"\n')


@dataclass(frozen=True)
class Subject:
    """A program. `function`: of its indexed loop. `loops`: with kernels in its scope, `outside`: without."""

    argv: tuple[str, ...]
    function: str
    loops: int
    outside: int = 0


SUBJECTS = {
    "cfd_edges": Subject(("12", "3"), "compute_flux", 2),
    "cfd_elements": Subject(("12", "3"), "compute_flux", 3),
    "btree": Subject(("300", "2"), "find_points", 4, 1),  # the host draws the queries
    "particlefilter": Subject(("90", "5"), "resample", 9, 2),  # and the film, and adds up the weights
    "spmv_nonzeros": Subject(("80", "3"), "multiply", 2),
    "spmv_rows": Subject(("80", "3"), "multiply", 2),
    "cg": Subject(("9", "6"), "multiply", 6),
}
OTHER = ("14", "4", "3")  # size, steps and seed


def text_of(name: str, function: str) -> str:
    """A program in one file, the first loop of a function marked."""

    def included(found: re.Match[str]) -> str:
        return INCLUDE.sub(included, (FOLDER / found[1]).read_text())

    text = INCLUDE.sub(included, (FOLDER / f"{name}.c").read_text())
    begin = re.search(rf"^static void {function}\(", text, re.MULTILINE)
    assert begin is not None
    loop = text.index("    for (", begin.start())
    end = text.index("\n", loop)
    return f"{text[:end]} // @job{text[end:]}"


def inspected(name: str, folder: Path) -> Inspected:
    """The program's loop in the scope of all its steps."""
    subject = SUBJECTS[name]
    program = trace(text_of(name, subject.function), folder, subject.argv)
    loop = program.loop("job")
    scope = program.scopes_of(loop)[0]
    for exits, _ in scope_exits(program.compiled.analysis, program.traced, scope, loop):
        try:
            return program.inspect_in("job", loop, scope, exits, look_up=False)
        except UnsupportedError as error:
            why = error.message
    raise AssertionError(why)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name in ("cfd_elements", "spmv_rows") else name
        for name in SUBJECTS
    ],
)
def test_on_the_card_it_prints_what_it_prints(name: str, tmp_path: Path) -> None:
    """With the arguments that it was optimized for, more steps, and others."""
    item, subject = inspected(name, tmp_path), SUBJECTS[name]
    scopes = card_scopes([Asked(item, "swap", item.random(3))])
    assert len(scopes[0].kernels.loops) == subject.loops, scopes[0].kernels.remarks
    assert len(scopes[0].kernels.remarks) == subject.outside, scopes[0].kernels.remarks
    few, more = subject.argv, (subject.argv[0], str(int(subject.argv[1]) + 2))
    counts = []
    for argv in (few, more, OTHER):
        native = run([item.program.compiled.native, *argv], folder=tmp_path, name="native", limits=Limits(HUNG))
        found = run_on_card(item.program, scopes, argv=argv)
        assert (native.returncode, found.code) == (0, 0), found.stderr
        difference = compare_outputs(native.stdout.read_bytes(), found.stdout, tolerance=OUTPUT)
        assert difference.equal, (argv, difference)
        counts.append(found.report["device"])
    assert counts[0]["launches"] > 0 and counts[1]["launches"] > counts[0]["launches"]
    if not subject.outside:  # data stay on the card, apart from the sums of each step
        assert counts[1]["fetched"] == counts[0]["fetched"] and counts[1]["sent"] - counts[0]["sent"] <= 2 * 3 * 8
