"""Searches within an iteration, descents in trees, and nests without an index: what is taken, and what is not.

The programs have the shapes of three applications that GPUs are measured with: Gaussian elimination, a particle filter,
the search of a B+ tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from .checking import assert_refused
from .children import in_child
from .conftest import PROGRAMS, apart
from .harness import Inspected, Program, trace
from .kernels.running import check
from .replays import check_replays, load
from .woven_programs import run_woven, woven

TAKEN = {
    "gauss": ("multipliers", "eliminate", "by_columns", "flat", "permuted", "triangle"),
    "particles": ("likelihoods", "through_table", "weigh", "total", "scale", "resample", "search", "gather", "bisect"),
    "descents": ("levels", "first_larger", "to_the_leaf", "ranges", "beside", "visits"),
}
# Program, loop → why its iterations keep their order, and the text of the line that is named.
REFUSED = {
    ("gauss", "substitute"): ("both touch", "x[r] = s"),
    ("particles", "marking"): ("both touch", "c[j]"),
    ("particles", "first_free"): ("it is not known which element is written", "taken[j]"),
    ("descents", "tickets"): ("it is not known which element is written", "++count[at]"),
    ("descents", "overtaken"): ("it is not known which element is read", "nodes[leaf_of(tree, keys[q])].location"),
    ("descents", "moving"): ("it is not known which element is (read|written)", "nodes[at].keys[k]"),
    ("descents", "by_pointers"): ("which memory is read at .*: its pointer is ", "at->"),
    ("descents", "from_the_last"): ("carries a value across iterations", "@from_the_last"),
}
UNSEEN = [("particles", "cumulate"), ("particles", "going_on")]  # their text says that they carry a value
ROUNDED = {"total"}
Traced = Callable[[str], Program]
Found = Callable[[str, bool], list[Inspected]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """A program by name, traced as for kernels: loops without an index too."""

    @cache
    def found(name: str) -> Program:
        source = (PROGRAMS / "prelude.h").read_text() + (PROGRAMS / f"{name}.c").read_text()
        return trace(source, tmp_path_factory.mktemp(name), regular=True)

    return found


@pytest.fixture(scope="module")
def items(program: Traced) -> Found:
    """The loops that are taken, each by itself or in the largest scope that there is for it."""

    @cache
    def found(name: str, alone: bool) -> list[Inspected]:
        made = [program(name).inspect(mark, mark if alone else None) for mark in TAKEN[name]]
        return apart({item.mark: item for item in made})

    return found


@pytest.mark.parametrize("name", TAKEN)
def test_their_iterations_are_independent(items: Found, name: str) -> None:
    found = items(name, True)
    assert tuple(item.mark for item in found) == TAKEN[name]
    assert all(item.inspection.verdicts[item.region].movable for item in found)


@pytest.mark.parametrize(("name", "mark"), REFUSED)
def test_near_misses_name_line_and_cause(program: Traced, name: str, mark: str) -> None:
    assert_refused(program(name), mark, *REFUSED[name, mark])


@pytest.mark.parametrize(("name", "mark"), UNSEEN)
def test_what_is_carried_is_not_captured(program: Traced, name: str, mark: str) -> None:
    assert program(name).loop(mark) not in program(name).traced.profile.captures


def test_what_a_search_reads_stays_where_it_is(items: Found) -> None:
    modes = {item.mark: item.modes for item in items("descents", True)}
    assert modes["first_larger"] == {"2400": "moved", "25600": "old"}  # what is found; keys, records, nodes
    assert modes["to_the_leaf"]["25600"] == "old"


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", TAKEN)
def test_any_order_leaves_what_the_program_left(items: Found, name: str, alone: bool, few_jobs_a_thread: None) -> None:
    seen = check_replays(load(items(name, alone)), seeds=(1,), threads=(1, 3))
    assert {mark: found["wrong"] for mark, found in seen.items() if found["wrong"]} == {}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", TAKEN)
def test_woven_programs_print_what_they_printed(
    program: Traced, items: Found, name: str, threads: int, few_jobs_a_thread: None
) -> None:
    found = [item for item in items(name, True) if item.mark not in ROUNDED]
    schedules = [item.schedule(item.random(place + 5 * threads), threads) for place, item in enumerate(found)]
    made = woven(found, schedules, threads=threads, name=f"searches-{name}-{threads}")
    ran = run_woven(program(name), made, cpus=[0, 1, 0][:threads])
    assert ran.code == 0
    assert ran.stdout == program(name).native_output
    assert min(ran.used.values()) > 0


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_kernels_leave_what_the_loop_left(items: Found, name: str, strict: bool) -> None:
    """Phases, and strictly with races: every variant that there is."""
    loaded = load(items(name, True))
    found = in_child(lambda: check(loaded, strict=strict))
    assert found.keys() == set(TAKEN[name])
    for mark, variants in found.items():
        assert [variants[variant] for variant in ("original", "swap-indirect", "swap")] == ["", "", ""], mark
        assert all(text == "" or text.startswith("no: nothing that its") for text in variants.values()), variants
