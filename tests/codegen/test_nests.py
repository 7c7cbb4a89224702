"""Layouts that stay in force over several levels of loops, and what runs seldom in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run

from ..waiting import HUNG
from .harness import Inspected, Program
from .outermost import all_outermost, levels, outermost, shuffled
from .woven_programs import Ran, run_woven

NAME = "nests"
Catalogue = Callable[[str], Program]
Made = tuple[Path, list[ScopeFile], list[str]]

# Mark → loops from the region to its scope, exits of the scope, whether one is final. The layout holds for all steps.
ACCEPTED = {
    "stages": (2, 0, False),
    "until_small": (2, 0, False),
    "copied_shifted": (1, 0, False),
    "copied_half": (1, 0, False),
    "copied_only": (1, 0, False),
    "copied_apart": (1, 0, False),
    "copied_swapped": (1, 0, False),
    "copied_and_filled": (1, 0, False),
    "copied_twice": (1, 0, False),
    "varying_copy": (1, 0, False),
    "dumping": (1, 1, False),
    "hashing": (1, 1, False),
    "rewiring": (1, 1, False),
    "rewriting": (1, 1, False),
    "reweighing": (1, 1, False),
    "replacing": (1, 1, False),
    "replacing_other": (1, 1, False),
    "member": (1, 1, False),
    "recursing": (1, 1, False),
    "leaping": (1, 1, False),
    "forking": (1, 1, False),
    "giving_up": (1, 1, False),
    "varying": (1, 0, False),
}
# Mark → words of why the layout cannot stay over the steps.
REFUSED = {
    "shrinking": "may run over other iterations each time",
    "staged_indices": "",
    "copied_kept": "is copied",
}


@pytest.fixture(scope="module")
def items(program: Catalogue) -> dict[str, Inspected]:
    return all_outermost(program(NAME), ACCEPTED)


@pytest.fixture(scope="module")
def made(items: dict[str, Inspected]) -> Made:
    return shuffled(items, NAME)


@pytest.mark.parametrize("mark", ACCEPTED)
def test_what_is_accepted(items: dict[str, Inspected], mark: str) -> None:
    item = items[mark]
    exits = item.inspection.accesses.nest.exits
    assert (levels(item), len(exits), any(found.final for found in exits)) == ACCEPTED[mark]


@pytest.mark.parametrize("mark", REFUSED)
def test_what_is_refused(program: Catalogue, mark: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        outermost(program(NAME), mark)
    assert REFUSED[mark] in error.value.message


def ran_with(subject: Program, made: Made, every: int, cpus: list[int]) -> Ran:
    """The woven program with exits in every n-th step; it does what the program did."""
    words = [str(every)]
    native = run([subject.compiled.native, *words], folder=subject.folder, name=f"native-{every}", limits=Limits(HUNG))
    ran = run_woven(subject, made, argv=words, cpus=cpus)
    assert ran.code == native.returncode
    assert ran.stdout == native.stdout.read_bytes()
    return ran


@pytest.mark.parametrize("every", [1, 2, 3, 5, 8, 1000])
def test_exits_as_often_as_they_like(
    program: Catalogue, items: dict[str, Inspected], made: Made, every: int, few_jobs_a_thread: None
) -> None:
    ran = ran_with(program(NAME), made, every, [0])
    unused = {item.mark for item in items.values() if not ran.used.get(str(item.scope))}
    assert unused == set()


def test_which_layouts_come_back(program: Catalogue, items: dict[str, Inspected], made: Made) -> None:
    ran = ran_with(program(NAME), made, 5, [0])
    declined = {mark: ran.report["regions"][str(item.region)]["declined"] for mark, item in items.items()}
    gone = {mark for mark, count in declined.items() if count}
    assert gone == {"rewiring", "replacing", "replacing_other", "member", "recursing", "leaping"}
