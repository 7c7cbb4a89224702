"""Random programs whose hot loop a number may end: wherever that is, they print what they print."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.ir.llvm.passes.aside.look_ahead import AHEAD
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run

from ..waiting import HUNG
from .checking import check as check_schedule
from .harness import Inspected, Program, trace
from .random_ends import program
from .woven_programs import run_woven, woven

RUNS = ((), ("0", "3"), ("2", "77"), ("4", "150"), ("1", "199"))


def aside(nest: Nest) -> tuple[str, ...]:
    """The copies of loops that something ends early, in a scope."""
    headers = [info.header for info in nest.loops.values()]
    return tuple({header[: header.index("ahead") + len("ahead0")] for header in headers if ".pieces.ahead" in header})


def understood(subject: Program) -> list[Inspected]:
    """Each captured loop in each of its scopes, without exits and with them, where it may be reordered."""
    found = []
    for region in subject.traced.profile.captures:
        for scope in subject.scopes_of(region):
            for exits in dict.fromkeys([(), aside(subject.nest(scope))]):
                try:
                    item = subject.inspect_in(f"{region} in {scope}", region, scope, exits)
                except UnsupportedError:
                    continue
                if item.inspection.verdicts[region].movable:
                    found.append(item)
    return found


def check(seed: int, folder: Path, runs: tuple[tuple[str, ...], ...] = RUNS) -> tuple[int, int]:
    """How many runs used a layout, and how many of these looked ahead."""
    folder.mkdir()
    subject = trace(program(seed), folder)
    used = looked = 0
    for place, item in enumerate(understood(subject)):
        threads = 1 + place % 2
        schedule = item.schedule(item.random(seed), threads)
        check_schedule(item, schedule)
        made = woven([item], [schedule], threads=threads, name=f"n{place}")
        loops = item.inspection.accesses.nest.loops
        ahead = any(loops[region].header.startswith(AHEAD) for region in item.inspection.plan.uses)
        for argv in runs:
            native = run([subject.compiled.native, *argv], folder=folder, name="native", limits=Limits(HUNG))
            ran = run_woven(subject, made, argv=argv, cpus=[0, 1][:threads])
            assert (ran.code, ran.stdout) == (native.returncode, native.stdout.read_bytes()), (seed, item.mark, argv)
            used += bool(ran.used[str(item.scope)])
            looked += ahead and bool(ran.used[str(item.scope)])
    return used, looked


def test_a_random_program(tmp_path: Path, few_jobs_a_thread: None) -> None:
    used, looked = check(0, tmp_path / "0", RUNS[:2])
    assert used >= 4 and looked >= 2


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_three_hundred_random_programs(first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    for seed in range(first, first + 20):
        check(seed, tmp_path / str(seed))
