"""Random programs with records that hold the numbers of others: in any order they print what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from .random_records import program
from .test_random_time_loops import in_use


def check(seed: int, folder: Path) -> int:
    """How many runs had records whose indices got new numbers."""
    used = in_use(program(seed), seed, folder)
    return sum(any(move.renumber for move in schedule.moves) for _, schedule in used)


def test_random_programs(tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(check(seed, tmp_path / str(seed)) for seed in range(2)) >= 2


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_three_hundred_random_programs(first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(check(seed, tmp_path / str(seed)) for seed in range(first, first + 20)) >= 10
