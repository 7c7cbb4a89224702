"""Inner loops that nothing tells the number of iterations of: a step of Newton's method until it is small, draws."""

from __future__ import annotations

import pytest
from tracecut.codegen.schedule.check.copies import find_pieces

from .checking import assert_refused, region_of, why, with_region
from .children import in_child
from .conftest import PROGRAMS
from .harness import Inspected, Program, trace
from .kernels.running import check
from .replays import check_replays, load
from .woven_programs import run_woven, woven

# Loop → the scope that it is inspected in.
TAKEN = {"newton": "newton", "rounds": "rounds", "draws": "draws", "searched": "searched", "faces": "sweeps"}
# Loop → why its iterations keep their order, and the text of the line that is named.
REFUSED = {
    "walk": ("it is not known which element is written", "seen[at]"),
    "counted": ("it is not known which element is written", "log[first[v] + i++]"),
    "relaxed": ("both touch", "x[v] += 0.5"),
    "kept": ("both touch", "last[0] = left"),
    "numbered": ("both touch", "mark[from[e]]"),
    "one_generator": ("a call to rand", "while (rand() % 4)"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    source = (PROGRAMS / "prelude.h").read_text() + (PROGRAMS / "untold.c").read_text()
    return trace(source, tmp_path_factory.mktemp("untold"), regular=True)


@pytest.fixture(scope="module")
def items(program: Program) -> list[Inspected]:
    return [program.inspect(mark, scope) for mark, scope in TAKEN.items()]


def test_their_iterations_are_independent(items: list[Inspected]) -> None:
    assert [item.mark for item in items] == [*TAKEN]
    assert all(item.inspection.verdicts[item.region].movable for item in items)


def test_what_they_reach_by_an_index_moves(items: list[Inspected]) -> None:
    """Also what the loop reads or writes whose iterations nothing counts, and that of a loop beside the region."""
    modes = {item.mark: item.modes for item in items}
    assert (
        modes["newton"]["1600"] == modes["rounds"]["1600"] == modes["draws"]["800"] == modes["faces"]["1600"] == "moved"
    )
    assert sorted(modes["newton"].values()) == ["moved", "offsets", "segment"]  # the row that each round runs over
    faces = items[-1]
    assert len(faces.inspection.plan.movable) == 2


def test_pieces_are_those_of_loops_that_are_counted(items: list[Inspected]) -> None:
    """One iteration in the place of any number of them is not taken for a walk over the first record of a row."""
    for mark in ("draws", "newton"):
        (item,) = (item for item in items if item.mark == mark)
        accesses = item.inspection.accesses
        region = region_of(item, item.schedule(item.random(1)))
        walked = find_pieces(region, item.guarded[1], accesses).walked
        assert len(accesses.nest.inside(item.region) - {item.region}) == 2
        assert [accesses.evaluation.whole(loop) is None for _, loop in walked] == [False]


def test_pieces_that_each_round_takes_are_checked(items: list[Inspected]) -> None:
    (item,) = (item for item in items if item.mark == "newton")
    schedule = item.schedule(item.random(1))
    region = region_of(item, schedule)
    assert why(item, schedule, None) == ""
    longer = with_region(item, schedule, lengths=region.lengths + 1)
    assert "the pieces of region" in why(item, longer, None)


@pytest.mark.parametrize("mark", REFUSED)
def test_near_misses_name_line_and_cause(program: Program, mark: str) -> None:
    assert_refused(program, mark, *REFUSED[mark])


def test_any_order_leaves_what_the_program_left(items: list[Inspected], few_jobs_a_thread: None) -> None:
    seen = check_replays(load(items), seeds=(1,), threads=(1, 3))
    assert {mark: found["wrong"] for mark, found in seen.items() if found["wrong"]} == {}


@pytest.mark.parametrize("threads", [1, 3])
def test_woven_programs_print_what_they_printed(
    program: Program, items: list[Inspected], threads: int, few_jobs_a_thread: None
) -> None:
    schedules = [item.schedule(item.random(place + 5 * threads), threads) for place, item in enumerate(items)]
    made = woven(items, schedules, threads=threads, name=f"untold-{threads}")
    ran = run_woven(program, made, cpus=[0, 1, 0][:threads])
    assert ran.code == 0
    assert ran.stdout == program.native_output
    assert min(ran.used.values()) > 0


@pytest.mark.parametrize("strict", [False, True])
def test_kernels_leave_what_the_loop_left(items: list[Inspected], strict: bool) -> None:
    """Iterations of `searched` store the same mark to one place, which is a race by the rules: none are looked for."""
    loaded = load(items)
    found = in_child(lambda: check(loaded, strict=strict, races=False))
    assert found.keys() == set(TAKEN)
    for mark, variants in found.items():
        assert [variants[variant] for variant in ("original", "swap-indirect", "swap")] == ["", "", ""], mark
        assert all(text == "" or text.startswith("no: nothing that its") for text in variants.values()), variants
