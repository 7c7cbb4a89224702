"""The compiler wrappers as commands."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tracecut.tracer.recorded import templates


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the commands as an installation has them."""
    folder = tmp_path_factory.mktemp("bin")
    source, installed = Path(templates.__file__).parent, Path(sys.executable).parent
    for name in ("tracecut-cc", "tracecut-c++"):
        shutil.copy(next(path for path in (source / name, installed / name) if path.exists()), folder / name)
    (folder / "tracecut").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m tracecut "$@"\n')
    (folder / "tracecut").chmod(0o755)
    return folder
