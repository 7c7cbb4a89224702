"""Functions of the C library with several results: what they leave where pointers say counts as stores."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .checking import check
from .harness import Inspected, Program
from .woven_programs import run_woven, woven

NAME = "results"
VERDICTS = {"in_locals": "parallel", "in_arrays": "parallel", "in_one_place": "ordered", "in_a_variable": "ordered"}
Catalogue = Callable[[str], dict[str, Inspected | str]]


def loop(inspected: Catalogue, mark: str) -> Inspected:
    item = inspected(NAME)[mark]
    assert not isinstance(item, str), item
    return item


@pytest.mark.parametrize("mark", VERDICTS)
def test_which_loops_may_be_reordered(inspected: Catalogue, mark: str) -> None:
    item = loop(inspected, mark)
    assert item.inspection.verdicts[item.region].kind == VERDICTS[mark]
    check(item, item.schedule(item.random(1)))


def test_the_program_prints_what_it_prints(program: Callable[[str], Program], inspected: Catalogue) -> None:
    items = [loop(inspected, mark) for mark in VERDICTS]
    made = woven(items, [item.schedule(item.random(2)) for item in items], name=NAME, threads=2)
    ran = run_woven(program(NAME), made, cpus=range(2))
    assert (ran.code, ran.stdout) == (0, program(NAME).native_output)
    assert all(ran.used.values())
