"""Many random cases against the slow reference."""

from __future__ import annotations

import pytest

from .checking import check


@pytest.mark.long
def test_the_reference_agrees_on_many() -> None:
    for seed in range(1000, 3000):
        check(seed)
