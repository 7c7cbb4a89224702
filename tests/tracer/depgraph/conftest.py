"""Programs that are traced and interpreted once for all tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from .cases import Case


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], Case]:
    """Source and form → its `Case`."""
    return cache(lambda source, opt: Case(source, opt, tmp_path_factory.mktemp(source.stem)))
