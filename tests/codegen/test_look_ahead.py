"""Loops that a computed number may end: any order where none does, and the program's own where one does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tracecut.ir.llvm.passes.aside.look_ahead import AHEAD
from tracecut.ir.llvm.passes.aside.side_by_side import ASIDE
from tracecut.ir.loops.indirect import is_indirect
from tracecut.support.process.runner import Limits, run

from ..waiting import HUNG
from .checking import check
from .harness import Inspected, Program
from .woven_programs import run_woven, woven

NAME = "leaves"
MARKS = ["fails", "breaks", "returns", "adds", "checks"]
MODES = ["none", "fails", "breaks", "returns", "below", "adds", "checks", "carried", "summed", "stored"]
Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.fixture(scope="module")
def items(program: Callable[[str], Program]) -> list[Inspected]:
    """Each loop in the time loop around it, of which the copy of the loop for where it is left is an exit."""
    subject = program(NAME)
    found = []
    for mark in MARKS:
        loop = subject.loop(mark)
        scope = subject.compiled.analysis.parent(loop)
        assert scope is not None
        found.append(subject.inspect_in(mark, loop, scope, (f"{ASIDE}.ahead0",)))
    return found


def test_what_decides_is_looked_at_in_front_of_the_loop(items: list[Inspected]) -> None:
    for item in items:
        nest = item.inspection.accesses.nest
        looking = [number for number, info in nest.loops.items() if info.header.startswith(AHEAD)]
        assert looking and not any(nest.loops[number].ends_early for number in (*looking, item.region))
        assert {item.region, min(looking)} <= {*item.inspection.plan.uses}
        assert all(item.inspection.verdicts[region].movable for region in (item.region, min(looking)))
        assert "moved" in item.modes.values(), item.kept
        check(item, item.schedule(item.random(1)))


def test_a_loop_beside_it_is_looked_through_as_well(items: list[Inspected]) -> None:
    item = items[MARKS.index("checks")]
    loops = item.inspection.accesses.nest.loops
    beside = [loop for loop in item.inspection.plan.uses if loop != item.region]
    assert len(beside) == 2 and any(loops[loop].header.startswith(AHEAD) for loop in beside)
    assert not any(is_indirect(item.inspection.accesses.nest, loop) for loop in beside)
    assert not item.kept and not item.inspection.plan.lookups
    assert "moved" in item.modes.values()


@pytest.mark.parametrize(("mark", "why"), [("stored", "may be left early"), ("carried", "both touch")])
def test_what_cannot_be_known_in_front_of_the_loop(inspected: Catalogue, mark: str, why: str) -> None:
    found = inspected(NAME)[mark]
    if not isinstance(found, str):
        verdict = found.inspection.verdicts[found.region]
        assert not verdict.movable
        found = verdict.reason
    assert why in found


def test_a_sum_over_the_iterations_is_not_looked_at(program: Callable[[str], Program]) -> None:
    subject = program(NAME)
    lines = (subject.folder / "program.c").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.endswith("// left by a sum"))
    (loop,) = (record.id for record in subject.compiled.analysis.records if record.place.line == line)
    assert subject.nest(loop).loops[loop].why == "may be left early"


def test_a_loop_that_depends_on_its_iterations_is_not_looked_through(program: Callable[[str], Program]) -> None:
    """In front of it there may be links that lead nowhere, or in a circle."""
    subject = program(NAME)
    loop = subject.loop("beside")
    scope = subject.compiled.analysis.parent(loop)
    assert scope is not None
    item = subject.inspect_in("beside", loop, scope)
    nest = item.inspection.accesses.nest
    assert any(info.header.startswith(AHEAD) for info in nest.loops.values())
    assert not any(nest.loops[region].header.startswith(AHEAD) for region in item.inspection.plan.uses)
    made = woven([item], [item.schedule(item.random(1))], name=f"{NAME}-beside")
    for argv in ([], ["linked"]):
        native = run([subject.compiled.native, *argv], folder=subject.folder, name="native", limits=Limits(HUNG))
        ran = run_woven(subject, made, argv=argv)
        assert (ran.code, ran.stdout) == (native.returncode, native.stdout.read_bytes())


@pytest.mark.parametrize("threads", [1, 2])
def test_the_program_ends_where_it_ends(
    program: Callable[[str], Program], items: list[Inspected], few_jobs_a_thread: None, threads: int
) -> None:
    subject = program(NAME)
    schedules = [item.schedule(item.random(threads + place)) for place, item in enumerate(items)]
    made = woven(items, schedules, name=f"{NAME}-{threads}", threads=threads)
    for mode in MODES:
        for when in ("0", "1", "2") if mode != "none" else ("0",):
            argv = [mode, when]
            native = run([subject.compiled.native, *argv], folder=subject.folder, name="native", limits=Limits(HUNG))
            ran = run_woven(subject, made, argv=argv, cpus=range(threads))
            fails = mode in ("fails", "checks")
            assert ran.code == native.returncode == (3 if fails else 0)
            assert ran.stdout == native.stdout.read_bytes(), argv
            assert all(ran.used.values()) or fails
