"""Random programs with records that hold the numbers of others, or pointers to them: any order prints the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.codegen.schedule.schedule import Schedule

from . import random_links, random_records
from .harness import Inspected
from .test_random_time_loops import in_use

PROGRAMS = {"numbers": random_records.program, "pointers": random_links.program}


def is_meant(held: str, item: Inspected, schedule: Schedule) -> bool:
    """Whether records had new numbers in them, or moved where pointers lead to them."""
    if held == "numbers":
        return any(move.renumber for move in schedule.moves)
    return bool(item.inspection.accesses.memory.rows.own and schedule.moves)


def runs(held: str, seed: int, folder: Path) -> int:
    """How many runs were such."""
    return sum(is_meant(held, item, schedule) for item, schedule in in_use(PROGRAMS[held](seed), seed, folder))


@pytest.mark.parametrize("held", PROGRAMS)
def test_random_programs(held: str, tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(runs(held, seed, tmp_path / str(seed)) for seed in range(2)) >= 2


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
@pytest.mark.parametrize("held", PROGRAMS)
def test_three_hundred_random_programs(held: str, first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(runs(held, seed, tmp_path / str(seed)) for seed in range(first, first + 20)) >= 10
