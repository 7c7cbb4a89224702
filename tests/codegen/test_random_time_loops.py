"""Random programs with loops beside the hot one: every scope that is understood prints what the program prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.errors import UnsupportedError

from .harness import Inspected, Program, trace
from .random_time_loops import program
from .woven_programs import run_woven, woven


def understood(subject: Program) -> list[Inspected]:
    """Each captured loop in each of its scopes, where it may be reordered."""
    found = []
    for region in subject.traced.profile.captures:
        for scope in subject.scopes_of(region):
            try:
                item = subject.inspect_in(f"{region} in {scope}", region, scope, ())
            except UnsupportedError:
                continue
            if item.inspection.verdicts[region].movable:
                found.append(item)
    return found


def in_use(source: str, seed: int, folder: Path) -> Iterator[tuple[Inspected, Schedule]]:
    """The runs of a program in a random order that used it; all of them print what the program prints."""
    folder.mkdir()
    subject = trace(source, folder)
    for place, item in enumerate(understood(subject)):
        for threads in (1, 3):
            schedule = item.schedule(item.random(seed + threads), threads)
            made = woven([item], [schedule], threads=threads, batched=threads > 1, name=f"n{place}-{threads}")
            ran = run_woven(subject, made, cpus=[0, 1, 0][:threads])
            assert (ran.code, ran.stdout) == (0, subject.native_output), (seed, item.mark, threads, ran.stderr)
            if ran.used[str(item.scope)]:
                yield item, schedule


def check(seed: int, folder: Path) -> tuple[int, int]:
    """How many runs used a layout, and how many of these had more regions than the hot loop."""
    found = [len(item.inspection.plan.uses) > 1 for item, _ in in_use(program(seed), seed, folder)]
    return len(found), sum(found)


def test_random_programs(tmp_path: Path, few_jobs_a_thread: None) -> None:
    counts = []
    for seed in range(2):
        counts.append(check(seed, tmp_path / str(seed)))
    used, several = (sum(part) for part in zip(*counts, strict=True))
    assert used >= 4 and several >= 1


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_three_hundred_random_programs(first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    for seed in range(first, first + 20):
        check(seed, tmp_path / str(seed))
