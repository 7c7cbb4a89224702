"""Any order of the jobs, any layout, any number of threads: every loop of the catalogue does what it did.

Each in one other order in its program here, and some of them alone as well; in more of them, and on other numbers of
threads, by `pytest -m long` on this file.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tracecut.ir.llvm.passes.aside.look_ahead import look_of

from .conftest import apart
from .harness import Inspected, Program
from .replays import check_replays, load
from .woven_programs import run_woven, woven

PROGRAMS = [
    "pairs",
    "rows",
    "indirect",
    "locals",
    "results",
    "edges",
    "states",
    "early",
    "ended",
    "pieces",
    "unrolled",
    "masks",
    "odd",
    "bounds",
    "pointers",
    "picked",
    "flags",
    "checks",
    "nodes",
    "stars",
    "cut",
    "sought",
    "linked",
]
REFUSED = re.compile(
    r"tracecut: scope (\d+): (?:an index array of \d+ entries has other values|"
    r"(?:the value made at \S+|parameter \d+ of \S+) is \d+, it was \d+); "
    r"the original order runs"
)
Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.mark.parametrize(
    ("seeds", "threads"),
    [((1,), (1, 7)), pytest.param((2, 3), (1, 2, 3, 7), marks=pytest.mark.long)],
    ids=["two orders", "three orders"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_replays_agree_with_the_program(
    inspected: Catalogue, name: str, seeds: tuple[int, ...], threads: tuple[int, ...], few_jobs_a_thread: None
) -> None:
    items = apart(inspected(name))
    seen = check_replays(load(items), seeds, threads)
    assert {mark: found["wrong"] for mark, found in seen.items() if found["wrong"]} == {}
    assert seen.keys() == {item.mark for item in items}
    movable = [item for item in items if item.inspection.verdicts[item.region].movable]
    for item in movable:
        assert seen[item.mark]["threads"][0] == 1
    assert any(7 in seen[item.mark]["threads"] for item in movable)


def test_replays_see_every_way_of_sharing_jobs_out(inspected: Catalogue, few_jobs_a_thread: None) -> None:
    """Private slots, a tail, wavefronts, blocks that share nothing, and more threads than jobs."""
    chosen = {mark: item for mark, item in inspected("edges").items() if not isinstance(item, str)}
    seen = check_replays(load(apart(chosen)), seeds=(3,), threads=(1, 2, 3, 8))
    assert {mark: found["wrong"] for mark, found in seen.items() if found["wrong"]} == {}
    assert seen["own_record"]["threads"] == [1, 2, 3, 8] and not seen["own_record"]["privates"]
    assert not seen["own_record"]["tail"]
    assert seen["empty_updates"]["privates"] and seen["empty_updates"]["threads"] == [1, 2, 3, 8]
    assert seen["three_jobs"]["threads"] == [1, 2, 3]  # never more than there are jobs
    assert seen["one_job"]["threads"] == [1]
    assert seen["products"]["threads"] == [1]  # products have no private slots
    assert seen["products"]["waves"] > 1  # but wavefronts
    assert seen["repeats"]["threads"] == [1] and seen["repeats"]["waves"] > 1


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_woven_programs_print_what_they_printed(
    program: Callable[[str], Program], inspected: Catalogue, name: str, threads: int, few_jobs_a_thread: None
) -> None:
    items = [item for item in apart(inspected(name)) if item.inspection.verdicts[item.region].movable]
    schedules = [item.schedule(item.random(place + 7 * threads), threads) for place, item in enumerate(items)]
    made = woven(items, schedules, batched=threads > 1, threads=threads, name=f"woven-{threads}")
    ran = run_woven(program(name), made, cpus=[0, 1, 0][:threads])
    changing = {place for place, item in enumerate(items) if item.scope == item.region}  # other indices in each entry
    said = {int(REFUSED.fullmatch(line)[1]) if REFUSED.fullmatch(line) else line for line in ran.stderr.splitlines()}
    assert ran.code == 0 and said <= changing
    assert ran.stdout == program(name).native_output
    # What is looked through is not entered by itself: the loop that looks is not in its scope.
    exits = {item.mark: item.inspection.accesses.nest.loops[item.region].exit for item in items}
    alone = {item.mark for item in items if item.scope == item.region and look_of(exits[item.mark][1])}
    assert {item.mark for item in items if not ran.used[str(item.scope)]} == alone
    items = [item for item in items if item.mark not in alone]
    calls = {item.mark: ran.report["regions"][str(item.region)]["calls"] for item in items}
    assert min(calls.values()) > 0, calls
