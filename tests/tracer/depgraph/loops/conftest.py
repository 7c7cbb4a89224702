"""Each test of the room: its kernels run as Python, and among the long tests compiled."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def kernels(seldom_compiled: None) -> None:
    """See `tests/plain_rooms.py`."""
