"""Many random cases against the slow reference, of which about 3,600 have addresses."""

from __future__ import annotations

import pytest

from .checking import check


@pytest.fixture(scope="module")
def seldom_compiled() -> None:
    """All of it is long, so it is compiled once."""


@pytest.mark.long
def test_the_reference_agrees_on_many() -> None:
    for seed in range(1000, 7000):
        check(seed)
