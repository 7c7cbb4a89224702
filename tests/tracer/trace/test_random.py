"""Random programs print the same with and without tracing, and their streams make sense record by record."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...fuzz.generate import generate
from .recorded import native, recorded

FLAGS = ("-ffp-contract=off",)


def check(folder: Path, seed: int, count: int, opt: str) -> int:
    """Trace a suite of `count` kernels; number of instructions."""
    source = generate(seed, count).source
    ran = recorded(source, folder, flags=FLAGS, opt=opt)
    assert ran.recorded.finished is not None and ran.recorded.finished.survivors == 0
    assert (ran.stdout, ran.recorded.finished.returncode) == native(source, folder, flags=FLAGS, opt=opt)
    assert ran.main.instructions == ran.recorded.totals.instructions
    assert not ran.recorded.crashed and not ran.recorded.damaged
    return ran.main.instructions


@pytest.mark.parametrize(("seed", "opt"), [(901, "O1"), (902, "seed"), (903, "O1")])
def test_random_kernels(tmp_path: Path, seed: int, opt: str) -> None:
    assert check(tmp_path, seed, 12, opt) > 10_000


@pytest.mark.long
@pytest.mark.parametrize("opt", ["O1", "seed"])
def test_a_thousand_random_kernels(tmp_path: Path, opt: str) -> None:
    """Half a thousand programs in each form, two kernels each."""
    for seed in range(500):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check(folder, 10_000 + seed, 2, opt)
