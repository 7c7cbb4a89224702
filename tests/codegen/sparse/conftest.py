"""What is chosen here does not depend on a table that the user of this machine has measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tracecut.codegen.sparse import costs


@pytest.fixture(scope="session", autouse=True)
def no_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a table would be looked for."""
    path = tmp_path_factory.mktemp("costs") / "spmv-costs.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "table_path", lambda: path)
        yield path
