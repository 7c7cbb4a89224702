"""Loops over tiles, which are rescheduled as one loop, and blocks that are copied over several fields."""

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
from .woven_programs import run_woven

NAME = "tiles"
Catalogue = Callable[[str], Program]
Made = tuple[Path, list[ScopeFile], list[str]]
# Mark → loops from the region to its scope, exits of the scope, arrays that move.
ACCEPTED = {"tiled": (2, 2, 3), "of_a_size": (1, 1, 3), "exchanged": (1, 0, 3), "between_planes": (1, 0, 6)}
TORN = ("between_planes",)  # of both ends of a block an element has another number: another loop looks them up


@pytest.fixture(scope="module")
def items(program: Catalogue) -> dict[str, Inspected]:
    return all_outermost(program(NAME), ACCEPTED)


@pytest.fixture(scope="module")
def made(items: dict[str, Inspected]) -> Made:
    return shuffled(items, NAME)


@pytest.mark.parametrize("mark", ACCEPTED)
def test_what_is_accepted(items: dict[str, Inspected], mark: str) -> None:
    item = items[mark]
    moved = [name for name, mode in item.modes.items() if mode == "moved"]
    assert (levels(item), len(item.inspection.accesses.nest.exits), len(moved)) == ACCEPTED[mark]
    assert not item.kept


@pytest.mark.parametrize("mark", ACCEPTED)
def test_blocks_are_planned_field_by_field(items: dict[str, Inspected], mark: str) -> None:
    item = items[mark]
    assert bool(item.inspection.plan.lookups) == (mark in TORN)
    if mark in TORN:
        assert item.program.inspect_in(mark, item.region, item.scope, look_up=False).kept


def test_elements_between_tiles(program: Catalogue) -> None:
    """These tiles are never one loop."""
    with pytest.raises(UnsupportedError):
        outermost(program(NAME), "with_gaps")


@pytest.mark.parametrize(("size", "skipped"), [(8, 1), (1, 0), (7, 0), (500, 0), (8, 8), (3, 2)])
def test_the_program_prints_what_it_prints(
    program: Catalogue, items: dict[str, Inspected], made: Made, size: int, skipped: int
) -> None:
    """Whatever the tiles are. Where they are of another size than inspected, the loop that has it is not used."""
    subject, words = program(NAME), [str(size), str(skipped)]
    native = run([subject.compiled.native, *words], folder=subject.folder, name=f"{size}", limits=Limits(HUNG))
    ran = run_woven(subject, made, argv=words)
    assert (ran.code, ran.stdout) == (native.returncode, native.stdout.read_bytes())
    unused = {item.mark for item in items.values() if not ran.used.get(str(item.scope))}
    assert unused == (set() if size == 8 else {"of_a_size"})
