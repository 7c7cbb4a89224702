"""Random programs with records that hold pointers to others: in any order they print what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from .random_links import program
from .test_random_time_loops import in_use


def check(seed: int, folder: Path) -> int:
    """How many runs had an array in another order to whose records pointers lead."""
    used = in_use(program(seed), seed, folder)
    return sum(bool(item.inspection.accesses.memory.rows.own and schedule.moves) for item, schedule in used)


def test_random_programs(tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(check(seed, tmp_path / str(seed)) for seed in range(2)) >= 2


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_three_hundred_random_programs(first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(check(seed, tmp_path / str(seed)) for seed in range(first, first + 20)) >= 10
