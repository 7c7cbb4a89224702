"""Shared fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from tracecut.support import plain_kernels

# A change is judged on the same examples each time; `--hypothesis-profile=search` draws others.
settings.register_profile("same", derandomize=True)
settings.register_profile("search", print_blob=True)
settings.load_profile("same")


@pytest.fixture(scope="module", params=["plain", "compiled"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small inputs as they are taken by themselves, and by compiled kernels as if they were large."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compiled":
            patch.setattr(plain_kernels, "FEW", -1)
        yield
