"""Shared fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tracecut.ir import plain


@pytest.fixture(scope="module", params=["plain", "compiled"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small inputs as they are taken by themselves, and by compiled kernels as if they were large."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(plain, "FEW", -1)
        yield
