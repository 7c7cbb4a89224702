"""Planted bugs: the random programs find every one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tracecut.support.errors import ScheduleError

from ..codegen.children import ChildFailed
from .generate import generate, suite_of
from .model import Suite
from .oracle import run_oracle
from .pipeline import check
from .planted import BUGS, Bug

SEEDS = range(20)  # 2,000 programs
TOGETHER = 12
SOON = frozenset("write_after_read last_job_lost missed_alias new_numbers_as_data layout_kept".split())


@pytest.mark.parametrize(
    "name", [name if name in SOON else pytest.param(name, marks=pytest.mark.long) for name in BUGS]
)
def test_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bug = BUGS[name]
    bug.plant(monkeypatch)
    assert any(found(suite, tmp_path / str(place)) for place, suite in enumerate(suites(bug)))


def suites(bug: Bug) -> Iterator[Suite]:
    """Of the 2,000 programs those that could show a bug, some at a time."""
    for seed in (*SEEDS[bug.first :], *SEEDS[: bug.first]):
        kernels = [kernel for kernel in generate(seed).kernels if bug.shows(kernel)]
        if seed % 2 or not bug.threads:  # programs of odd seeds run on two threads
            yield suite_of(kernels[:TOGETHER], seed)


def found(suite: Suite, folder: Path) -> bool:
    """Whether the checks say no, the results differ, or a verdict is one that brute force refutes."""
    folder.mkdir()
    try:
        report = check(suite, folder)
    except (ScheduleError, ChildFailed):
        return True
    if report.wrong or report.stopped or (report.ran is not None and report.ran.code != 0):
        return True
    reorderable = run_oracle(suite, folder, report.entries)
    return any(verdict.accepted and not reorderable[name] for name, verdict in report.verdicts.items())
