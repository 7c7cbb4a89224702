"""GPU kernels of random loops; 2,000 of them: `pytest -m long tests/fuzz/test_gpu.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .generate import generate
from .gpu import GpuTally, check_kernels

SHARE = 0.95  # of what may be reordered on the host


@pytest.mark.parametrize("count", [10, pytest.param(30, marks=pytest.mark.long)])
def test_loops(count: int, tmp_path: Path) -> None:
    judged([700], count, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("first", range(800, 820, 5))
def test_two_thousand_loops(first: int, tmp_path: Path) -> None:
    judged(list(range(first, first + 5)), 100, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(830, 834))
def test_ordered_reductions(seed: int, tmp_path: Path) -> None:
    tally = GpuTally()
    check_kernels(generate(seed, 100), tmp_path, tally, strict=seed % 2 == 1, reduce="ordered")
    assert tally.wrong == {} and tally.kernels >= 2 * tally.accepted > 0, tally


def judged(seeds: list[int], count: int, folder: Path) -> None:
    tally = GpuTally()
    for seed in seeds:
        (folder / str(seed)).mkdir()
        check_kernels(generate(seed, count), folder / str(seed), tally, strict=seed % 5 == 4)
    assert tally.wrong == {}
    assert tally.emitted >= SHARE * tally.accepted > 0, tally
    assert tally.kernels >= 3 * tally.accepted, tally
