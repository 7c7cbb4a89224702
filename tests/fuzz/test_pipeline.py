"""2,000 random kernels through the whole pipeline: no wrong answer, no crash, no unfounded verdict, few refusals.

More of them: `python -m tests.fuzz --first 100 --seeds 200`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .generate import generate
from .oracle import run_oracles
from .pipeline import check
from .report import Tally

GROUP = 10  # programs of 100 kernels: enough that shares mean something


@pytest.mark.parametrize("first", range(0, 20, GROUP))
def test_kernels(first: int, tmp_path: Path) -> None:
    tally = Tally()
    for seed in range(first, first + GROUP):
        folder = tmp_path / str(seed)
        folder.mkdir()
        suite = generate(seed)
        tally.add(check(suite, folder), *run_oracles(suite, folder))
    print("\n".join(tally.lines()))
    assert (tally.failed, tally.wrong, tally.unsound) == ([], [], [])
    assert tally.share >= 0.95
    assert tally.scheduled >= 0.9 * tally.accepted


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 200, GROUP))
def test_more_kernels(first: int, tmp_path: Path) -> None:
    test_kernels(first, tmp_path)
