"""Random programs with records that hold the numbers of others: in any order they print what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from .harness import trace
from .random_records import program
from .test_random_time_loops import understood
from .woven_programs import run_woven, woven


def check(seed: int, folder: Path) -> int:
    """How many runs had records whose indices got new numbers."""
    folder.mkdir()
    subject = trace(program(seed), folder)
    moved = 0
    for place, item in enumerate(understood(subject)):
        for threads in (1, 3):
            schedule = item.schedule(item.random(seed + threads), threads)
            made = woven([item], [schedule], threads=threads, batched=threads > 1, name=f"n{place}-{threads}")
            ran = run_woven(subject, made, cpus=[0, 1, 0][:threads])
            assert (ran.code, ran.stdout) == (0, subject.native_output), (seed, item.mark, threads, ran.stderr)
            moved += bool(ran.used[str(item.scope)]) and any(move.renumber for move in schedule.moves)
    return moved


def test_random_programs(tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(check(seed, tmp_path / str(seed)) for seed in range(3)) >= 4


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_three_hundred_random_programs(first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    assert sum(check(seed, tmp_path / str(seed)) for seed in range(first, first + 20)) >= 10
