"""Random floating-point programs, bit by bit as the bare compiler makes them: a small part of `tests.fuzz.floats`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .float_programs import floating_source
from .floats import FLAG_SETS, check_file


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=pytest.mark.long) if line in ("", "-O2") else line for line in FLAG_SETS]
)
def test_every_build_gives_the_same_bits(line: str, tmp_path: Path) -> None:
    found = check_file(floating_source(0, 3, 3), line, tmp_path)
    assert found.schedules == 3 and found.wrong == ()


@pytest.mark.long
@pytest.mark.parametrize("line", FLAG_SETS)
@pytest.mark.parametrize("first", range(0, 1000, 25))
def test_a_thousand_programs(line: str, first: int, tmp_path: Path) -> None:
    found = check_file(floating_source(0, first, 25), line, tmp_path, threads=1 + first // 25 % 2)
    assert found.schedules and found.wrong == ()
